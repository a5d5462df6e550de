import FoundationEssentials
import Glibc
import Replication
import SQLite
import Store

extension Replica {
  /// So long a node that starts waits for a command that is at work without one, in ms: a bit more
  /// than `sql --online` takes, unless it is given more time.
  private static let runPatience: Int64 = 12_000

  /// Of several databases one that cannot be served is tried again so often.
  private static let runPause = Duration.seconds(60)

  /// Runs the node of one or more replicas until the task is cancelled or `stop` is asked for.
  /// `log` gets an entry for each thing worth knowing; `ready` is called once all serve that can,
  /// and is told of the others.
  ///
  /// One that cannot be served, or fails later, is an error; of several it does not keep the others
  /// from their work, and is tried again every minute.
  public static func run(
    _ replicas: [Replica], options: RunOptions, log: @escaping @Sendable (LogEntry) -> Void,
    ready: @escaping @Sendable (_ broken: [FlotillaError]) -> Void
  ) async throws(FlotillaError) {
    var runs: [NodeRun] = []
    for replica in replicas {
      let prefix = replicas.count > 1 ? "\(replica.path): " : ""
      var options = options
      options.triesNextPorts = !runs.isEmpty
      let run = NodeRun(replica: replica, options: options) { entry in
        var entry = entry
        (entry.text, entry.database) = (prefix + entry.text, replica.sidecar.database)
        log(entry)
      }
      await run.start()
      runs.append(run)
    }
    var broken: [FlotillaError] = []
    for run in runs { if let failure = await run.failure { broken.append(failure) } }
    if broken.count == runs.count, let failure = broken.first { throw failure }
    ready(broken)
    let pause = runs.count > 1 ? runPause : nil
    await withTaskGroup(of: Void.self) { group in
      for run in runs { group.addTask { await run.serve(pause: pause) } }
      for await _ in group {
        // One that was asked to stop leaves the others at work; what never worked waits for none.
        var isWanted = false
        for run in runs { if await run.isWanted { isWanted = true } }
        if !isWanted { group.cancelAll() }
      }
    }
    log(LogEntry("stopped", database: replicas.count == 1 ? replicas[0].sidecar.database : nil))
    guard !Task.isCancelled else { return }
    for run in runs { if let failure = await run.failure { throw failure } }
  }

  /// Starts a lasting node; a process that only serves an invitation makes room.
  fileprivate func begin(
    options: RunOptions, log: @escaping @Sendable (LogEntry) -> Void
  ) async throws(FlotillaError) -> Node {
    let tell: @Sendable (String) -> Void = { log(LogEntry($0)) }
    try await check()
    try HardLinks.refuse(sidecar, path: path)
    try requireJournal()
    let lock: FileLock
    let access: Access<Done>
    do throws(FlotillaError) {
      access = try await reach(
        .yield, as: Done.self, patience: Self.runPatience, remark: tell)
    } catch {
      throw named(error)
    }
    switch access {
    case .answer: lock = try await freedLock()
    case .lock(let free): lock = free
    }
    sidecar.forgetStop()
    if let copy = try unfinishedCopy() {
      _ = try await fetchPages(copy, from: copy.address, persists: false, log: tell)
    }
    let node = try await Node(
      path: path, mode: .lasting, options: options, lock: lock, log: log)
    do {
      try await node.rememberPath()
      try await node.start()
    } catch {
      await node.stop()
      throw error
    }
    return node
  }

  /// Throws if a lasting node runs already; a process that only serves an invitation makes room.
  public func refuseSecondNode() async throws(FlotillaError) {
    do throws(FlotillaError) {
      _ = try await ControlClient(database: sidecar.database).ask(.yield, as: Done.self)
    } catch {
      throw named(error)
    }
  }

  /// A node knows its file by the path with which it was started; who asks may have typed another.
  private func named(_ error: FlotillaError) -> FlotillaError {
    error.cause == Node.runsAlready ? Node.runsAlready(at: path) : error
  }

  /// Without its journal a node could neither notice nor send anything.
  private func requireJournal() throws(FlotillaError) {
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    do {
      _ = try connection.row("SELECT 1 FROM main.\(Journal.table) LIMIT 1")
    } catch {
      throw FlotillaError(error, path: path)
    }
  }

  /// Stops the running node.
  public func stop() async throws(FlotillaError) {
    // A node that runs can be stopped, whatever has become of its file.
    guard let freed = try await stop(isLeaving: false) else {
      try await check()
      guard let lock = try sidecar.lock() else { throw sidecar.occupied(path) }
      lock.release()
      throw FlotillaError(
        .node, "no node runs for \(path)", remedy: "Start it with: flotilla run \(shellWord(path))",
        cause: "no node runs")
    }
    freed.release()
  }

  /// Stops the running node and gives the lock that it held; nil if none ran.
  func stop(isLeaving: Bool) async throws(FlotillaError) -> FileLock? {
    let client = try ControlClient(database: sidecar.database)
    let done: Done? = try await client.ask(.stop(isLeaving: isLeaving))
    guard done != nil else { return nil }
    return try await freedLock()
  }

  /// Waits until the other process has let go of the database.
  private func freedLock() async throws(FlotillaError) -> FileLock {
    for _ in 0..<600 {
      if let lock = try sidecar.lock() { return lock }
      guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { break }
    }
    throw FlotillaError(
      .timedOut, "the running node did not end within 30 s",
      remedy: "See its log: \(sidecar.logPath)")
  }
}

/// The node of one replica, through its starts and ends.
private actor NodeRun {
  private let replica: Replica
  private var options: RunOptions
  private let log: @Sendable (LogEntry) -> Void
  /// Nil before it has started, and when it has ended.
  private var node: Node?
  /// True from the first start until somebody has asked it to stop.
  private(set) var isWanted = false
  /// Why it does not serve; nil if it does, or was asked to stop.
  private(set) var failure: FlotillaError?

  init(replica: Replica, options: RunOptions, log: @escaping @Sendable (LogEntry) -> Void) {
    (self.replica, self.options, self.log) = (replica, options, log)
  }

  /// Makes the node serve, or leaves `failure`.
  func start() async {
    do throws(FlotillaError) {
      let node = try await replica.begin(options: options, log: log)
      (self.node, failure, isWanted) = (node, nil, true)
      let who = node.identity
      let port = await node.port ?? 0
      let line = "\(who.name) of \"\(who.siteName)\" listens on port \(port)"
      if let own = await node.ownPort, own != port {
        log(LogEntry(line + ": another program has its own port, \(own)", .warning))
      } else {
        log(LogEntry(line))
      }
    } catch {
      failure = error
    }
  }

  /// Lets the node work until it is to stop; one whose file was put back starts again. After a
  /// failure it is over, or goes on after a pause if there is one.
  func serve(pause: Duration?) async {
    var told: String?
    while true {
      if let node, await untilEnd(of: node) {
        // One that is put back again and again must not keep a processor busy.
        guard (try? await Task.sleep(for: Node.restartPause)) != nil else {
          (failure, isWanted) = (nil, false)
          return
        }
        await start()
        continue
      }
      guard let failure, let pause, !Task.isCancelled else { return }
      let text = [failure.message, failure.remedy].compactMap { $0 }.joined(separator: "; ")
      if text != told {
        log(LogEntry("not served, and tried every minute: \(text)", .warning))
      }
      told = text
      guard (try? await Task.sleep(for: pause)) != nil else { return }
      // Another one may have its port by now.
      options.triesNextPorts = true
      await start()
    }
  }

  /// Ends the node when that is wanted; true if it is to begin anew.
  private func untilEnd(of node: Node) async -> Bool {
    await withTaskCancellationHandler {
      await node.untilStopIsWanted()
    } onCancel: {
      Task { await node.requestStop() }
    }
    let request = await node.stopRequest
    await node.stop(request.bye ?? Bye(.stopping, "the node was stopped"))
    self.node = nil
    switch await node.stopRequest.end {
    case .startsAgain: return !Task.isCancelled
    case .failed(let error): failure = error
    case .wanted, nil: isWanted = false
    }
    return false
  }
}

extension Node {
  /// So long a node whose file was put back rests before it starts again.
  static let restartPause = Duration.milliseconds(500)

  func rememberPath() async throws(FlotillaError) {
    let database = sidecar.database
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        guard try store.file.lastPath() != database else { return }
        try store.file.setLastPath(database)
      }
    }
  }
}
