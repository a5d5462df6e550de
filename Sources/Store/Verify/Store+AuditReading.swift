import Replication
import SQLite

/// One slice of an audit: versions with their rows, or rows with their versions.
extension Store {
  /// Versions that are read in one slice.
  private static let slice = 1_000

  /// Takes the sums, and looks for versions whose rows stand nowhere.
  func auditVersions(
    _ audit: Audit, _ snapshot: Export, _ table: Int64, _ after: Key
  ) throws(SQLiteError) {
    let reader = snapshot.connection
    let walk = VersionTable(
      connection: reader, origins: versions.origins, terms: versions.terms)
    let (items, next) = try walk.slice(after: (table, after), limit: Self.slice)
    audit.seen += items.count
    for item in items {
      guard let table = snapshot.tables[item.table] else { continue }
      let (version, key) = (item.version, item.key)
      if table.isLeading {
        audit.versions.replace(table: table.seed, key: key, old: nil, new: version)
        audit.standing.replace(table: table.seed, key: key, old: nil, new: version)
      }
      guard !version.isDeleted, let statements = table.statements, isAudited(table) else {
        continue
      }
      let values = (key.values ?? []).map(\.sqlite)
      guard try reader.row(statements.existsByKey, values) == nil else { continue }
      try auditMissing(audit, snapshot, version, table, key)
    }
    audit.phase =
      next.map { .versions(table: $0.table, after: $0.key) } ?? .rows(table: 0, after: nil)
  }

  private func auditMissing(
    _ audit: Audit, _ snapshot: Export, _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    if isWaiting(snapshot, table, key) { return audit.note(.waiting, table, key) }
    let shelved = try Shelf(connection: snapshot.connection).entry(table: table.id, key: key)
    guard shelved?.why.isWhole != true else { return }
    if table.isLeading {
      audit.standing.replace(table: table.seed, key: key, old: version, new: nil)
    }
    audit.note(.removed, table, key)
  }

  /// Looks for rows that are not as their versions say.
  func auditRows(
    _ audit: Audit, _ snapshot: Export, _ index: Int, _ after: Key?
  ) throws(SQLiteError) {
    let tables = snapshot.tables.values.filter(isAudited).sorted { $0.id < $1.id }
    guard index < tables.count else { return audit.phase = .done }
    let table = tables[index]
    guard let statements = table.statements else {
      return audit.phase = .rows(table: index + 1, after: nil)
    }
    var arguments = after?.values?.map(\.sqlite) ?? []
    let sql = statements.selectAfter(hasStart: !arguments.isEmpty)
    arguments.append(.integer(Int64(pace.comparedRows)))
    let size = statements.shape.columns.count
    var last = after
    var isDone = true
    var (rows, bytes) = (0, 0)
    try snapshot.connection.with(sql, arguments) { (statement) throws(SQLiteError) in
      while try statement.step() {
        let row = StandingRow(statement, statements)
        rows += 1
        bytes += statement.size(size)
        if let key = table.key(row.key) {
          last = key
          try auditRow(audit, snapshot, row, table, key)
        }
        if rows == pace.comparedRows || bytes > Limits.wholeBytes {
          isDone = false
          break
        }
      }
    }
    audit.seen += rows
    if !table.isSettings { audit.result.rows += rows }
    audit.phase = isDone ? .rows(table: index + 1, after: nil) : .rows(table: index, after: last)
  }

  private func auditRow(
    _ audit: Audit, _ snapshot: Export, _ row: StandingRow, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    let version = try versions(of: snapshot).version(table: table.id, key: key)
    let hash = try standingHash(row, version, table, key, snapshot)
    if !table.isSettings, let statements = table.statements {
      let place = hash64(key.bytes, seed: table.seed)
      audit.result.shown &+= mix(place ^ mix(row.shownHash(statements)))
      if hash != row.content.value, hash == version?.hash { audit.result.apart += 1 }
    }
    if let version, !version.isDeleted, hash == version.hash { return }
    if isWaiting(snapshot, table, key) { return audit.note(.waiting, table, key) }
    if var version, !version.isDeleted {
      let old = version
      version.hash = hash
      if table.isLeading {
        audit.standing.replace(table: table.seed, key: key, old: old, new: version)
      }
      return audit.note(.changed, table, key)
    }
    let nobody = Dot(Origin(rawValue: 0), 0)
    let stray = Version(dot: nobody, created: nobody, stamp: .zero, hash: hash, isDeleted: false)
    if table.isLeading {
      audit.standing.replace(table: table.seed, key: key, old: version, new: stray)
    }
    audit.note(.added, table, key)
    guard table.isLeading, audit.result.strays.count < AuditResult.most,
      key.bytes.count <= AuditResult.longestKey
    else { return }
    audit.result.strays.append(
      AccountRow(
        table: table.name, key: key, state: .uncaptured, dot: nil, stamp: .zero, hash: hash))
  }

  /// The hash of what stands, with what is kept beside the row; that of its version while a newer
  /// one than stands is parked.
  func standingHash(
    _ row: StandingRow, _ version: Version?, _ table: ReplicaTable, _ key: Key, _ snapshot: Export
  ) throws(SQLiteError) -> UInt64 {
    let plain = row.content.value
    // Next to nothing is kept beside rows, so it is looked for only where it can matter.
    guard let version, !version.isDeleted, version.hash != plain, let statements = table.statements
    else { return plain }
    let shelved = try Shelf(connection: snapshot.connection).entry(table: table.id, key: key)
    if shelved?.why.isWhole == true { return version.hash }
    return row.hash(try row.beside(shelved, statements, key, on: snapshot.connection))
  }

  /// A table that may not be read is none of the site's here.
  private func isAudited(_ table: ReplicaTable) -> Bool {
    table.isTracked && table.schema != nil
      && (table.isSettings || rights.right(to: table.name) != .none)
  }

  func isWaiting(_ snapshot: Export, _ table: ReplicaTable, _ key: Key) -> Bool {
    !snapshot.wrong.isEmpty && snapshot.wrong.contains(Export.RowID(table: table.id, key: key))
  }

  func versions(of snapshot: Export) -> VersionTable {
    VersionTable(connection: snapshot.connection, origins: origins, terms: versions.terms)
  }
}
