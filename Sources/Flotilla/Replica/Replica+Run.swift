import FoundationEssentials
import Glibc
import Replication
import SQLite
import Store

extension Replica {
  /// So long a node that starts waits for a command that is at work without one, in ms: a bit more
  /// than `sql --online` takes, unless it is given more time.
  private static let runPatience: Int64 = 12_000

  /// Runs the node of one or more replicas until the task is cancelled or `stop` is asked for.
  /// `log` gets one line for each thing worth knowing; `ready` is called once all serve.
  public static func run(
    _ replicas: [Replica], options: RunOptions,
    log: @escaping @Sendable (String) -> Void, ready: @escaping @Sendable () -> Void
  ) async throws(FlotillaError) {
    var nodes: [Node] = []
    do {
      for replica in replicas {
        let prefix = replicas.count > 1 ? "\(replica.path): " : ""
        var options = options
        options.triesNextPorts = !nodes.isEmpty
        let node = try await replica.begin(options: options) { log(prefix + $0) }
        nodes.append(node)
        let port = await node.port ?? 0
        let who = node.identity
        log("\(prefix)\(who.name) of \"\(who.siteName)\" listens on port \(port)")
      }
    } catch {
      for node in nodes { await node.stop() }
      throw error
    }
    ready()
    // A node that was asked to stop leaves the others at work.
    let failures = await withTaskGroup(of: FlotillaError?.self) { group in
      for (replica, node) in zip(replicas, nodes) {
        group.addTask { await replica.serve(node, options, log) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    log("stopped")
    for case let failure? in failures { throw failure }
  }

  /// Lets a node work until it is to stop; one whose file was put back starts again.
  private func serve(
    _ first: Node, _ options: RunOptions, _ log: @escaping @Sendable (String) -> Void
  ) async -> FlotillaError? {
    var node = first
    while true {
      await withTaskCancellationHandler { [node] in
        await node.untilStopIsWanted()
      } onCancel: { [node] in
        Task { await node.requestStop() }
      }
      await node.stop(await node.stopRequest ?? Bye(.stopping, "the node was stopped"))
      guard await node.wantsAgain, !Task.isCancelled else { return await node.failure }
      do throws(FlotillaError) {
        node = try await begin(options: options, log: log)
      } catch {
        return error
      }
    }
  }

  /// Starts a lasting node; a process that only serves an invitation makes room.
  private func begin(
    options: RunOptions, log: @escaping @Sendable (String) -> Void
  ) async throws(FlotillaError) -> Node {
    try await check()
    try requireJournal()
    let lock: FileLock
    switch try await reach(
      .yield, as: Done.self, patience: Self.runPatience, remark: log)
    {
    case .answer: lock = try await freedLock()
    case .lock(let free): lock = free
    }
    if let copy = try unfinishedCopy() {
      _ = try await fetchPages(copy, from: copy.address, persists: false, log: log)
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
        .node, "no node runs for \(path)", remedy: "Start it with: flotilla run \(shellWord(path))")
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

extension Node {
  func rememberPath() async throws(FlotillaError) {
    let database = sidecar.database
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        guard try store.lastPath() != database else { return }
        try store.setLastPath(database)
      }
    }
  }
}
