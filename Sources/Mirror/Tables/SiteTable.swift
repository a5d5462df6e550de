import SQLite

/// A table of the replica as its file has it now.
struct SiteTable: Sendable, Equatable {
  struct Column: Sendable, Equatable {
    var name: String
    /// As it was declared.
    var type: String
    var affinity: Affinity
    var collation: String
    var isRequired: Bool
    /// Whether SQLite computes it: it is nobody's to write.
    var isGenerated: Bool
  }

  var name: String
  var columns: [Column]
  /// The places of the key's columns, in the order of the key.
  var key: [Int]
  /// Whether its constraints may say themselves what becomes of a row that breaks them.
  var resolvesConflicts = false

  /// Nothing is left out or replaced without a word, whatever the table says of conflicts. It holds
  /// for statements of triggers, too, so it stands where the table says something alone.
  var resolution: String { resolvesConflicts ? "OR ABORT " : "" }

  /// Nil if there is no such table, or the site does not replicate it.
  static func read(_ name: String, on connection: Connection) throws(SQLiteError) -> SiteTable? {
    let found = try connection.row(
      """
      SELECT t.name, t.sql LIKE '%conflict%' FROM main.sqlite_schema AS t
      WHERE t.type = 'table' AND t.name = ?1 COLLATE NOCASE AND t.name NOT GLOB '_flotilla_*'
      AND EXISTS (SELECT 1 FROM main.sqlite_schema AS v
        WHERE v.type = 'view' AND v.name = '_flotilla_rows_' || ?1 COLLATE NOCASE)
      """, [.string(name)])
    guard let found, let name = found[0].string else { return nil }
    let isStrict =
      try connection.scalar(
        "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'", [.string(name)]
      ).integer == 1
    let rows = try connection.rows(
      """
      SELECT name, type, pk, hidden, "notnull" FROM pragma_table_xinfo(?, 'main') ORDER BY cid
      """, [.string(name)])
    var columns: [Column] = []
    for row in rows {
      let (column, type) = (row[0].string ?? "", row[1].string ?? "")
      columns.append(
        Column(
          name: column, type: type, affinity: Affinity(declared: type, isStrict: isStrict),
          collation: try connection.collation(of: column, in: name),
          isRequired: row[4].integer == 1, isGenerated: (row[3].integer ?? 0) > 1))
    }
    let key = rows.indices.filter { (rows[$0][2].integer ?? 0) > 0 }
      .sorted { (rows[$0][2].integer ?? 0) < (rows[$1][2].integer ?? 0) }
    return SiteTable(
      name: name, columns: columns, key: key, resolvesConflicts: found[1].integer == 1)
  }

  /// The tables that the site replicates here, in the order of their names.
  static func all(on connection: Connection) throws(SQLiteError) -> [SiteTable] {
    let names = try connection.rows(
      """
      SELECT t.name FROM main.sqlite_schema AS t JOIN main.sqlite_schema AS v
        ON v.type = 'view' AND v.name = '_flotilla_rows_' || t.name COLLATE NOCASE
      WHERE t.type = 'table' AND t.name NOT GLOB '_flotilla_*' ORDER BY t.name
      """)
    var tables: [SiteTable] = []
    for name in names.compactMap({ $0[0].string }) {
      if let table = try read(name, on: connection) { tables.append(table) }
    }
    return tables
  }
}
