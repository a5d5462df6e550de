import Replication
import SQLite

/// Comparing a whole table with its versions: when it is tracked, and after a migration that took
/// the triggers along.
extension Store {
  /// Asks for a comparison of a table from its start; `remake` is what a migration did to it.
  func compare(_ table: Int64, remake: Remake? = nil) throws(SQLiteError) {
    verification.sound.remove(table)
    let isKnown =
      try connection.row("SELECT 1 FROM _flotilla_version WHERE tbl = ? LIMIT 1", [.integer(table)])
      != nil
    // Rows that were not looked at since an earlier migration are explained by both.
    var all = try tables.comparison(of: table)?.remake
    if var remake, !remake.isEmpty {
      if let statements = tables.byID[table]?.statements {
        try remake.readFills(statements, on: connection)
      }
      if all == nil { all = remake } else { all?.join(remake) }
    }
    // What is written into an empty table is told by its triggers.
    if let statements = tables.byID[table]?.statements,
      try connection.row(statements.selectAny) == nil
    {
      return try begin(Comparison(table: table, phase: .versions, after: nil))
    }
    try begin(
      Comparison(table: table, phase: isKnown ? .rows : .firstRows, after: nil, remake: all))
  }

  /// Asks for the same of a table from which an application has dropped columns, or in which one is
  /// counted by another name from now on.
  ///
  /// A row that shows what its version says keeps what it does not show any more beside it. Of rows
  /// that are yet to be compared nobody knows whether they do: a program may have written them.
  ///
  /// `renewed` are columns that are others than was thought, and may have had another default;
  /// `added` are new since.
  func compareColumns(
    _ table: Int64, renewed: Set<UInt64> = [], added: Set<UInt64> = []
  ) throws(SQLiteError) {
    let pending = try tables.comparison(of: table)
    var remake = pending?.remake ?? Remake()
    remake.renew(renewed)
    guard pending?.phase == .rows else {
      remake.add(added)
      let isNone = pending?.remake == nil && renewed.isEmpty && added.isEmpty
      return try begin(
        Comparison(table: table, phase: .columns, after: nil, remake: isNone ? nil : remake))
    }
    remake.blur()
    try begin(Comparison(table: table, phase: .rows, after: nil, remake: remake))
  }

  /// Asks for it after a migration that changed the key.
  func rekey(_ table: Int64) throws(SQLiteError) {
    try begin(Comparison(table: table, phase: .rekeyed, after: nil))
  }

  /// Asks for a comparison from its start, and for its indexes to be checked before it begins.
  func suspect(_ table: Int64) throws(SQLiteError) {
    var pending = try tables.comparison(of: table)
    if pending?.isDoubted == true { return }
    if pending?.isOfKey != true, pending?.phase != .columns {
      try compare(table)
      pending = try tables.comparison(of: table)
    }
    guard var comparison = pending else { return }
    verification.sound.remove(table)
    (comparison.after, comparison.isDoubted) = (nil, true)
    try save(comparison)
  }

  /// What is doubted of its table stays so.
  private func begin(_ comparison: Comparison) throws(SQLiteError) {
    var comparison = comparison
    comparison.isDoubted = try tables.comparison(of: comparison.table)?.isDoubted == true
    try save(comparison)
  }

  private func save(_ comparison: Comparison) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_local SET comparing = ? WHERE id = ?",
      [.blob(comparison.encoded), .integer(comparison.table)])
    tables.note(comparison)
  }

  /// Compares one slice; true if more is left.
  func compareSlice(_ edits: inout Edits, at now: Instant) throws -> Bool {
    guard var comparison = try tables.comparing() else { return false }
    guard let table = tables.byID[comparison.table] else { return false }
    if comparison.isDoubted {
      try requireSound(table, at: now)
      comparison.isDoubted = false
    }
    edits.isComparing = true
    defer { edits.isComparing = false }
    let isPhaseDone =
      switch comparison.phase {
      case .columns, .rows, .firstRows, .rekeyed:
        try compareRows(table, &comparison, &edits, at: now)
      case .held: try rekeyHeld(table, &comparison, &edits, at: now)
      case .versions: try compareVersions(table, &comparison, &edits, at: now)
      case .ended: try compareEnded(table, &comparison, &edits, at: now)
      }
    if !isPhaseDone {
      try save(comparison)
    } else if let next = comparison.phase.next {
      let remake = next == .rows ? comparison.remake : nil
      try save(Comparison(table: table.id, phase: next, after: nil, remake: remake))
    } else {
      try connection.run(
        "UPDATE _flotilla_local SET comparing = NULL, baseline = 0 WHERE id = ?",
        [.integer(table.id)])
      tables.endBaseline(of: table.id)
      verification.sound.remove(table.id)
      // In the same commit: what is written from now on is written with the right to.
      if !ownRights.regained.isEmpty {
        try ownRights.remember(regained: ownRights.regained.intersection(tables.uncompared()))
      }
      return try tables.comparing() != nil
    }
    return true
  }

  /// Only who tracks a table again says what was deleted meanwhile; at the others rows that were
  /// there before rank lowest.
  private func compareEnded(
    _ table: ReplicaTable, _ comparison: inout Comparison, _ edits: inout Edits, at now: Instant
  ) throws -> Bool {
    guard let statements = table.statements else { return true }
    let found =
      table.isBaseline
      ? [] : try lost.ended(table, after: comparison.after, limit: pace.comparedRows)
    for (key, old) in found {
      comparison.after = key
      guard try versions.version(table: table.id, key: key) == nil else { continue }
      let values = (key.values ?? []).map(\.sqlite)
      // The key has another shape since: nothing tells which row that was.
      guard values.count == statements.shape.keyCount else { continue }
      guard try hasLost(key, values, table, statements, at: now) else { continue }
      let deleted = try make(
        over: old, hash: 0, isDeleted: true, madeAt: Dating.Moment(now.moment), table, key, &edits)
      try rowVersions.keep(deleted, table, key, old: nil)
      try shelf.remove(table: table.id, key: key)
      edits.add(statements.shape, deleted, .deleted(key: key.values ?? []))
    }
    guard found.count < pace.comparedRows else { return false }
    try lost.forget(table.name, .ended)
    try shelf.removeStray(of: table)
    return true
  }

  private func compareRows(
    _ table: ReplicaTable, _ comparison: inout Comparison, _ edits: inout Edits, at now: Instant
  ) throws -> Bool {
    let (rows, isDone) = try nextRows(of: table, comparison)
    // No push is made of a slice that others follow.
    if !isDone { edits.cancelPush() }
    let changes = connection.changesBesideQueues
    for row in rows {
      guard let key = table.key(row.key), let statements = table.statements else { continue }
      comparison.after = key
      // A row that meets what waited for it may have put others into their tables.
      let isKnown = comparison.phase == .columns || connection.changesBesideQueues == changes
      guard let row = try isKnown ? row : StandingRow.read(key, statements, on: connection)
      else { continue }
      switch comparison.phase {
      case .columns: try keepRest(of: row, table, key, added: comparison.remake?.added ?? [])
      case .rekeyed: try rekey(table, key, row, touchedAt: nil, &edits, at: now)
      case .rows, .firstRows, .held, .versions, .ended:
        try fold(table, key, row, comparison.remake, &edits, at: now)
      }
    }
    return isDone
  }

  /// The rows of the next slice, and whether they are the last ones.
  private func nextRows(
    of table: ReplicaTable, _ comparison: Comparison
  ) throws(SQLiteError) -> (rows: [StandingRow], isDone: Bool) {
    guard let statements = table.statements else { return ([], true) }
    var arguments = comparison.after?.values?.map(\.sqlite) ?? []
    let sql = statements.selectAfter(hasStart: !arguments.isEmpty)
    arguments.append(.integer(Int64(pace.comparedRows)))
    let count = statements.shape.columns.count
    return try connection.with(sql, arguments) { (statement) throws(SQLiteError) in
      var rows: [StandingRow] = []
      var bytes = 0
      while try statement.step() {
        rows.append(StandingRow(statement, statements))
        bytes += statement.size(count)
        if rows.count == pace.comparedRows || bytes > Limits.wholeBytes { return (rows, false) }
      }
      return (rows, true)
    }
  }

  private func fold(
    _ table: ReplicaTable, _ key: Key, _ row: StandingRow, _ remake: Remake?,
    _ edits: inout Edits, at now: Instant
  ) throws {
    let now = Dating.Moment(now.moment)
    guard let remake, let statements = table.statements,
      let old = try versions.version(table: table.id, key: key), !old.isDeleted
    else { return try fold(table, key, row, madeAt: now, &edits) }
    let shelved = try shelf.entry(table: table.id, key: key)
    let beside = try row.beside(shelved, statements, key, on: connection)
    let isElsewhere = try shelved?.why.isWhole == true || putBacks.contains(table, key)
    if try !isElsewhere && isComputed(row, old, table, key, remake, beside) {
      return try keepRest(of: row, table, key, added: [])
    }
    let copy =
      try shelved?.why.isWhole == true
      ? nil : copied(row, from: old, by: remake, statements, beside, at: now)
    let isToName =
      try old.dot.origin == own
      && remake.names(row, old, kinship.parentage(tables).links(of: table.id))
    try fold(
      table, key, row, madeAt: copy?.madeAt ?? now, isImage: copy?.isImage ?? false,
      isRenewed: isToName || remake.renews(row, statements), &edits)
  }

  /// Whether a row is as its version says, if columns that are GENERATED now counted what they
  /// show: then they are as if they were dropped in place.
  private func isComputed(
    _ row: StandingRow, _ old: Version, _ table: ReplicaTable, _ key: Key, _ remake: Remake,
    _ beside: Beside
  ) throws(SQLiteError) -> Bool {
    guard let statements = table.statements, let schema = table.schema else { return false }
    let columns = schema.columns.filter {
      $0.isGenerated && remake.computed.contains(ContentHash.column($0.name))
    }
    guard !columns.isEmpty, row.hash(beside) != old.hash else { return false }
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    let values = try connection.row(statements.select(names), (key.values ?? []).map(\.sqlite))
    var sum = row.content
    for (column, value) in zip(columns, values ?? []) {
      sum.add(column: ContentHash.column(column.name), Replication.Value(value))
    }
    beside.add(to: &sum)
    return sum.value == old.hash
  }

  /// When a row was made that a migration may have made of a version, and whether it is an image of
  /// that; nil if a program has written it.
  ///
  /// What a migration has put into a row is as old as what the row shows, and whoever has seen that
  /// has seen it. Where a column is gone, nothing tells a row that was written since from the
  /// others: it is taken for as old.
  func copied(
    _ row: StandingRow, from old: Version, by remake: Remake, _ statements: RowStatements,
    _ beside: Beside, at now: Dating.Moment
  ) throws(SQLiteError) -> (madeAt: Dating.Moment, isImage: Bool)? {
    let likeness = try remake.likeness(
      of: row, to: old.hash, statements, beside, on: connection)
    guard likeness != .edit else { return nil }
    var moment = Dating.Moment(of: old)
    // A program may have written it: no image of any machine is above that.
    if likeness == .perhaps { moment.at = min(moment.at + 1, now.at) }
    return (moment, likeness == .image)
  }

  /// The same of a row that is in its table again, as that is again after rows went with it.
  func putBack(
    _ row: StandingRow, _ gone: Version, _ hash: UInt64, _ table: ReplicaTable,
    _ statements: RowStatements, _ beside: Beside, at now: Dating.Moment
  ) throws(SQLiteError) -> (madeAt: Dating.Moment, isImage: Bool)? {
    guard repeating == nil else { return nil }
    guard gone.hash != hash else {
      lost.noteReturn(of: table)
      return nil
    }
    guard let remake = lost.remake(of: table),
      let copy = try copied(row, from: gone, by: remake, statements, beside, at: now)
    else { return nil }
    lost.noteReturn(of: table)
    return copy
  }

  /// A row lost columns, not its content: what they count stays beside it, so that its version is
  /// still the same one, and an edit of the other columns does not empty them elsewhere.
  ///
  /// What it shows in a column that is `added` came there by a rename, if no version counts it.
  private func keepRest(
    of row: StandingRow, _ table: ReplicaTable, _ key: Key, added: Set<UInt64>
  ) throws {
    guard let statements = table.statements,
      let version = try versions.version(table: table.id, key: key), !version.isDeleted
    else { return }
    let shelved = try shelf.entry(table: table.id, key: key)
    // What waits to be put back is not as its version says.
    guard try shelved?.why.isWhole != true && !putBacks.contains(table, key) else { return }
    var beside = try row.beside(shelved, statements, key, on: connection)
    beside.settle(statements)
    if !added.isEmpty, row.hash(beside) != version.hash, let values = row.values {
      for (place, column) in statements.columnHashes.enumerated()
      where added.contains(column) && !beside.places.contains(place) {
        guard values[place] != statements.defaults[place] else { continue }
        beside.bring(values[place], place, statements)
      }
    }
    beside.rest = row.rest(beside, to: version.hash)
    let isAsBefore = beside.standIns == shelved?.standIns ?? []
    guard !isAsBefore || beside.rest != statements.rest(in: shelved) else { return }
    try contents.keep(beside, statements, table, key)
  }

  private func compareVersions(
    _ table: ReplicaTable, _ comparison: inout Comparison, _ edits: inout Edits, at now: Instant
  ) throws -> Bool {
    guard let statements = table.statements else { return true }
    // Versions that this very comparison made have their rows; only older ones can lack them.
    let keys = try connection.rows(
      """
      SELECT key FROM _flotilla_version
      WHERE tbl = ? AND key > ? AND hash IS NOT NULL ORDER BY key LIMIT ?
      """,
      [
        .integer(table.id), .blob(comparison.after?.bytes ?? []),
        .integer(Int64(pace.comparedRows)),
      ]
    ).compactMap { $0[0].blob.map(Key.init) }
    for key in keys {
      comparison.after = key
      let values = (key.values ?? []).map(\.sqlite)
      if try hasLost(key, values, table, statements, at: now) {
        try fold(table, key, nil, madeAt: Dating.Moment(now.moment), &edits)
      }
    }
    return keys.count < pace.comparedRows
  }
}
