import SQLite

/// What a trigger noted: this row was touched at this time.
package struct JournalEntry: Sendable, Equatable {
  /// The place in the order of writing; starts again at 1 once the journal is empty.
  package let id: Int64
  /// The local id of the table.
  package let table: Int64
  /// The wall clock of the writer, in ms since 1970.
  package let at: Int64
  /// The rowid of the row; nil where the key is all that a table has to find it by.
  package let row: Int64?
  /// The key as stored, padded with NULL to the width of the journal.
  package let key: [Value]

  fileprivate init(_ row: [Value]) {
    id = row[0].integer ?? 0
    table = row[1].integer ?? 0
    at = row[2].integer ?? 0
    self.row = row[Journal.rowColumn].integer
    key = Array(row[Journal.firstKeyColumn...])
  }
}

/// The table into which the triggers write, in the application's own transaction.
///
/// It has no constraint but its rowid: "the OR clause of the statement that fires the trigger is
/// used instead" of one inside it (sqlite.org/lang_createtrigger.html), so a conflict here would be
/// handled as the application wanted its own conflicts handled. Its key columns have no type, so
/// that a value stays what it is.
package enum Journal {
  package static let table = "_flotilla_journal"

  /// Longer keys are refused: SQLite limits the depth of an expression to 1,000.
  package static let maximumWidth = 100

  package static func create(on connection: Connection) throws(SQLiteError) {
    try connection.execute(
      """
      CREATE TABLE main.\(table)(
        id INTEGER PRIMARY KEY,
        tbl INTEGER,
        at INTEGER,
        row INTEGER,
        k0
      )
      """)
  }

  /// Makes the journal of a file in which no rowids were noted anew, with what waits in it.
  static func upgrade(on connection: Connection) throws(SQLiteError) {
    let columns = try Layout.columns(of: table, on: connection)
    guard !columns.isEmpty, !columns.contains("row") else { return }
    let width = columns.count { $0.hasPrefix("k") }
    let names = (["id", "tbl", "at"] + (0..<width).map { "k\($0)" }).joined(separator: ", ")
    try connection.execute(
      """
      CREATE TABLE main.\(table)_before AS SELECT \(names) FROM main.\(table);
      DROP TABLE main.\(table)
      """)
    try create(on: connection)
    try widen(to: width, on: connection)
    try connection.execute(
      """
      INSERT INTO main.\(table)(\(names)) SELECT \(names) FROM main.\(table)_before;
      DROP TABLE main.\(table)_before
      """)
  }

  /// The name that the table of a local id has in this file: that of what bears its triggers, which
  /// go along with `ALTER TABLE … RENAME`. Nil if nothing does.
  package static func bearer(
    of id: Int64, on connection: Connection
  ) throws(SQLiteError) -> String? {
    try connection.scalar(
      "SELECT tbl_name FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB ? LIMIT 1",
      [.string(TriggerText.prefix(id) + "*")]
    ).string
  }

  /// The local id of the table that has a name in this file; nil if it bears no triggers.
  static func id(borneBy name: String, on connection: Connection) throws(SQLiteError) -> Int64? {
    try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND name GLOB '_flotilla_*'
      """, [.string(name)]
    ).compactMap { $0[0].string.flatMap(TriggerText.id) }.min()
  }

  /// Makes room for keys of `width` columns; the journal never becomes narrower.
  package static func widen(to width: Int, on connection: Connection) throws(SQLiteError) {
    let present = try self.width(on: connection)
    guard width > present else { return }
    for index in present..<width {
      try connection.execute("ALTER TABLE \(table) ADD COLUMN k\(index)")
    }
  }

  /// Notes an edit of a setting as a trigger would, for settings have none; `wall` is the clock of
  /// the machine, in ms since 1970, if not that of SQLite.
  static func note(
    _ id: Int64, _ key: [SQLite.Value], at wall: Int64? = nil, on connection: Connection
  ) throws(SQLiteError) {
    try widen(to: key.count, on: connection)
    let columns = key.indices.map { "k\($0)" }.joined(separator: ", ")
    let marks = key.map { _ in "?" }.joined(separator: ", ")
    try connection.run(
      """
      INSERT INTO \(table)(tbl, at, \(columns))
      VALUES (?, \(wall.map { "\($0)" } ?? TriggerText.now), \(marks))
      """, [.integer(id)] + key)
  }

  /// The number of key columns.
  package static func width(on connection: Connection) throws(SQLiteError) -> Int {
    let count = try connection.scalar("SELECT count(*) FROM pragma_table_info('\(table)', 'main')")
    return Int(count.integer ?? 0) - firstKeyColumn
  }

  /// The entries above `id`, in the order of writing.
  package static func read(
    after id: Int64 = 0, limit: Int, on connection: Connection
  ) throws(SQLiteError) -> [JournalEntry] {
    let rows = try connection.rows(
      "SELECT * FROM main.\(table) WHERE id > ? ORDER BY id LIMIT ?",
      [.integer(id), .integer(Int64(limit))])
    return rows.map(JournalEntry.init)
  }

  /// The newest entries of one table, in the order of writing.
  static func readNewest(
    of table: Int64, limit: Int, on connection: Connection
  ) throws(SQLiteError) -> [JournalEntry] {
    try connection.rows(
      "SELECT * FROM main.\(self.table) WHERE tbl = ? ORDER BY id DESC LIMIT ?",
      [.integer(table), .integer(Int64(limit))]
    ).reversed().map(JournalEntry.init)
  }

  fileprivate static let rowColumn = 3
  static let firstKeyColumn = 4

  /// The rowid in the entry on which a statement stands.
  static func row(_ statement: Statement) -> Int64? {
    statement.isNull(rowColumn) ? nil : statement.integer(rowColumn)
  }

  /// Looks at the newest entries from `id` on, the newest first, and ends where `look` says no.
  ///
  /// It is shown the number, the table, the time, and the statement, on which the key begins at
  /// `firstKeyColumn`, after what `row` reads.
  static func readNewest(
    from id: Int64, limit: Int, on connection: Connection,
    _ look: (Int64, Int64, Int64, Statement) -> Bool
  ) throws(SQLiteError) {
    try connection.with(
      "SELECT * FROM main.\(table) WHERE id >= ? ORDER BY id DESC LIMIT ?",
      [.integer(id), .integer(Int64(limit))]
    ) { (statement) throws(SQLiteError) in
      var goesOn = true
      while goesOn, try statement.step() {
        goesOn = look(
          statement.integer(0), statement.integer(1), statement.integer(2), statement)
      }
    }
  }

  /// How many rows the entries above `id` name.
  package static func touchedRows(
    after id: Int64, on connection: Connection
  ) throws(SQLiteError) -> Int {
    let keys = (0..<(try width(on: connection))).map { ", k\($0)" }.joined()
    let count = try connection.scalar(
      "SELECT count(*) FROM (SELECT DISTINCT tbl\(keys) FROM main.\(table) WHERE id > ?)",
      [.integer(id)])
    return Int(count.integer ?? 0)
  }

  /// The number of the newest entry.
  package static func lastEntry(on connection: Connection) throws(SQLiteError) -> Int64? {
    try connection.scalar("SELECT max(id) FROM main.\(table)").integer
  }

  /// The number of the oldest entry.
  static func firstEntry(on connection: Connection) throws(SQLiteError) -> Int64? {
    try connection.scalar("SELECT min(id) FROM main.\(table)").integer
  }

  package static func isEmpty(on connection: Connection) throws(SQLiteError) -> Bool {
    try connection.row("SELECT 1 FROM main.\(table) LIMIT 1") == nil
  }

  /// False if somebody dropped it: then writes of applications fail.
  static func isPresent(on connection: Connection) throws(SQLiteError) -> Bool {
    try Layout.hasTable(table, on: connection)
  }

  package static func count(on connection: Connection) throws(SQLiteError) -> Int {
    Int(try connection.scalar("SELECT count(*) FROM main.\(table)").integer ?? 0)
  }

  /// Whether there are at least `count` entries, without counting them all.
  static func holds(_ count: Int, on connection: Connection) throws(SQLiteError) -> Bool {
    let sql = "SELECT 1 FROM main.\(table) LIMIT 1 OFFSET ?"
    return try connection.row(sql, [.integer(Int64(count - 1))]) != nil
  }

  /// How many entries lie between two. Somebody may have written any numbers into the journal.
  static func distance(from first: Int64, to last: Int64) -> Int {
    let count = last.subtractingReportingOverflow(first)
    return count.overflow ? 0 : Int(max(0, min(count.partialValue, 1 << 40)))
  }

  /// Whether nothing was written before this entry that is still here.
  static func isFirst(_ id: Int64, on connection: Connection) throws(SQLiteError) -> Bool {
    try connection.row("SELECT 1 FROM main.\(table) WHERE id < ? LIMIT 1", [.integer(id)]) == nil
  }

  /// The wall times of all entries above `id`, in the order of writing.
  static func times(
    after id: Int64, on connection: Connection, _ look: (Int64, Int64) -> Void
  ) throws(SQLiteError) {
    try connection.with("SELECT id, at FROM main.\(table) WHERE id > ? ORDER BY id", [.integer(id)])
    { (statement) throws(SQLiteError) in
      while try statement.step() { look(statement.integer(0), statement.integer(1)) }
    }
  }

  /// Entries whose row was touched again later.
  static func superseded(
    limit: Int, on connection: Connection
  ) throws(SQLiteError) -> [Int64] {
    let key = try (0..<width(on: connection)).map { "k\($0)" }.joined(separator: ", ")
    return try connection.rows(
      """
      SELECT id FROM main.\(table) WHERE id NOT IN (
        SELECT max(id) FROM main.\(table) GROUP BY tbl, \(key)) LIMIT ?
      """, [.integer(Int64(limit))]
    ).compactMap { $0[0].integer }
  }

  /// Forgets the entries from `id` on, which must have been folded in this transaction.
  package static func deleteFrom(_ id: Int64, on connection: Connection) throws(SQLiteError) {
    try connection.run("DELETE FROM main.\(table) WHERE id >= ?", [.integer(id)])
  }
}
