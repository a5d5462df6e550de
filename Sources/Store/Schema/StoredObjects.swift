import SQLite

/// What a file says of its tables, indexes, triggers and views, read at once; of Flotilla's own
/// tables only the one that holds the settings.
struct StoredObjects {
  /// The triggers and the view of one table, and what else it depends on whether they are right.
  struct Surroundings: Equatable {
    fileprivate let id: Int64
    /// Name, table, SQL and age.
    fileprivate let triggers: [[Value]]
    fileprivate let view: [Value]?

    var isEmpty: Bool { triggers.isEmpty && view == nil }

    func isIntact(for schema: TableSchema) -> Bool {
      Capture.isIntact(schema, id: id, among: triggers)
        && view?[2].string == RowsView.expected(schema, id: id)
    }
  }

  private struct Object {
    let kind: String
    let name: String
    /// The table that it belongs to, as names are compared.
    let table: String
    let row: [Value]
  }

  private let objects: [Object]
  /// Whether there are no virtual tables, and nothing hides a table of the file. Most are so.
  let isPlain: Bool
  /// Whether the names of all tables are of ASCII letters, which can be spelled in one way alone.
  let isSpelledPlainly: Bool

  init(_ connection: Connection) throws(SQLiteError) {
    let rows = try connection.rows(
      """
      SELECT name, tbl_name, sql, rowid, type, rootpage FROM main.sqlite_schema
      WHERE name NOT GLOB '_flotilla_*' OR type IN ('trigger', 'view')
        OR name IN ('\(Tables.siteWide.joined(separator: "', '"))') ORDER BY rowid
      """)
    objects = rows.map { row in
      Object(
        kind: row[4].string ?? "", name: row[0].string ?? "", table: folded(row[1].string ?? ""),
        row: Array(row[..<4]))
    }
    let hiding = "SELECT 1 FROM temp.sqlite_schema WHERE type IN ('table', 'view') LIMIT 1"
    let isVirtual = { (row: [Value]) in row[4] == .string("table") && row[5] == .integer(0) }
    let isHidden = try connection.row(hiding) != nil
    isPlain = !isHidden && !rows.contains(where: isVirtual)
    isSpelledPlainly = objects.allSatisfy { object in
      object.kind != "table" || object.name.utf8.allSatisfy { $0 < 0x80 }
    }
  }

  /// The names of the tables, by the same in small letters.
  var tables: [String: String] {
    let tables = objects.filter { $0.kind == "table" }
    return Dictionary(tables.map { ($0.table, $0.name) }, uniquingKeysWith: { first, _ in first })
  }

  /// The tables on which the triggers of a local id hang.
  var bearers: [Int64: String] {
    var found: [Int64: String] = [:]
    for object in objects where object.kind == "trigger" {
      guard let id = TriggerText.id(of: object.name), let name = object.row[1].string else {
        continue
      }
      found[id] = name
    }
    return found
  }

  /// The table of that name and its indexes.
  func definition(of name: String) -> [[Value]] {
    let name = folded(name)
    return objects.filter { $0.table == name && ["table", "index"].contains($0.kind) }.map(\.row)
  }

  /// The triggers of that table, and of that local id wherever they hang, and the table's view.
  func surroundings(of name: String, id: Int64) -> Surroundings {
    let (table, view) = (folded(name), folded(RowsView.name(of: name)))
    let prefix = TriggerText.prefix(id)
    let triggers = objects.filter {
      $0.kind == "trigger" && ($0.table == table || $0.name.hasPrefix(prefix))
    }
    return Surroundings(
      id: id, triggers: triggers.map(\.row),
      view: objects.first { $0.kind == "view" && $0.table == view }?.row)
  }
}
