import Replication
import SQLite

/// Telling a peer the rows of some buckets, and comparing them with what it tells.
extension Store {
  /// Opens a walk through the rows of some buckets of a digest; gives its number.
  package func openWalk(
    _ buckets: [Int], _ scope: DigestScope = .leading, strays: [AccountRow], at now: Instant
  ) throws(StoreError) -> (id: Int64, fold: FoldResult) {
    let opened = try openExport(.rows([]), at: now)
    let tables = exports[opened.id].map { Array($0.tables.values) } ?? []
    verification.begin(
      AccountWalk(
        snapshot: opened.id, buckets: Set(buckets), scope, tables: tables, strays: strays),
      as: opened.id)
    return (opened.id, opened.fold)
  }

  package func closeWalk(_ id: Int64) throws(StoreError) {
    guard let walk = verification.endWalk(id) else { return }
    try closeExport(walk.snapshot)
  }

  /// What a step of a walk gives.
  package enum WalkStep: Sendable {
    /// Rows of one slice, perhaps none.
    case rows([AccountRow])
    /// The next row does not fit.
    case full
    case done
  }

  /// Reads on, as far as there is room for in bytes; `isFirst` if a single row may take more.
  package func walkOn(
    _ id: Int64, room: Int = .max, isFirst: Bool = true, at now: Instant
  ) throws(StoreError) -> WalkStep {
    let walk = try verification.walk(id)
    guard walk.ready.isEmpty else { return walk.take(room, isFirst: isFirst) }
    guard !walk.isDone else { return .done }
    try renew(walk, at: now)
    guard let snapshot = exports[walk.snapshot] else { return .done }
    try reporting { () throws(SQLiteError) in
      try walk.read(snapshot, versions.on(snapshot.connection))
    }
    return walk.ready.isEmpty ? .rows([]) : walk.take(room, isFirst: isFirst)
  }

  /// Lets the snapshot of a walk go until it goes on: a peer may keep it waiting.
  package func rest(_ id: Int64) throws(StoreError) {
    if let walk = verification.walks[id] { try closeExport(walk.snapshot) }
  }

  /// Whether the snapshot of a walk is to be let go before it goes on in another one.
  package func isSpent(walk id: Int64, at now: Instant) -> Bool {
    guard let walk = verification.walks[id], let snapshot = exports[walk.snapshot] else {
      return false
    }
    return snapshot.isSpent(at: now, pace)
  }

  /// Goes on in a snapshot of today if this one was held for too long, or let go: what has happened
  /// since is above the frontier that goes with the sums.
  private func renew(_ walk: AccountWalk, at now: Instant) throws(StoreError) {
    if let snapshot = exports[walk.snapshot] {
      guard snapshot.isSpent(at: now, pace) else { return }
      try closeExport(walk.snapshot)
    }
    walk.snapshot = try openExport(.rows([]), at: now).id
  }

  /// Compares one slice; true if more of it is to be compared, nil if this join is closed.
  package func joinOn(_ id: Int64, at now: Instant) throws(StoreError) -> Bool? {
    guard let join = verification.joins[id] else { return nil }
    if join.compare() { return false }
    if case .rows(let rows) = try walkOn(id, at: now) { join.ours = rows[...] }
    return true
  }
}
