import FoundationEssentials
import Glibc
import Replication
import SQLite
import Store

/// A replica that a program has opened: rows are saved, queried, updated and removed here at once,
/// and reach the other nodes, and the anchor, by themselves.
///
/// If a node runs for the file already, it does the work; else this process is the node, and other
/// programs and the command line use it. Any number of programs may open one file, and plain SQL
/// beside it works as ever.
///
/// `flotilla stop` suspends it like `suspend()`, and the log says so; what waits for a verdict then
/// ends with an error of code `node`, and can be asked again after `resume()`.
public final class OpenReplica: Sendable {
  public let replica: Replica
  private let host: LibraryHost

  init(_ replica: Replica, host: LibraryHost) {
    self.replica = replica
    self.host = host
  }

  /// Goes offline: connections end, the file is let go. Rows can be saved and read as before; what
  /// is written waits.
  public func suspend() async { await host.suspend() }

  /// Goes on after `suspend`.
  public func resume() async throws(FlotillaError) { try await host.resume() }

  /// Ends the streams and lets go of everything. What was saved and not sent yet goes out when the
  /// file is opened again, by whatever program.
  public func close() async { await host.close() }

  func ask<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type
  ) async throws(FlotillaError) -> Body {
    try await host.ask(request, as: type)
  }

  /// Whether `close` was called.
  public var isClosed: Bool { get async { await host.isClosed } }
}

extension Replica {
  /// Opens a replica for a program; the file must be one (`init` or `join` makes it so).
  public static func open(
    _ path: String, options: RunOptions = RunOptions(),
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(FlotillaError) -> OpenReplica {
    let replica = Replica(path: path)
    try await replica.check()
    let host = LibraryHost(replica, options: options, log: log)
    try await host.resume()
    return OpenReplica(replica, host: host)
  }
}

/// Where the node of an open replica is: in this process or in another one.
actor LibraryHost {
  private enum State {
    /// Next: own, foreign, closed.
    case suspended
    /// The node is in this process. Next: suspended, closed.
    case own(Node)
    /// Another process is the node. Next: own, suspended, closed.
    case foreign
    case closed
  }

  private let replica: Replica
  private let options: RunOptions
  private let log: @Sendable (String) -> Void
  private var state = State.suspended
  /// A start that is under way: whoever wants one meanwhile waits for it.
  private var start: Task<Result<State, FlotillaError>, Never>?
  /// Counts what ends a start that was begun before: calls of `suspend` and `close`.
  private var ends = 0
  /// Lets go of the file if another program asks for that.
  private var watch: Task<Void, Never>?

  init(_ replica: Replica, options: RunOptions, log: @escaping @Sendable (String) -> Void) {
    self.replica = replica
    self.options = options
    self.log = log
  }

  var isClosed: Bool { if case .closed = state { true } else { false } }

  func resume() async throws(FlotillaError) {
    guard case .suspended = state else {
      guard isClosed else { return }
      throw FlotillaError(.usage, "\(replica.path) was closed", remedy: "Open it again.")
    }
    let (begun, known) = (start ?? Task { await attempt() }, ends)
    start = begun
    let result = await begun.value
    if start == begun { start = nil }
    guard known == ends, case .suspended = state else {
      // Suspended or closed meanwhile; or somebody else has taken what was started.
      if known != ends, case .success(.own(let node)) = result { await node.stop() }
      return
    }
    state = try result.get()
    guard case .own(let node) = state else { return }
    watch = Task { [weak self] in
      await node.untilStopIsWanted()
      if !Task.isCancelled { await self?.stopped() }
    }
  }

  private func attempt() async -> Result<State, FlotillaError> {
    do throws(FlotillaError) {
      switch try await replica.reach(.office, as: AnchorReport.self) {
      case .answer: return .success(.foreign)
      case .lock(let lock):
        let node = try await Node(
          path: replica.path, mode: .lasting, options: options, lock: lock,
          log: { [log] in log($0.text) })
        do throws(FlotillaError) {
          try await node.rememberPath()
          try await node.start()
        } catch {
          await node.stop()
          throw error
        }
        return .success(.own(node))
      }
    } catch {
      return .failure(error)
    }
  }

  /// Somebody has run `flotilla stop`, or `leave`.
  private func stopped() async {
    log("\(replica.path) was stopped by another program; resume() goes on with it")
    await suspend()
  }

  func suspend() async {
    ends += 1
    watch?.cancel()
    watch = nil
    if case .own(let node) = state {
      await node.stop(await node.stopRequest.bye ?? Bye(.stopping, "the program was suspended"))
    }
    if !isClosed { state = .suspended }
  }

  func close() async {
    await suspend()
    state = .closed
  }

  /// Asks the node, wherever it is; while suspended nobody can answer.
  func ask<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type
  ) async throws(FlotillaError) -> Body {
    switch state {
    case .own(let node):
      return try ControlClient.body(of: await node.answer(request), as: type)
    case .foreign:
      let client = try ControlClient(database: replica.sidecar.database)
      if let body = try await client.ask(request, as: type) { return body }
      // The other process has ended; this one takes its place, unless it has done so by now.
      if case .foreign = state { state = .suspended }
      try await resume()
      return try await ask(request, as: type)
    case .suspended:
      throw FlotillaError(
        .node, "\(replica.path) is suspended", remedy: "resume() goes on with it.")
    case .closed: throw FlotillaError(.usage, "\(replica.path) was closed")
    }
  }
}
