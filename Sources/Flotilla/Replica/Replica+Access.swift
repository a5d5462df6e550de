import Foundation
import Network

/// How the commands reach a replica: through its running node, or by opening it themselves.
extension Replica {
  var sidecar: Sidecar { Sidecar(database: path) }

  /// Asks the running node, or does `work` with a node of its own if none runs.
  func perform<Body: Codable & Sendable>(
    _ request: ControlRequest, mode: Node.Mode = .offline,
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    _ = try OpeningCheck(path: path, sidecar: sidecar).check()
    if let body: Body = try await ControlClient(database: sidecar.database).ask(request) {
      return body
    }
    return try await withNode(mode: mode, work)
  }

  /// Opens the replica for one command.
  func withNode<Body: Sendable>(
    mode: Node.Mode, options: RunOptions = RunOptions(),
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    let node = try await Node(path: path, mode: mode, options: options, log: { _ in })
    let result: Result<Body, FlotillaError>
    do {
      try await node.start()
      result = .success(try await work(node))
    } catch {
      result = .failure(error)
    }
    await node.stop()
    return try result.get()
  }
}
