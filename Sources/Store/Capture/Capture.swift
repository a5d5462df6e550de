import SQLite

/// The triggers that note which rows of a table an application touches.
package enum Capture {
  package struct Trigger: Sendable, Equatable {
    package let name: String
    /// The text as SQLite stores it.
    package let sql: String
  }

  /// Gives the table with the local id `id` its triggers, new or again, and room in the journal.
  ///
  /// They are always all made anew, so that they are the youngest of their table and thereby run
  /// first: see `isIntact`.
  package static func install(
    _ schema: TableSchema, id: Int64, on connection: Connection
  ) throws(SQLiteError) {
    try Journal.widen(to: schema.key.count, on: connection)
    try remove(id: id, on: connection)
    for trigger in expectedTriggers(schema, id: id) {
      // Without a schema's name the trigger of a table that a TEMP table hides would be TEMP, too.
      try connection.execute("CREATE TRIGGER main." + trigger.sql.dropFirst(15))
    }
  }

  /// Drops the triggers of that local id, whatever table they hang on by now.
  package static func remove(id: Int64, on connection: Connection) throws(SQLiteError) {
    for row in try present(id: id, on: connection) {
      try connection.execute("DROP TRIGGER main.\(quoted(row[0].string ?? ""))")
    }
  }

  /// True if triggers of that local id hang on any table: one that was renamed takes them along.
  static func isPresent(id: Int64, on connection: Connection) throws(SQLiteError) -> Bool {
    try !present(id: id, on: connection).isEmpty
  }

  /// True if they hang on that very table.
  static func isPresent(
    id: Int64, of table: String, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    try present(id: id, on: connection).contains { isSameName($0[1].string ?? "", table) }
  }

  /// True if exactly the expected triggers hang on that very table, and run in time.
  ///
  /// RAISE(IGNORE) abandons "any subsequent trigger programs that would have been executed", and
  /// "database changes are not rolled back" (sqlite.org/lang_createtrigger.html). SQLite runs the
  /// youngest trigger first (trigger.c puts each new one at the head of the table's list). So an
  /// application's trigger that is younger than ours and raises IGNORE would hide changes.
  package static func isIntact(
    _ schema: TableSchema, id: Int64, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    let rows = try connection.rows(
      """
      SELECT name, tbl_name, sql, rowid FROM main.sqlite_schema
      WHERE type = 'trigger' AND (name GLOB ? OR tbl_name = ? COLLATE NOCASE)
      """, [.string("\(TriggerText.prefix(id))*"), .string(schema.name)])
    return isIntact(schema, id: id, among: rows)
  }

  /// The same by name, table, SQL and age of the triggers of that local id and of that table.
  static func isIntact(_ schema: TableSchema, id: Int64, among triggers: [[Value]]) -> Bool {
    let prefix = TriggerText.prefix(id)
    let present = triggers.filter { $0[0].string?.hasPrefix(prefix) == true }
    let expected = expectedTriggers(schema, id: id)
    guard present.count == expected.count else { return false }
    for trigger in expected {
      let isPresent = present.contains { row in
        row[0].string == trigger.name && row[2].string == trigger.sql
          && isSameName(row[1].string ?? "", schema.name)
      }
      guard isPresent else { return false }
    }
    let oldest = present.compactMap { $0[3].integer }.min() ?? 0
    return !triggers.contains { row in
      (row[3].integer ?? 0) > oldest && isSameName(row[1].string ?? "", schema.name)
        && SQLText(row[2].string ?? "").raisesIgnore
    }
  }

  /// The triggers that the table should have.
  package static func expectedTriggers(_ schema: TableSchema, id: Int64) -> [Trigger] {
    TriggerText(schema: schema, id: id).all
  }

  /// Name, table, SQL and age of the triggers of that local id.
  private static func present(
    id: Int64, on connection: Connection
  ) throws(SQLiteError) -> [[Value]] {
    try connection.rows(
      """
      SELECT name, tbl_name, sql, rowid FROM main.sqlite_schema
      WHERE type = 'trigger' AND name GLOB ?
      """, [.string("\(TriggerText.prefix(id))*")])
  }
}
