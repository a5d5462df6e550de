import SQLite

/// What a person sees in a file, read with plain SQL: the schema and every row, without Flotilla.
struct Content: Equatable {
  /// Table → its rows as text, sorted.
  var rows: [String: [String]] = [:]
  /// Table → its columns, sorted.
  var columns: [String: [String]] = [:]
  /// The statements that made the schema, without capture.
  var schema: [String] = []

  init(path: String) throws {
    let connection = try Connection(path: path, mode: .readOnly)
    connection.setBusyTimeout(milliseconds: 5_000)
    let objects = try connection.rows(
      """
      SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL
      AND name NOT LIKE '\\_flotilla\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      ORDER BY type, name
      """)
    for object in objects {
      schema.append(object[2].string ?? "")
      guard object[0].string == "table", let name = object[1].string else { continue }
      let names = try connection.rows(
        "SELECT name FROM pragma_table_info(?) ORDER BY name", [.string(name)])
      columns[name] = names.compactMap { $0[0].string }
      rows[name] = try Self.rows(of: name, columns[name] ?? [], on: connection)
    }
  }

  private static func rows(
    of table: String, _ columns: [String], on connection: Connection
  ) throws -> [String] {
    let terms = columns.map { "'\($0)=' || quote(\"\($0)\")" }.joined(separator: " || ' ' || ")
    return try connection.rows("SELECT \(terms) FROM \"\(table)\"").compactMap { $0[0].string }
      .sorted()
  }

  /// The first difference, for a person; nil if there is none.
  func difference(from other: Content) -> String? {
    if schema != other.schema { return "the schemas differ" }
    for table in rows.keys.sorted() {
      let (mine, theirs) = (Set(rows[table] ?? []), Set(other.rows[table] ?? []))
      guard mine != theirs else { continue }
      let only = mine.subtracting(theirs).sorted().prefix(2)
      let lacks = theirs.subtracting(mine).sorted().prefix(2)
      return "\(table): has \(Array(only)), lacks \(Array(lacks))"
    }
    return rows.keys.sorted() == other.rows.keys.sorted() ? nil : "the tables differ"
  }

  /// Whether each row is one of `before` or `after`.
  func isBetween(_ before: Content, _ after: Content) -> Bool {
    rows.allSatisfy { table, rows in
      Set(rows).isSubset(of: Set(before.rows[table] ?? []).union(after.rows[table] ?? []))
    }
  }
}
