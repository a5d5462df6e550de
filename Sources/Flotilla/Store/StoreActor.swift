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
  /// How many entries of the journal were folded by now, about, for whomever.
  private var foldedEntries = 0

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

  /// What is left to be done after a hold of the write lock: the same work goes on, or nobody waits
  /// for it.
  private enum Rest { case none, more, later }

  /// Runs `body`, which changes the file, once programs have had the free moment that they are
  /// owed; while another program has the write lock, others may look at the file in between.
  @_semantics("optimize.sil.specialize.generic.never")
  func patiently<Result: Sendable>(
    until deadline: Int64 = .max, _ body: @Sendable (Store) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    try await inTurn(until: deadline) { (store) throws(StoreError) in
      (try body(store), Rest.none)
    }.result
  }

  /// The same, and tells for how many µs the lock was held. That is noted before anybody else has
  /// the actor: whoever waits for it would take the lock again at once.
  ///
  /// It is in the program once, not for each type of a result (decision 0087).
  @_semantics("optimize.sil.specialize.generic.never")
  private func inTurn<Result>(
    until deadline: Int64 = .max, _ body: (Store) throws(StoreError) -> (Result, Rest)
  ) async throws(StoreError) -> (result: Result, held: Int64) {
    let end = min(deadline, Uptime.now + Int64(ReplicaFile.busyTimeout))
    while true {
      // No call is awaited between this look and the hold: others may go on in any that is.
      if let moment = owed(until: end) {
        await wait(until: moment)
        continue
      }
      let store = try opened()
      let before = store.file.lockHeld
      do {
        let (result, rest) = try trying(store, body)
        let held = (store.file.lockHeld - before).microseconds
        if isShared { note(held, rest) }
        return (result, held)
      } catch {
        guard error.cause?.isBusy == true, Uptime.now < end else { throw error }
      }
      await wait(until: Uptime.now + Self.gap)
    }
  }

  /// One try of it, which waits for the lock for a turn.
  private func trying<Result>(
    _ store: Store, _ body: (Store) throws(StoreError) -> (Result, Rest)
  ) throws(StoreError) -> (Result, Rest) {
    store.file.setPatience(Self.turn)
    defer { store.file.setPatience() }
    if let run = newRun {
      try store.lives.begin(run: run)
      newRun = nil
    }
    return try body(store)
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
    try await foldBacklog(isSent: false) { _, _ in }
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
    let (done, held) = try await inTurn { (store) throws(StoreError) in
      let outcome =
        try isLimited
        ? store.mergeIfRoom(slice, at: clock.now) : store.merge(slice, at: clock.now)
      return ((outcome, store.position), slice.isLong ? .more : .none)
    }
    guard let outcome = done.0 else { return nil }
    if slice.isFull { mergeSize.held(for: held / 1_000) }
    return (outcome, done.1)
  }

  /// Folds one slice of what applications wrote, and tells for how many µs it held the write lock;
  /// a backlog leaves applications their share, too.
  ///
  /// `isSent`: what is folded goes to peers at once.
  func fold(
    until deadline: Int64 = .max, isSent: Bool = true
  ) async throws(StoreError) -> (FoldResult, Position, held: Int64) {
    let ((result, position), held) = try await inTurn(until: deadline) {
      (store) throws(StoreError) in
      (store.pace.journalEntries, store.pace.comparedRows) = (foldSize.rows, foldSize.rows)
      (store.pace.judgedRows, store.pace.sendsEdits) = (verdictSize.rows, isSent)
      defer { store.pace.sendsEdits = true }
      let result = try store.fold(at: clock.now)
      let isForOthers = result.versions == 0 && result.movesParked
      return (
        (result, store.position), !result.hasMore ? .none : isForOthers ? .later : .more
      )
    }
    foldedEntries += foldSize.rows
    if result.leavesOfficeWork, !result.isUnfolded {
      verdictSize.held(for: held / 1_000)
    } else if result.hasMore {
      foldSize.held(for: held / 1_000)
    }
    return (result, position, held)
  }

  /// Notes that the write lock was held for so many µs, and whether a program has written of late.
  private func note(_ held: Int64, _ rest: Rest) {
    // Rows that get fresh keys, or a long row, may take it for long though nothing more waits: who
    // has waited meanwhile is owed a free moment, too.
    guard rest == .none ? held > Courtesy.least * 1_000 : held > 0 else { return }
    let end = Uptime.now
    // What was done counts, even if the file cannot be asked any more: the next access says why.
    if let version = try? store?.file.dataVersion() {
      others.looked(version: version, cuts: checkpointer?.cuts ?? 0, at: end)
    }
    // Nobody waits for rows that are parked for others, or come back: who writes goes first.
    courtesy.held(
      from: end - held / 1_000, to: end, isWanted: others.write(at: end), isAlone: rest == .none,
      least: rest == .later ? Courtesy.shortPause : 0)
  }

  /// Folds what waits, if it is more than one commit takes, and leaves programs their share of the
  /// lock. What they write meanwhile is left to what follows, which folds it at once: beside one
  /// that never pauses this would last for ever.
  ///
  /// Without the time of the site nothing can be folded.
  func foldBacklog(isSent: Bool = true, _ told: Told) async throws(StoreError) {
    guard clock.now.site != nil else { return }
    let goal = try foldedEntries + opened().journal.waitingEntries()
    while try opened().hasBacklog() {
      let isComparing = try opened().isComparing()
      guard foldedEntries < goal || isComparing else { break }
      let (result, position, _) = try await fold(isSent: isSent)
      await told(result, position)
    }
  }

  /// Until when the lock is left to programs, if it is.
  private func owed(until deadline: Int64) -> Int64? {
    let now = Uptime.now
    guard isShared, courtesy.nextHold > now, deadline > now, !Task.isCancelled else { return nil }
    return min(courtesy.nextHold, deadline)
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
