import SQLite

extension SiteFile {
  /// Rows of a mirrored table that refer to a row, and that the site deletes or changes by itself
  /// when that one is deleted. Their key says ON DELETE CASCADE, SET NULL or SET DEFAULT.
  struct Hanging {
    let child: TableLink
    /// Gives their keys by that of the row.
    let sql: String
  }

  /// Whether rows would go or change with a row that the server has deleted, to any depth, though
  /// the server has deleted none of them: it never saw them, or has them still.
  func takesAlong(
    _ row: MirroredRow, but leaving: Set<RowKey>, _ links: [String: TableLink]
  ) throws(SQLiteError) -> Bool {
    var (open, seen) = ([row], Set([row.name]))
    while let parent = open.popLast() {
      for some in try hanging(under: parent.link, links) {
        for key in try connection.rows(some.sql, parent.key) {
          let child = MirroredRow(some.child, key: key, row: nil)
          guard leaving.contains(child.name) || child.name == row.name else { return true }
          if seen.insert(child.name).inserted { open.append(child) }
        }
      }
    }
    return false
  }

  func readHanging(
    under parent: TableLink, _ links: [String: TableLink]
  ) throws(SQLiteError) -> [Hanging] {
    let rows = try connection.rows(
      #"""
      SELECT t.name, f.id, f."from", f."to" FROM main.sqlite_schema AS t,
        pragma_foreign_key_list(t.name, 'main') AS f
      WHERE t.type = 'table' AND f."table" = ? COLLATE NOCASE
        AND f.on_delete NOT IN ('NO ACTION', 'RESTRICT')
      ORDER BY t.name, f.id, f.seq
      """#, [.string(parent.site.name)])
    var columns: [(child: TableLink, id: Value, meets: [String])] = []
    for row in rows {
      guard let child = row[0].string.flatMap({ links[$0.lowercased()] }) else { continue }
      if columns.last?.child.number != child.number || columns.last?.id != row[1] {
        columns.append((child, row[1], []))
      }
      let place = columns[columns.count - 1].meets.count
      // Without names it is the key.
      let key = place < parent.key.count ? parent.columns[parent.key[place]].name : ""
      columns[columns.count - 1].meets.append(
        "p.\(quoted(row[3].string ?? key)) = c.\(quoted(row[2].string ?? ""))")
    }
    return columns.map { child, _, meets in
      let selection = child.key.map { "c.\(quoted(child.columns[$0].name))" }
      let isMeant = parent.key.map { "p.\(quoted(parent.columns[$0].name)) = ?" }
      return Hanging(
        child: child,
        sql: """
          SELECT \(selection.joined(separator: ", ")) FROM main.\(quoted(parent.site.name)) AS p, \
          main.\(quoted(child.site.name)) AS c \
          WHERE \((isMeant + meets).joined(separator: " AND "))
          """)
    }
  }
}
