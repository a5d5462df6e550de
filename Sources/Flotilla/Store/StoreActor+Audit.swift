import Replication
import Store

/// Looking at all rows, slice by slice, so that other work goes on in between.
extension StoreActor {
  /// What was folded on the way is told to the node, which tells the peers.
  typealias Told = @Sendable (FoldResult, Position) async -> Void

  /// A fold that has brought nothing.
  private static let nothing = FoldResult(versions: 0, push: nil, hasMore: false)

  /// Opens an audit and looks at everything; gives its number, for whoever wants to repair. The
  /// caller closes it.
  ///
  /// For somebody else (`isGentle`) it works at most half of the time.
  func audit(
    isGentle: Bool = false, telling listener: WorkProgress.Listener? = nil, _ told: Told,
    while wanted: @Sendable () async -> Bool = { true }
  ) async throws(StoreError) -> (id: Int64, result: AuditResult)? {
    let (id, fold) = try await opening(told) { (store) throws(StoreError) in
      try store.openAudit(at: self.clock.now)
    }
    do {
      await told(fold, try run { (store) throws(StoreError) in store.position })
      while await wanted() {
        let start = Uptime.now
        switch try run({ (store) throws(StoreError) in
          try store.auditStep(id, at: self.clock.now)
        }) {
        case .more(let rows, let total): listener?(WorkProgress(.looking, rows, of: total))
        case .spent:
          try run { (store) throws(StoreError) in try store.restAudit(id) }
          await makeRoom()
          let fold = try await patiently { (store) throws(StoreError) in
            try store.renewAudit(id, at: self.clock.now)
          }
          await told(fold, try run { (store) throws(StoreError) in store.position })
        case .done(let result): return (id, result)
        }
        await pause(isGentle ? Uptime.now - start : 0)
      }
    } catch {
      closeAudit(id)
      throw error
    }
    closeAudit(id)
    return nil
  }

  func closeAudit(_ id: Int64) { tell { try? $0.closeAudit(id) } }

  /// Opens a walk through the rows of some buckets; the caller closes it.
  func openWalk(
    _ buckets: [Int], _ scope: DigestScope, strays: [AccountRow], _ told: Told
  ) async throws(StoreError) -> Int64 {
    let (id, fold) = try await opening(told) { (store) throws(StoreError) in
      try store.openWalk(buckets, scope, strays: strays, at: self.clock.now)
    }
    await told(fold, try run { (store) throws(StoreError) in store.position })
    return id
  }

  /// Keeps no snapshot while the peer is waited for.
  func restWalk(_ id: Int64) { tell { try? $0.rest(id) } }

  func closeWalk(_ id: Int64) { tell { try? $0.closeWalk(id) } }

  /// Rows until a frame is full; the last ones if `isLast`.
  func walk(
    _ id: Int64, _ told: Told, while wanted: @Sendable () async -> Bool
  ) async throws(StoreError) -> (rows: [AccountRow], isLast: Bool) {
    var (rows, room): ([AccountRow], Int) = ([], Self.frame)
    while await wanted() {
      let (start, left, isFirst) = (Uptime.now, room, rows.isEmpty)
      if try run({ (store) throws(StoreError) in store.isSpent(walk: id, at: self.clock.now) }) {
        restWalk(id)
        await makeRoom()
      }
      let (step, position) = try await patiently { (store) throws(StoreError) in
        (
          try store.walkOn(id, room: left, isFirst: isFirst, at: self.clock.now), store.position
        )
      }
      await told(Self.nothing, position)
      switch step {
      case .rows(let more):
        rows += more
        room -= more.reduce(0) { $0 + $1.size }
        if room < 0 { return (rows, false) }
      case .full: return (rows, false)
      case .done: return (rows, true)
      }
      await pause(Uptime.now - start)
    }
    return (rows, true)
  }

  /// An account is sent on once it has this many bytes.
  private static let frame = 64 << 10

  /// Compares what a peer has told with the walk that was opened for it.
  func join(
    _ id: Int64, _ rows: [AccountRow], isLast: Bool, _ told: Told
  ) async throws(StoreError) -> RowComparison? {
    tell { $0.verification.tell(id, rows, isLast: isLast) }
    while true {
      let (more, position) = try await patiently { (store) throws(StoreError) in
        (try store.joinOn(id, at: self.clock.now), store.position)
      }
      await told(Self.nothing, position)
      guard more == true else { break }
      await Task.yield()
    }
    return try run { (store) throws(StoreError) in store.verification.comparison(id) }
  }

  /// Opens a snapshot once no backlog waits to be folded.
  private func opening<Result: Sendable>(
    _ told: Told, _ body: @Sendable (Store) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    try await foldBacklog(told)
    await makeRoom()
    return try await patiently(body)
  }

  private func pause(_ milliseconds: Int64) async {
    guard milliseconds > 0 else { return await Task.yield() }
    try? await Task.sleep(for: .milliseconds(milliseconds))
  }
}
