import Foundation
import Network
import Replication

/// How the commands reach a replica: through its running node, or by opening it themselves.
extension Replica {
  /// How long another process may hold the lock without answering: a command at work, a node that
  /// starts or stops.
  static let patience: Int64 = 5_000

  var sidecar: Sidecar { Sidecar(database: path) }

  /// Asks the running node, or does `work` with a node of its own if none runs.
  func perform<Body: Codable & Sendable>(
    _ request: ControlRequest, mode: Node.Mode = .offline,
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    try await check()
    switch try await reach(request, as: Body.self) {
    case .answer(let body): return body
    case .lock(let lock): return try await withNode(mode: mode, lock: lock, work)
    }
  }

  /// Throws unless the file is a replica with its folder beside it.
  func check() async throws(FlotillaError) {
    let (path, sidecar) = (path, sidecar)
    try await offPool { () throws(FlotillaError) in
      _ = try OpeningCheck(path: path, sidecar: sidecar).check()
    }
  }

  enum Access<Body: Sendable>: Sendable {
    /// A node runs, and this is its answer.
    case answer(Body)
    /// No node runs, and none can start as long as this is held.
    case lock(FileLock)
  }

  /// Asks the running node, or takes the lock if none runs.
  func reach<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type
  ) async throws(FlotillaError) -> Access<Body> {
    let client = try ControlClient(database: sidecar.database)
    let deadline = Uptime.now + Self.patience
    while true {
      if let body = try await client.ask(request, as: type) { return .answer(body) }
      if let lock = try sidecar.lock() { return .lock(lock) }
      let isOver = (try? await Task.sleep(for: .milliseconds(50))) == nil
      guard !isOver, Uptime.now < deadline else { throw sidecar.occupied(path) }
    }
  }

  /// Opens the replica for one command.
  func withNode<Body: Sendable>(
    mode: Node.Mode, lock: FileLock? = nil, options: RunOptions = RunOptions(),
    bye: Bye = Bye(.stopping, "the node was stopped"),
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    let node = try await Node(
      path: path, mode: mode, options: options, lock: lock, log: { _ in })
    let result: Result<Body, FlotillaError>
    do {
      try await node.start()
      result = .success(try await work(node))
    } catch {
      result = .failure(error)
    }
    await node.stop(bye)
    return try result.get()
  }
}
