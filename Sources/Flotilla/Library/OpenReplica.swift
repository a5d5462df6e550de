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
/// `flotilla stop` suspends it like `suspend()` if the node is in this process, and the log says
/// so. If it is in another one, this process does not take its place before `resume()`. What waits
/// for a verdict then ends with an error of code `node`, and can be asked again.
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

  /// Whether it is suspended: then nothing is tried, and to ask again costs nothing.
  package var isSuspended: Bool { get async { await host.isSuspended } }
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
    /// The node is in this process. Next: foreign, suspended, closed.
    case own(Node)
    /// The node is in another process, or nowhere: who asks finds out, and starts one then. Next:
    /// own, suspended, closed.
    case foreign
    case closed
  }

  /// What changes the state. `takeOver` is wanted by who asks and finds no node; `follow` does what
  /// was asked of the node itself.
  private enum Turn { case start, takeOver, follow, suspend, close }

  private let replica: Replica
  private let options: RunOptions
  private let log: @Sendable (String) -> Void
  private var state = State.suspended
  /// The last turn that is not over: the next one waits for it, and who wants the same shares it.
  private var last: (turn: Turn, task: Task<Result<Void, FlotillaError>, Never>)?
  /// Waits until somebody asks the node to stop.
  private var watch: Task<Void, Never>?

  init(_ replica: Replica, options: RunOptions, log: @escaping @Sendable (String) -> Void) {
    self.replica = replica
    self.options = options
    self.log = log
  }

  var isClosed: Bool { if case .closed = state { true } else { false } }

  var isSuspended: Bool { if case .suspended = state { true } else { false } }

  func resume() async throws(FlotillaError) { try await take(.start).get() }

  func suspend() async { _ = await take(.suspend) }

  func close() async { _ = await take(.close) }

  /// Takes a turn behind those that were wanted before, so the last one decides.
  private func take(_ turn: Turn) async -> Result<Void, FlotillaError> {
    // What is asked of a node after `follow` has looked at it needs another look.
    if let last, last.turn == turn, turn != .follow { return await last.task.value }
    let before = last?.task
    let task = Task {
      _ = await before?.value
      return await self.carryOut(turn)
    }
    last = (turn, task)
    let result = await task.value
    if last?.task == task { last = nil }
    return result
  }

  private func carryOut(_ turn: Turn) async -> Result<Void, FlotillaError> {
    do throws(FlotillaError) {
      switch turn {
      case .start:
        guard !isClosed else {
          throw FlotillaError(.usage, "\(replica.path) was closed", remedy: "Open it again.")
        }
        await follow()
        if case .own = state { break }
        try await start(isWanted: true)
      case .takeOver:
        // Whoever has suspended it meanwhile is obeyed.
        if case .foreign = state { try await start(isWanted: false) }
      case .follow: await follow()
      case .suspend: if !isClosed { await leave(for: .suspended) }
      case .close: await leave(for: .closed)
      }
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  /// Finds the node, or becomes it. Unless that is wanted by name, one that was stopped with
  /// `flotilla stop` stays so.
  private func start(isWanted: Bool) async throws(FlotillaError) {
    try await replica.check()
    // Without the lock first: who only asks is in nobody's way.
    if !isWanted { try replica.sidecar.refuseIfStopped(replica.path) }
    guard case .lock(let lock) = try await replica.reach(.office, as: AnchorReport.self) else {
      state = .foreign
      return
    }
    if isWanted {
      replica.sidecar.forgetStop()
    } else {
      try replica.sidecar.refuseIfStopped(replica.path)
    }
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
    state = .own(node)
    watch = Task { [weak self] in
      await node.untilStopIsWanted()
      if !Task.isCancelled { _ = await self?.take(.follow) }
    }
  }

  /// Ends the node in this process if that was asked of it; one whose file was put back starts
  /// again. Where that fails, or the file is gone, the next who asks tries it again.
  private func follow() async {
    guard case .own(let node) = state else { return }
    switch await node.stopRequest.end {
    case nil: break
    case .startsAgain:
      await leave(for: .foreign)
      // One that is put back again and again must not keep a processor busy.
      try? await Task.sleep(for: Node.restartPause)
      do { try await start(isWanted: false) } catch { log(error.message) }
    case .failed(let failure):
      log(failure.message)
      await leave(for: .foreign)
    case .wanted:
      // Somebody has run `flotilla stop`, or `leave`.
      log("\(replica.path) was stopped by another program; resume() goes on with it")
      await leave(for: .suspended)
    }
  }

  private func leave(for next: State) async {
    let before = state
    state = next
    watch?.cancel()
    watch = nil
    guard case .own(let node) = before else { return }
    await node.stop(await node.stopRequest.bye ?? Bye(.stopping, "the program was suspended"))
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
      // No other process is the node any more: this one takes its place.
      if case .foreign = state { try await take(.takeOver).get() }
      return try await ask(request, as: type)
    case .suspended:
      throw FlotillaError(
        .node, "\(replica.path) is suspended", remedy: "resume() goes on with it.")
    case .closed: throw FlotillaError(.usage, "\(replica.path) was closed")
    }
  }
}
