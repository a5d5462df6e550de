import Replication
import SQLite

/// Comparing a whole table with its versions: when it is tracked, and after a migration that took
/// the triggers along.
extension Store {
  /// How far the comparison of a table has come; kept on disk, so that a kill resumes it.
  struct Comparison {
    enum Phase: UInt8 {
      /// Rows of the table: new ones and changed ones become versions.
      case rows = 0
      /// Versions without a row: they become deletes.
      case versions = 1
      /// Rows of a table that had no version at all: nothing can have been deleted.
      case firstRows = 2
      /// Rows from before an end of tracking that have gone since: they become deletes, so that
      /// they go where nobody has heard of that end, too.
      case ended = 3
      /// Rows that lack columns which they had: what these count is kept beside the row.
      case columns = 4
      /// Rows of a table whose key a migration has changed.
      case rekeyed = 5
      /// What others have sent of such a table before it had that key here.
      case held = 6

      var next: Phase? {
        switch self {
        case .columns: .rows
        case .rekeyed: .held
        case .rows: .versions
        case .versions, .firstRows, .held: .ended
        case .ended: nil
        }
      }
    }

    var table: Int64
    var phase: Phase
    var after: Key?
    /// Columns that have another default than before, by the hashes of their names. A default
    /// counts for nothing, so of a row that has the new one the hash does not tell whether it had
    /// the old one: it counts as changed.
    var renewed: Set<UInt64> = []

    /// Whether it goes through a table whose key was changed.
    var isOfKey: Bool { phase == .rekeyed || phase == .held }

    /// Says that renewed columns follow the phase.
    private static let isRenewed: UInt8 = 0x80

    var encoded: [UInt8] {
      var writer = ByteWriter()
      writer.byte(phase.rawValue | (renewed.isEmpty ? 0 : Self.isRenewed))
      if !renewed.isEmpty { writer.uint(UInt64(renewed.count)) }
      for column in renewed.sorted() { writer.word(column) }
      return writer.bytes + (after?.bytes ?? [])
    }

    init(table: Int64, phase: Phase, after: Key?, renewed: Set<UInt64> = []) {
      (self.table, self.phase, self.after, self.renewed) = (table, phase, after, renewed)
    }

    init?(table: Int64, _ bytes: [UInt8]) {
      var reader = ByteReader(bytes)
      guard let first = try? reader.byte("comparison"),
        let phase = Phase(rawValue: first & ~Self.isRenewed)
      else { return nil }
      var renewed: Set<UInt64> = []
      if first & Self.isRenewed != 0 {
        guard let count = try? reader.number("comparison") else { return nil }
        for _ in 0..<count {
          guard let column = try? reader.word("comparison") else { return nil }
          renewed.insert(column)
        }
      }
      let key = reader.rest()
      self.init(
        table: table, phase: phase, after: key.isEmpty ? nil : Key(bytes: key), renewed: renewed)
    }

    /// Whether a row has the default of a column that had another one.
    func isRenewed(_ row: StandingRow, _ statements: RowStatements) -> Bool {
      guard !renewed.isEmpty else { return false }
      return statements.columnHashes.enumerated().contains { column, hash in
        renewed.contains(hash)
          && row.values.map { $0[column] == statements.defaults[column] } ?? true
      }
    }
  }

  /// The comparison that is due next, or nil.
  func comparing() throws(SQLiteError) -> Comparison? {
    let rows = try connection.rows(
      "SELECT id, comparing FROM _flotilla_local WHERE comparing IS NOT NULL ORDER BY id")
    for row in rows {
      guard let id = row[0].integer, let bytes = row[1].blob, tables.byID[id]?.schema != nil
      else { continue }
      return Comparison(table: id, bytes)
    }
    return nil
  }

  /// Asks for a comparison of a table from its start.
  func compare(_ table: Int64) throws(SQLiteError) {
    let isKnown =
      try connection.row("SELECT 1 FROM _flotilla_version WHERE tbl = ? LIMIT 1", [.integer(table)])
      != nil
    try begin(isKnown ? .rows : .firstRows, table)
  }

  /// From the start; defaults that were renewed stay so until a comparison has come to its end.
  private func begin(_ phase: Comparison.Phase, _ table: Int64) throws(SQLiteError) {
    let renewed = try comparing(table)?.renewed ?? []
    try save(Comparison(table: table, phase: phase, after: nil, renewed: renewed))
  }

  /// Asks for a comparison of a table of which these columns have another default than before.
  func compare(_ table: Int64, renewed columns: Set<UInt64>) throws(SQLiteError) {
    try compare(table)
    guard var comparison = try comparing(table) else { return }
    comparison.renewed.formUnion(columns)
    try save(comparison)
  }

  private func comparing(_ table: Int64) throws(SQLiteError) -> Comparison? {
    try connection.scalar(
      "SELECT comparing FROM _flotilla_local WHERE id = ?", [.integer(table)]
    ).blob.flatMap { Comparison(table: table, $0) }
  }

  /// Asks for the same of a table from which an application has dropped columns.
  func compareColumns(_ table: Int64) throws(SQLiteError) {
    try begin(.columns, table)
  }

  /// Asks for it after a migration that changed the key.
  func rekey(_ table: Int64) throws(SQLiteError) {
    try begin(.rekeyed, table)
  }

  private func save(_ comparison: Comparison) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_local SET comparing = ? WHERE id = ?",
      [.blob(comparison.encoded), .integer(comparison.table)])
    tables.note(comparison)
  }

  /// Compares one slice; true if more is left.
  func compareSlice(_ edits: inout Edits, at now: Instant) throws -> Bool {
    guard var comparison = try comparing() else { return false }
    guard let table = tables.byID[comparison.table] else { return false }
    edits.isComparing = true
    defer { edits.isComparing = false }
    let isPhaseDone =
      switch comparison.phase {
      case .columns:
        try compareRows(table, &comparison) { key, row in
          try keepRest(of: row, table, key)
        }
      case .rows, .firstRows:
        try compareRows(table, &comparison) { [comparison] key, row in
          let isRenewed = table.statements.map { comparison.isRenewed(row, $0) } ?? false
          try fold(
            table, key, row, madeAt: Dating.Moment(now.moment), isRenewed: isRenewed, &edits)
        }
      case .rekeyed:
        try compareRows(table, &comparison) { key, row in
          try rekey(table, key, row, touchedAt: nil, &edits, at: now)
        }
      case .held: try rekeyHeld(table, &comparison, &edits, at: now)
      case .versions: try compareVersions(table, &comparison, &edits, at: now)
      case .ended: try compareEnded(table, &comparison, &edits, at: now)
      }
    if !isPhaseDone {
      try save(comparison)
    } else if let next = comparison.phase.next {
      try save(
        Comparison(table: table.id, phase: next, after: nil, renewed: comparison.renewed))
    } else {
      try connection.run(
        "UPDATE _flotilla_local SET comparing = NULL, baseline = 0 WHERE id = ?",
        [.integer(table.id)])
      tables.endBaseline(of: table.id)
      let hasMore = try comparing() != nil
      // In the same commit: what is written from now on is written with the right to.
      if !hasMore, !regained.isEmpty { try remember(regained: []) }
      return hasMore
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
      guard try connection.row(statements.existsByKey, values) == nil else { continue }
      let deleted = try make(
        over: old, hash: 0, isDeleted: true, madeAt: Dating.Moment(now.moment), table, key, &edits)
      try keep(deleted, table, key, old: nil)
      edits.add(statements.shape, deleted, .deleted(key: key.values ?? []))
    }
    guard found.count < pace.comparedRows else { return false }
    try lost.forget(table.name, .ended)
    return true
  }

  private func compareRows(
    _ table: ReplicaTable, _ comparison: inout Comparison,
    _ look: (Key, StandingRow) throws -> Void
  ) throws -> Bool {
    guard let statements = table.statements else { return true }
    var arguments = comparison.after?.values?.map(\.sqlite) ?? []
    let sql = statements.selectAfter(hasStart: !arguments.isEmpty)
    arguments.append(.integer(Int64(pace.comparedRows)))
    let count = statements.shape.columns.count
    var isDone = true
    let rows = try connection.with(sql, arguments) { (statement) throws(SQLiteError) in
      var rows: [StandingRow] = []
      var bytes = 0
      while try statement.step() {
        rows.append(StandingRow(statement, statements))
        bytes += statement.size(count)
        if rows.count == pace.comparedRows || bytes > Limits.wholeBytes {
          isDone = false
          break
        }
      }
      return rows
    }
    for row in rows {
      guard let key = table.key(row.key) else { continue }
      try look(key, row)
      comparison.after = key
    }
    return isDone
  }

  /// A row lost columns, not its content: what they count stays beside it, so that its version is
  /// still the same one, and an edit of the other columns does not empty them elsewhere.
  private func keepRest(of row: StandingRow, _ table: ReplicaTable, _ key: Key) throws {
    guard let statements = table.statements,
      let version = try versions.version(table: table.id, key: key), !version.isDeleted
    else { return }
    let shelved = try shelf.entry(table: table.id, key: key)
    guard shelved?.why.isWhole != true else { return }
    let extras = statements.unknown(in: shelved)
    let rest = row.rest(extras: extras, to: version.hash)
    guard rest != statements.rest(in: shelved) else { return }
    if rest == 0, extras.isEmpty { return try shelf.remove(table: table.id, key: key) }
    let keyCount = statements.shape.keyCount
    try shelf.put(
      Shelf.Entry(why: .columns, values: extras, keyCount: keyCount, rest: rest),
      table: table.id, key: key)
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
      let exists = try connection.row(statements.existsByKey, values) != nil
      if !exists {
        try fold(table, key, nil, madeAt: Dating.Moment(now.moment), &edits)
      }
    }
    return keys.count < pace.comparedRows
  }
}
