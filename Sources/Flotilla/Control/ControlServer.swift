import Foundation
import Glibc
import Network

/// Answers the commands of the database's owner on a socket that nobody else may use.
actor ControlServer {
  /// A request is at most this long.
  static let longestRequest = 64 << 10

  private let listener: LocalListener
  private let handle: @Sendable (ControlRequest) async -> Data
  private var loop: Task<Void, Never>?
  private var clients: [Int: Task<Void, Never>] = [:]
  private var nextClient = 0

  init(
    path: String, handle: @escaping @Sendable (ControlRequest) async -> Data
  ) async throws(NetworkError) {
    self.listener = try await LocalListener(path: path)
    self.handle = handle
  }

  func start() {
    loop = Task {
      while !Task.isCancelled, let client = try? await listener.accept() {
        guard client.userID == getuid() || client.userID == 0 else {
          client.channel.close()
          continue
        }
        self.serve(client.channel)
      }
    }
  }

  /// Stops listening, lets the answers under way go out, and removes the socket.
  func stop() async {
    listener.close()
    loop?.cancel()
    for client in clients.values { await client.value }
    await loop?.value
  }

  private func serve(_ channel: SocketChannel) {
    let number = nextClient
    nextClient += 1
    clients[number] = Task {
      if let request = await Self.request(from: channel) {
        let reply = await handle(request)
        try? await channel.write([UInt8](reply))
        channel.finishWriting()
      }
      channel.close()
      self.clients[number] = nil
    }
  }

  private static func request(from channel: SocketChannel) async -> ControlRequest? {
    var line: [UInt8] = []
    while !line.contains(0x0A), line.count < longestRequest {
      guard let bytes = try? await channel.read(upTo: 16 << 10), !bytes.isEmpty else {
        return nil
      }
      line += bytes
    }
    return try? JSONDecoder().decode(ControlRequest.self, from: Data(line))
  }
}

/// Writes an answer, or what went wrong, as one JSON object.
func controlReply<Body: Codable & Sendable>(
  isolation: isolated (any Actor)? = #isolation,
  _ work: () async throws(FlotillaError) -> Body
) async -> Data {
  var reply = ControlReply<Body>()
  do {
    reply.body = try await work()
  } catch {
    reply.failure = ControlReply.Failure(
      code: error.code.description, message: error.message, remedy: error.remedy)
  }
  do {
    return try JSONEncoder().encode(reply)
  } catch {
    preconditionFailure("a reply that cannot be encoded: \(error)")
  }
}
