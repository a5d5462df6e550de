import FoundationEssentials
import Glibc
import Network

/// Answers the commands of the database's owner on a socket that nobody else may use.
actor ControlServer {
  /// A request is at most this long, in bytes: the names of some 20,000 tables.
  static let longestRequest = 1 << 20

  /// Sent again and again until the answer is ready: a client tells work from a node that hangs.
  /// Who begins a request with one gets lines of `WorkProgress` instead, where there is news.
  static let blank = UInt8(ascii: " ")
  static let pulse: Duration = .seconds(1)
  /// Clients at a time, at most.
  static let mostClients = 64

  /// Answers a request, and tells how far it has come if somebody wants to know.
  typealias Answering = @Sendable (ControlRequest, WorkProgress.Listener?) async -> Data

  private struct Client {
    let channel: SocketChannel
    var hasAsked = false
    var task: Task<Void, Never>?
  }

  private let listener: LocalListener
  private let patience: Duration
  private let handle: Answering
  private var loop: Task<Void, Never>?
  private var clients: [Int: Client] = [:]
  private var nextClient = 0

  /// A client that has not asked when `patience` is over is sent away.
  init(
    path: String, patience: Duration = .seconds(5),
    handle: @escaping Answering
  ) async throws(NetworkError) {
    self.listener = try await LocalListener(path: path)
    self.patience = patience
    self.handle = handle
  }

  var clientCount: Int { clients.count }

  func start() {
    loop = Task {
      while !Task.isCancelled, let client = try? await listener.accept() {
        guard client.userID == getuid() || client.userID == 0, clients.count < Self.mostClients
        else {
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
    await loop?.value
    for client in clients.values where !client.hasAsked { client.channel.close() }
    let channels = clients.values.map(\.channel)
    // Somebody who asks and then does not read must not hold the node.
    let limit = Task {
      guard (try? await Task.sleep(for: .seconds(2))) != nil else { return }
      for channel in channels { channel.close() }
    }
    for client in clients.values { await client.task?.value }
    limit.cancel()
  }

  private func serve(_ channel: SocketChannel) {
    let number = nextClient
    nextClient += 1
    clients[number] = Client(channel: channel)
    clients[number]?.task = Task {
      let alarm = Task { [patience] in
        guard (try? await Task.sleep(for: patience)) != nil else { return }
        channel.close()
      }
      let line = await Self.requestLine(from: channel)
      alarm.cancel()
      if let line, line.count > Self.longestRequest {
        try? await channel.write([UInt8](await Self.tooLong()))
        channel.finishWriting()
      } else if let line, let request = ControlRequest(line: line) {
        self.clients[number]?.hasAsked = true
        let reply = await self.reply(
          to: request, on: channel, tellingProgress: line.first == Self.blank)
        // A client that is gone does not want to know.
        try? await channel.write([UInt8](reply))
        channel.finishWriting()
      }
      channel.close()
      self.clients[number] = nil
    }
  }

  /// The answer; until it is ready, the channel says that it is being worked on, and how far.
  private func reply(
    to request: ControlRequest, on channel: SocketChannel, tellingProgress: Bool
  ) async -> Data {
    let news = Locked<WorkProgress?>(nil)
    let pulse = Task {
      while (try? await Task.sleep(for: Self.pulse)) != nil {
        let progress = news.withLock { news in
          defer { news = nil }
          return news
        }
        // A client that is gone does not want to know.
        try? await channel.write(progress?.line ?? [Self.blank])
      }
    }
    let listener: WorkProgress.Listener = { progress in news.withLock { $0 = progress } }
    let reply = await handle(request, tellingProgress ? listener : nil)
    pulse.cancel()
    await pulse.value
    return reply
  }

  /// What comes up to a line end; nil if none comes. Of a line that is too long the beginning is
  /// kept, and all is read: who is not done with writing would hear no answer.
  private static func requestLine(from channel: SocketChannel) async -> [UInt8]? {
    var line: [UInt8] = []
    while let bytes = try? await channel.read(upTo: 16 << 10), !bytes.isEmpty {
      if line.count <= longestRequest { line += bytes }
      if bytes.contains(0x0A) { return line }
    }
    return nil
  }

  private static func tooLong() async -> Data {
    await controlReply { () async throws(FlotillaError) -> Done in
      throw FlotillaError(
        .refused, "the node takes no request of more than \(longestRequest >> 20) MiB",
        remedy: "Name fewer tables at a time.")
    }
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
      code: error.code.description, message: error.message, remedy: error.remedy,
      cause: error.cause)
  }
  do {
    return try JSONEncoder().encode(reply)
  } catch {
    preconditionFailure("a reply that cannot be encoded: \(error)")
  }
}
