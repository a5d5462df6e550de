import Replication
import SQLite

/// The statement that writes one row.
struct RowStatement {
  let sql: String
  let values: [SQLValue]
  private let table: String
  /// The columns by which the row is found, and their values; nil if it is new.
  private let key: [String: SQLValue]?

  private init(
    _ sql: String, _ values: [SQLValue], _ table: String, foundBy key: [String: SQLValue]? = nil
  ) {
    self.sql = sql
    self.values = values
    self.table = table
    self.key = key
  }

  static func save(_ row: [String: SQLValue], in table: String) -> RowStatement {
    let columns = row.keys.sorted()
    let names = columns.map(quoted).joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    let values = columns.isEmpty ? "DEFAULT VALUES" : "(\(names)) VALUES (\(marks))"
    return RowStatement(
      "INSERT INTO main.\(quoted(table)) \(values)", columns.map { row[$0] ?? .null }, table)
  }

  static func update(
    _ table: String, key: [String: SQLValue], set values: [String: SQLValue]
  ) throws(FlotillaError) -> RowStatement {
    guard !values.isEmpty else {
      throw FlotillaError(.usage, "update of \(table) names no column to set")
    }
    let columns = values.keys.sorted()
    let settings = columns.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
    return RowStatement(
      "UPDATE main.\(quoted(table)) SET \(settings) WHERE \(try condition(key, table))",
      columns.map { values[$0] ?? .null } + Self.values(key), table, foundBy: key)
  }

  static func remove(
    _ table: String, key: [String: SQLValue]
  ) throws(FlotillaError) -> RowStatement {
    RowStatement(
      "DELETE FROM main.\(quoted(table)) WHERE \(try condition(key, table))", values(key), table,
      foundBy: key)
  }

  /// What is wrong if there may be several rows with these columns; nil if there is one at most. It
  /// is asked in the transaction of the statement.
  func objection(on connection: Connection) throws(SQLiteError) -> FlotillaError? {
    guard let key else { return nil }
    let keyColumns = key.keys.sorted()
    let names = Set(keyColumns.map(\.foldedForNames))
    // An INTEGER PRIMARY KEY has no index; an expression in one has no name.
    let columns = try connection.rows(
      """
      SELECT '', name FROM pragma_table_info(?1) WHERE pk > 0
      UNION ALL SELECT i.name, c.name
      FROM pragma_index_list(?1) AS i, pragma_index_info(i.name) AS c
      WHERE i."unique" AND NOT i.partial
      """, [.string(table)])
    let keys = Dictionary(grouping: columns) { $0[0].string ?? "" }
    let isOne = keys.values.contains { columns in
      columns.allSatisfy { $0[1].string.map { names.contains($0.foldedForNames) } ?? false }
    }
    if isOne { return try severalRows(with: key, on: connection) }
    let primary = (keys[""] ?? []).compactMap { $0[1].string }
    return several(
      "\(keyColumns.joined(separator: ", ")) is not the key of a row of \(table)"
        + (primary.isEmpty ? "" : ", which is \(primary.joined(separator: ", "))"))
  }

  /// To an index with a collation of its own `a` and `A` may be two keys where the column, by which
  /// rows are found, takes them for one.
  private func severalRows(
    with key: [String: SQLValue], on connection: Connection
  ) throws(SQLiteError) -> FlotillaError? {
    let found = try connection.rows(
      "SELECT 1 FROM main.\(quoted(table)) WHERE \(Self.comparison(key, table)) LIMIT 2",
      Self.values(key).map(\.stored))
    guard found.count > 1 else { return nil }
    let names = key.keys.sorted().joined(separator: ", ")
    return several("several rows of \(table) have this \(names)")
  }

  private func several(_ what: String) -> FlotillaError {
    FlotillaError(
      .usage, "\(what); nothing was changed",
      remedy: "For several rows at a time: transaction { try $0.run(\"UPDATE …\") }")
  }

  /// What is wrong if it has changed nothing.
  var missing: FlotillaError {
    FlotillaError(
      .table, "no row of \(table) has this key; nothing was changed",
      remedy: "save() adds a row.")
  }

  private static func condition(
    _ key: [String: SQLValue], _ table: String
  ) throws(FlotillaError) -> String {
    guard !key.isEmpty else {
      throw FlotillaError(.usage, "the key of a row of \(table) is empty")
    }
    return comparison(key, table)
  }

  private static func comparison(_ key: [String: SQLValue], _ table: String) -> String {
    // With the table's name before it a column that is not there is an error, not a text.
    key.keys.sorted().map { "\(quoted(table)).\(quoted($0)) = ?" }
      .joined(separator: " AND ")
  }

  private static func values(_ key: [String: SQLValue]) -> [SQLValue] {
    key.keys.sorted().map { key[$0] ?? .null }
  }
}
