import SQLite

/// The statement that writes one row.
struct RowStatement {
  let sql: String
  let values: [SQLValue]
  private let table: String

  private init(_ sql: String, _ values: [SQLValue], _ table: String) {
    self.sql = sql
    self.values = values
    self.table = table
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
      columns.map { values[$0] ?? .null } + Self.values(key), table)
  }

  static func remove(
    _ table: String, key: [String: SQLValue]
  ) throws(FlotillaError) -> RowStatement {
    RowStatement(
      "DELETE FROM main.\(quoted(table)) WHERE \(try condition(key, table))", values(key), table)
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
    // With the table's name before it a column that is not there is an error, not a text.
    return key.keys.sorted().map { "\(quoted(table)).\(quoted($0)) = ?" }
      .joined(separator: " AND ")
  }

  private static func values(_ key: [String: SQLValue]) -> [SQLValue] {
    key.keys.sorted().map { key[$0] ?? .null }
  }
}
