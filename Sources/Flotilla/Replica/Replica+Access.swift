import FoundationEssentials
import Network
import Replication

/// How the commands reach a replica: through its running node, or by opening it themselves.
extension Replica {
  /// How long another process may hold the lock without answering: a command at work, a node that
  /// starts or stops.
  static let patience: Int64 = 5_000

  var sidecar: Sidecar { Sidecar(database: path) }

  /// Asks the running node, or does `work` with a node of its own if none runs.
  ///
  /// It is in the program once, not for each type of an answer (decision 0087).
  @_semantics("optimize.sil.specialize.generic.never")
  func perform<Body: Codable & Sendable>(
    _ request: ControlRequest, mode: Node.Mode = .offline, within timeout: Duration? = nil,
    telling listener: WorkProgress.Listener? = nil,
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    try await check()
    switch try await reach(request, as: Body.self, within: timeout, telling: listener) {
    case .answer(let body): return body
    case .lock(let lock):
      return try await withNode(mode: mode, lock: lock, within: timeout, work)
    }
  }

  /// The same for work with others that is to end in time; gets what is left of it.
  @_semantics("optimize.sil.specialize.generic.never")
  func perform<Body: Codable & Sendable>(
    _ request: ControlRequest, within timeout: Duration,
    telling listener: WorkProgress.Listener? = nil,
    _ work: (Node, Duration) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    let end = Uptime.now + timeout.milliseconds
    return try await perform(request, mode: .brief, within: timeout, telling: listener) {
      node async throws(FlotillaError) in
      try await work(node, .milliseconds(max(0, end - Uptime.now)))
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

  /// Asks the running node, or takes the lock if none runs. A process that holds it and does not
  /// answer is waited for; `remark` is told after a second.
  func reach<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type, within timeout: Duration? = nil,
    telling listener: WorkProgress.Listener? = nil, patience: Int64 = Self.patience,
    remark: (String) -> Void = { _ in }
  ) async throws(FlotillaError) -> Access<Body> {
    switch try await reach(
      request, within: timeout, telling: listener, patience: patience, remark: remark)
    {
    case .answer(let data): return .answer(try ControlClient.body(of: data, as: type))
    case .lock(let lock): return .lock(lock)
    }
  }

  /// The same, whatever the answer is of: so this is in the program once.
  private func reach(
    _ request: ControlRequest, within timeout: Duration?,
    telling listener: WorkProgress.Listener?, patience: Int64, remark: (String) -> Void
  ) async throws(FlotillaError) -> Access<Data> {
    let client = try ControlClient(database: sidecar.database)
    let start = Uptime.now
    var isTold = false
    while true {
      if let data = try await client.answer(to: request, within: timeout, telling: listener) {
        return .answer(data)
      }
      if let lock = try sidecar.lock() { return .lock(lock) }
      let isOver = (try? await Task.sleep(for: .milliseconds(50))) == nil
      guard !isOver, Uptime.now < start + patience else { throw sidecar.occupied(path) }
      if !isTold, Uptime.now > start + 1_000 {
        isTold = true
        remark("\(sidecar.occupied(path).message); waiting for it to end")
      }
    }
  }

  /// Opens the replica for one command.
  func withNode<Body: Sendable>(
    mode: Node.Mode, lock: FileLock? = nil, options: RunOptions = RunOptions(),
    within timeout: Duration? = nil, bye: Bye = Bye(.stopping, "the node was stopped"),
    _ work: (Node) async throws(FlotillaError) -> Body
  ) async throws(FlotillaError) -> Body {
    let node = try await Node(
      path: path, mode: mode, options: options, lock: lock, within: timeout, log: { _ in })
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
