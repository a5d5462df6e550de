import SQLite

/// The plain view of a tracked table that tells programs about its rows: when each was made and
/// changed, by whom, and whether it is safe elsewhere.
///
/// A view and no columns of the table, for the application's tables stay as they are; and one that
/// does not name the table: "ALTER TABLE … RENAME" and "DROP COLUMN" read every view of the schema
/// and fail with "error in view …" while the table that one names is gone, as it is in the midst of
/// the usual migration (copy, drop, rename).
enum RowsView {
  static let prefix = "_flotilla_rows_"
  static func name(of table: String) -> String { prefix + table }

  /// Makes the view of a table, or makes it anew; false if it was as it should be.
  @discardableResult
  static func renew(
    _ schema: TableSchema, id: Int64, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    if try isIntact(schema, id: id, on: connection) { return false }
    try remove(of: schema.name, on: connection)
    let sql = expected(schema, id: id)
    try connection.execute("CREATE VIEW main." + sql.dropFirst(12))
    return true
  }

  /// True if the view is there as it should be.
  static func isIntact(
    _ schema: TableSchema, id: Int64, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    try stored(of: schema.name, on: connection) == expected(schema, id: id)
  }

  static func isPresent(
    of table: String, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    try stored(of: table, on: connection) != nil
  }

  /// Drops the view of a table of this name, if there is one.
  static func remove(of table: String, on connection: Connection) throws(SQLiteError) {
    try connection.execute("DROP VIEW IF EXISTS main.\(quoted(name(of: table)))")
  }

  private static func stored(
    of table: String, on connection: Connection
  ) throws(SQLiteError) -> String? {
    try connection.scalar(
      "SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name = ? COLLATE NOCASE",
      [.string(name(of: table))]
    ).string
  }

  /// The text as SQLite stores it.
  static func expected(_ schema: TableSchema, id: Int64) -> String {
    RowsViewText(schema: schema, id: id).sql
  }
}
