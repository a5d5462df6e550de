import Replication
import SQLite
import Store

/// The one owner of an open replica; all work on the file happens on its queue.
actor StoreActor {
  /// So long a call waits for the write lock in one go, and so long it then lets others in, in ms.
  private static let turn = 100
  private static let gap: Int64 = 25

  private let executor: QueueExecutor
  private var store: Store?
  private var courtesy = Courtesy()
  /// The run that has begun here, until the file knows of it.
  private var newRun: UInt64?
  fileprivate var isShared = true
  /// Looks after the write-ahead log while a node lasts.
  fileprivate var checkpointer: Checkpointer?
  /// Whether programs write the file, as its state has shown lately.
  private var others = OtherWriters()
  /// How many rows are folded, merged, and judged in one commit.
  private var foldSize = HoldSize()
  private var mergeSize = HoldSize()
  private var verdictSize = HoldSize(HoldSize.verdicts)

  /// The time of the site.
  nonisolated let clock: NodeClock

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(path: String, machine: MachineClock = .here) throws(StoreError) {
    self.executor = QueueExecutor("flotilla.store")
    let store = try Store(path: path)
    self.clock = try NodeClock(store, machine)
    self.store = store
  }

  /// Runs `body` with the replica.
  func run<Result: Sendable>(
    _ body: @Sendable (Store) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try body(opened())
  }

  /// Tells the replica something that concerns no file.
  func tell(_ body: @Sendable (Store) -> Void) {
    if let store { body(store) }
  }

  /// A run has begun: the file hears of it before anything else is changed in it.
  func begin(run: UInt64) { newRun = run }

  /// Runs `body`, which changes the file; while another program has the write lock, others may
  /// look at the file in between.
  ///
  /// It is in the program once, not for each type of a result (decision 0087).
  @_semantics("optimize.sil.specialize.generic.never")
  func patiently<Result: Sendable>(
    until deadline: Int64 = .max, _ body: @Sendable (Store) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let end = min(deadline, Uptime.now + Int64(ReplicaFile.busyTimeout))
    while true {
      let store = try opened()
      do {
        store.file.setPatience(Self.turn)
        defer { store.file.setPatience() }
        if let run = newRun {
          try store.lives.begin(run: run)
          newRun = nil
        }
        return try body(store)
      } catch {
        guard error.cause?.isBusy == true, Uptime.now < end else { throw error }
      }
      await wait(until: Uptime.now + Self.gap)
    }
  }

  /// Closes the file; whatever comes later fails.
  func close() async {
    await checkpointer?.close()
    store = nil
  }

  private func opened() throws(StoreError) -> Store {
    guard let store else { throw StoreError(.closed, "the node of the replica was stopped") }
    return store
  }

  /// Cuts rows from a peer into commits.
  func slices(of merge: Merge) throws(StoreError) -> [MergeSlice] {
    let store = try opened()
    store.pace.mergedRows = mergeSize.rows
    return try store.slices(of: merge)
  }

  /// Merges rows from a peer; slices of a long catch-up leave other writers their share. Where rows
  /// are parked before, what programs write meanwhile is told at once.
  func merge(
    _ slice: MergeSlice, _ told: Told
  ) async throws(StoreError) -> (MergeOutcome, Position) {
    while try await foldBacklog(isSent: false) != nil {}
    if let done = try await mergeOnce(slice, isLimited: true) { return done }
    try opened().beginMakingWay()
    defer { store?.endMakingWay() }
    while true {
      while try opened().isMakingWay {
        let (result, position, _) = try await fold()
        await told(result, position)
        guard result.hasMore else { break }
      }
      let isLimited = try opened().hasMadeWay
      if let done = try await mergeOnce(slice, isLimited: isLimited) { return done }
    }
  }

  /// The same in one commit; nil if it is limited, and rows are to be parked before.
  private func mergeOnce(
    _ slice: MergeSlice, isLimited: Bool
  ) async throws(StoreError) -> (MergeOutcome, Position)? {
    let isBulk = isShared && slice.isLong
    if isShared { await waitForTurn() }
    let (outcome, position, held) = try await patiently { (store) throws(StoreError) in
      let before = store.file.lockHeld
      return (
        try isLimited
          ? store.mergeIfRoom(slice, at: clock.now) : store.merge(slice, at: clock.now),
        store.position, (store.file.lockHeld - before).microseconds
      )
    }
    if isBulk && held > 0 || isShared && Self.isLong(held) { try note(held) }
    guard let outcome else { return nil }
    if slice.isFull { mergeSize.held(for: held / 1_000) }
    return (outcome, position)
  }

  /// Folds one slice of what applications wrote, and tells for how many µs it held the write lock;
  /// a backlog leaves applications their share, too.
  ///
  /// `isSent`: what is folded goes to peers at once.
  func fold(
    until deadline: Int64 = .max, isSent: Bool = true
  ) async throws(StoreError) -> (FoldResult, Position, held: Int64) {
    await waitForTurn()
    let (rows, verdicts) = (foldSize.rows, verdictSize.rows)
    let (result, position, held) = try await patiently(until: deadline) {
      (store) throws(StoreError) in
      (store.pace.journalEntries, store.pace.comparedRows) = (rows, rows)
      (store.pace.judgedRows, store.pace.sendsEdits) = (verdicts, isSent)
      defer { store.pace.sendsEdits = true }
      let before = store.file.lockHeld
      return (
        try store.fold(at: clock.now), store.position, (store.file.lockHeld - before).microseconds
      )
    }
    if result.hasMore || Self.isLong(held) {
      // Nobody waits for rows that are parked for others, or come back: who writes goes first.
      let isForOthers = result.versions == 0 && result.movesParked
      try note(held, least: isForOthers ? Courtesy.shortPause : 0)
    }
    if result.leavesOfficeWork, !result.isUnfolded {
      verdictSize.held(for: held / 1_000)
    } else if result.hasMore {
      foldSize.held(for: held / 1_000)
    }
    return (result, position, held)
  }

  /// Whether programs that have waited meanwhile are owed a free moment. Rows that get fresh keys,
  /// or a long row, may take the lock for long though nothing more waits.
  private static func isLong(_ held: Int64) -> Bool { held > Courtesy.least * 1_000 }

  /// Notes that the write lock was held for so many µs, and whether a program has written of late.
  private func note(_ held: Int64, least: Int64 = 0) throws(StoreError) {
    let end = Uptime.now
    let version = try opened().file.dataVersion()
    others.looked(version: version, cuts: checkpointer?.cuts ?? 0, at: end)
    courtesy.held(
      from: end - held / 1_000, to: end, isWanted: others.write(at: end), least: least)
  }

  /// Folds one slice if more than one waits, else nil: what follows can take in the rest itself.
  /// Nil, too, without the time of the site: nothing can be folded then.
  func foldBacklog(
    isSent: Bool = true
  ) async throws(StoreError) -> (FoldResult, Position, held: Int64)? {
    guard clock.now.site != nil, try opened().hasBacklog() else { return nil }
    return try await fold(isSent: isSent)
  }

  /// Waits until the lock may be taken again. Who waited beside may have had it meanwhile.
  private func waitForTurn() async {
    while courtesy.nextHold > Uptime.now, !Task.isCancelled {
      await wait(until: courtesy.nextHold)
    }
  }

  private func wait(until moment: Int64) async {
    let pause = moment - Uptime.now
    guard pause > 0 else { return }
    // Cancelled: the caller finds out by itself.
    try? await Task.sleep(for: .milliseconds(pause))
  }
}

extension StoreActor {
  /// Nobody else uses the file yet: a first copy need not leave others their share.
  func stopSharing() { isShared = false }

  /// Keeps the write-ahead log short until the task is cancelled.
  func keepLogShort(_ log: @escaping @Sendable (String) -> Void) async {
    let path: String
    do {
      path = try run { (store) throws(StoreError) in
        try store.file.leaveCheckpoints()
        return store.path
      }
    } catch {
      // A node that stops at once; else each commit goes on copying by itself.
      if error.code != .closed { log("cannot look after the write-ahead log: \(error.message)") }
      return
    }
    let checkpointer = Checkpointer(path: path, log: log)
    self.checkpointer = checkpointer
    await checkpointer.run()
  }

  /// Before a snapshot is opened, which keeps the whole log while it lasts.
  func makeRoom() async { await checkpointer?.makeRoom() }
}
