import Replication
import SQLite

/// One slice of an audit: versions with their rows, or rows with their versions.
extension Audit {
  /// What looking at a slice gives.
  enum Look {
    case more
    /// The snapshot was held for too long.
    case spent
    case done
  }

  /// Versions that are read in one slice.
  private static let slice = 1_000

  /// Looks at one slice in the snapshot; `versions` are read in it as well, and `rights` say which
  /// tables are looked at.
  func look(
    in snapshot: Export, _ versions: VersionTable, _ rights: Rights, _ pace: Pace, at now: Instant
  ) throws(SQLiteError) -> Look {
    switch phase {
    case .versions(let table, let key):
      // The sums are of one moment; they alone may take longer than a snapshot is kept.
      if snapshot.hasPinnedMost(pace) { return .spent }
      try lookAtVersions(snapshot, versions, rights, table, key)
    case .rows(let table, let key):
      if snapshot.isSpent(at: now, pace) { return .spent }
      try lookAtRows(snapshot, versions, rights, pace, table, key)
    case .done:
      try conclude(snapshot)
      return .done
    }
    return .more
  }

  private func conclude(_ snapshot: Export) throws(SQLiteError) {
    (result.digest, result.digestHere) = (standing.leading, standing.here)
    let wrong = versions.differing(from: held)
    result.wrongSums = Set(wrong + versions.differing(from: stored)).count
    result.parked = Int(
      try snapshot.connection.scalar(
        "SELECT count(*) FROM _flotilla_shelf WHERE why <> 'columns'"
      ).integer ?? 0)
    result.strays.sort { $0.place < $1.place }
  }

  /// Takes the sums, and looks for versions whose rows stand nowhere.
  private func lookAtVersions(
    _ snapshot: Export, _ versions: VersionTable, _ rights: Rights, _ table: Int64, _ after: Key
  ) throws(SQLiteError) {
    let (items, next) = try versions.slice(after: (table, after), limit: Self.slice)
    seen += items.count
    for item in items {
      guard let table = snapshot.tables[item.table] else { continue }
      let (version, key) = (item.version, item.key)
      self.versions.replace(table, key, old: nil, new: version)
      standing.replace(table, key, old: nil, new: version)
      guard !version.isDeleted, let statements = table.statements, isAudited(table, rights) else {
        continue
      }
      let values = (key.values ?? []).map(\.sqlite)
      guard try snapshot.connection.row(statements.existsByKey, values) == nil else { continue }
      try lookForMissing(snapshot, version, table, key)
    }
    phase =
      next.map { .versions(table: $0.table, after: $0.key) } ?? .rows(table: 0, after: nil)
  }

  private func lookForMissing(
    _ snapshot: Export, _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    if snapshot.isWaiting(table, key) { return note(.waiting, table, key) }
    let shelved = try snapshot.shelved(table, key)
    guard shelved?.why.isWhole != true else { return }
    if sound.insert(table.id).inserted,
      let finding = try IndexCheck.damage(of: table.nameHere, on: snapshot.connection)
    {
      damage = damage ?? (table.nameHere, finding)
    }
    standing.replace(table, key, old: version, new: nil)
    note(.removed, table, key)
  }

  /// Looks for rows that are not as their versions say.
  private func lookAtRows(
    _ snapshot: Export, _ versions: VersionTable, _ rights: Rights, _ pace: Pace, _ index: Int,
    _ after: Key?
  ) throws(SQLiteError) {
    let tables = snapshot.tables.values.filter { isAudited($0, rights) }.sorted { $0.id < $1.id }
    guard index < tables.count else { return phase = .done }
    let table = tables[index]
    guard let statements = table.statements else {
      return phase = .rows(table: index + 1, after: nil)
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
          try lookAt(row, snapshot, versions, table, key)
        }
        if rows == pace.comparedRows || bytes > Limits.wholeBytes {
          isDone = false
          break
        }
      }
    }
    seen += rows
    if !table.isSettings { result.rows += rows }
    phase = isDone ? .rows(table: index + 1, after: nil) : .rows(table: index, after: last)
  }

  private func lookAt(
    _ row: StandingRow, _ snapshot: Export, _ versions: VersionTable, _ table: ReplicaTable,
    _ key: Key
  ) throws(SQLiteError) {
    let version = try versions.version(table: table.id, key: key)
    let hash = try snapshot.standingHash(row, version, table, key)
    if !table.isSettings, let statements = table.statements {
      let place = hash64(key.bytes, seed: table.seed)
      result.shown &+= mix(place ^ mix(row.shownHash(statements)))
      if hash != row.content.value, hash == version?.hash { result.apart += 1 }
    }
    if let version, !version.isDeleted, hash == version.hash { return }
    if snapshot.isWaiting(table, key) { return note(.waiting, table, key) }
    if var version, !version.isDeleted {
      let old = version
      version.hash = hash
      standing.replace(table, key, old: old, new: version)
      return note(.changed, table, key)
    }
    let nobody = Dot(Origin(rawValue: 0), 0)
    let stray = Version(dot: nobody, created: nobody, stamp: .zero, hash: hash, isDeleted: false)
    standing.replace(table, key, old: version, new: stray)
    note(.added, table, key)
    guard result.strays.count < AuditResult.most,
      key.bytes.count <= AuditResult.longestKey
    else { return }
    result.strays.append(
      AccountRow(
        table: table.name, key: key, state: .uncaptured, dot: nil, stamp: .zero, hash: hash))
  }

  /// A table that may not be read is none of the site's here.
  private func isAudited(_ table: ReplicaTable, _ rights: Rights) -> Bool {
    table.isTracked && table.isHere
      && (table.isSettings || rights.right(to: table.name) != .none)
  }
}
