import Replication
import SQLite

/// Telling a peer the rows of some buckets, and comparing them with what it tells.
extension Store {
  /// Opens a walk through the rows of some buckets; gives its number.
  package func openWalk(
    _ buckets: [Int], strays: [AccountRow], at now: Instant
  ) throws(StoreError) -> (id: Int64, fold: FoldResult) {
    let opened = try openExport(.rows([]), at: now)
    let tables = exports[opened.id].map { Array($0.tables.values) } ?? []
    walks[opened.id] = AccountWalk(
      snapshot: opened.id, buckets: Set(buckets), tables: tables, strays: strays)
    return (opened.id, opened.fold)
  }

  package func closeWalk(_ id: Int64) throws(StoreError) {
    joins[id] = nil
    guard let walk = walks.removeValue(forKey: id) else { return }
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
    guard let walk = walks[id] else { throw StoreError(.closed, "the account is closed") }
    guard walk.ready.isEmpty else { return walk.take(room, isFirst: isFirst) }
    guard !walk.isDone else { return .done }
    do {
      try renew(walk, at: now)
      guard let snapshot = exports[walk.snapshot] else { return .done }
      walk.ready = try slice(of: walk, snapshot)[...]
      return walk.ready.isEmpty ? .rows([]) : walk.take(room, isFirst: isFirst)
    } catch {
      throw StoreError.wrapping(error)
    }
  }

  /// Lets the snapshot of a walk go until it goes on: a peer may keep it waiting.
  package func rest(_ id: Int64) throws(StoreError) {
    if let walk = walks[id] { try closeExport(walk.snapshot) }
  }

  /// Whether the snapshot of a walk is to be let go before it goes on in another one.
  package func isSpent(walk id: Int64, at now: Instant) -> Bool {
    guard let walk = walks[id], let snapshot = exports[walk.snapshot] else { return false }
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

  private func slice(
    of walk: AccountWalk, _ snapshot: Export
  ) throws(SQLiteError) -> [AccountRow] {
    let (name, table) = walk.tables[walk.table]
    let columns = VersionTable.columnCount
    var found: [(Key, Version)] = []
    var (count, bytes, last) = (0, 0, walk.after)
    var isFull = false
    try snapshot.connection.with(
      """
      SELECT \(VersionTable.columns), key FROM _flotilla_version
      WHERE tbl = ? AND key > ? ORDER BY key LIMIT \(Self.walked)
      """, [.integer(table.id), .blob(walk.after.bytes)]
    ) { (statement) throws(SQLiteError) in
      while !isFull, try statement.step() {
        count += 1
        last = Key(bytes: statement.bytes(columns))
        guard walk.buckets.contains(Digest.bucket(table: table.seed, key: last)),
          last.bytes.count <= Limits.wantedKey,
          let version = versions.version(from: statement, at: 0)
        else { continue }
        found.append((last, version))
        bytes += last.bytes.count
        isFull = bytes > Limits.wholeBytes
      }
    }
    var rows: [AccountRow] = []
    for (key, version) in found { rows.append(try row(version, table, key, snapshot)) }
    walk.after = last
    guard count < Self.walked, !isFull else {
      return walk.mixed(rows, upTo: AccountRow.Place(table: name, key: last))
    }
    walk.table += 1
    walk.after = Key(bytes: [])
    // Everything up to the next table.
    let next = walk.isDone ? nil : walk.tables[walk.table].name
    return walk.mixed(rows, upTo: next.map { AccountRow.Place(table: $0, key: Key(bytes: [])) })
  }

  /// Versions that are read in one slice.
  private static let walked = 1_000

  /// A row as it stands, whatever its version says.
  private func row(
    _ version: Version, _ table: ReplicaTable, _ key: Key, _ snapshot: Export
  ) throws(SQLiteError) -> AccountRow {
    var row = AccountRow(
      table: table.name, key: key, state: .live, dot: version.dot, stamp: version.stamp,
      hash: version.hash)
    if version.isDeleted { row.state = .deleted }
    guard !version.isDeleted, table.isTracked, let statements = table.statements,
      !isWaiting(snapshot, table, key)
    else { return row }
    let values = (key.values ?? []).map(\.sqlite)
    if let standing = try StandingRow.read(values, statements, on: snapshot.connection) {
      row.hash = try standingHash(standing, version, table, key, snapshot)
      if row.hash != version.hash { row.state = .changed }
      return row
    }
    let shelved = try Shelf(connection: snapshot.connection).entry(table: table.id, key: key)
    guard shelved?.why.isWhole != true else { return row }
    row.state = .missing
    row.hash = 0
    return row
  }

  /// Begins to compare a walk with what a peer tells.
  package func join(_ id: Int64, here: Frontier, there: Frontier) throws(StoreError) {
    guard let walk = walks[id] else { throw StoreError(.closed, "the account is closed") }
    joins[id] = AccountJoin(walk, here: here, there: there)
  }

  /// Takes what the peer has told next.
  package func tell(_ id: Int64, _ rows: [AccountRow], isLast: Bool) {
    guard let join = joins[id] else { return }
    join.theirs = join.theirs + rows
    join.isLast = isLast
  }

  /// Compares one slice; true if more of it is to be compared, nil if this join is closed.
  package func joinOn(_ id: Int64, at now: Instant) throws(StoreError) -> Bool? {
    guard let join = joins[id] else { return nil }
    if join.compare() { return false }
    if case .rows(let rows) = try walkOn(id, at: now) { join.ours = rows[...] }
    return true
  }

  package func comparison(_ id: Int64) -> RowComparison? { joins[id]?.comparison }
}
