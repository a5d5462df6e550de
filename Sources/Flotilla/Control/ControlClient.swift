import Foundation
import Network

/// Asks the running node of a database.
struct ControlClient: Sendable {
  let path: String

  init(database: String) throws(FlotillaError) {
    self.path = try ControlSocket.path(database: database)
  }

  /// The answer of the running node; nil if none runs.
  func ask<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type = Body.self
  ) async throws(FlotillaError) -> Body? {
    guard let channel = try? await SocketChannel.connect(toLocal: path) else { return nil }
    defer { channel.close() }
    let data: Data
    do {
      try await channel.write([UInt8](JSONEncoder().encode(request)) + [0x0A])
      data = try await Self.readAll(channel)
    } catch {
      throw FlotillaError(.node, "the running node does not answer: \(error)")
    }
    guard !data.isEmpty else {
      throw FlotillaError(
        .node, "the running node ended before it answered", remedy: "Try again.")
    }
    guard let reply = try? JSONDecoder().decode(ControlReply<Body>.self, from: data) else {
      throw FlotillaError(
        .node, "the running node gave an answer that this version does not understand",
        remedy: "Stop it and start it again with the same version of Flotilla.")
    }
    if let failure = reply.failure {
      throw FlotillaError(
        FlotillaError.Code(failure.code), failure.message, remedy: failure.remedy)
    }
    guard let body = reply.body else {
      throw FlotillaError(.node, "the running node gave an empty answer")
    }
    return body
  }

  private static func readAll(_ channel: SocketChannel) async throws -> Data {
    var data = Data()
    while true {
      let bytes = try await channel.read(upTo: 64 << 10)
      guard !bytes.isEmpty else { return data }
      data.append(contentsOf: bytes)
    }
  }
}
