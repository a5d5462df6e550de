import SQLite

/// What a table takes, by the sizes of its values as SQLite writes them
/// (sqlite.org/fileformat2.html#record_format).
struct SizeEstimate {
  let connection: Connection
  /// Pages that were filled in no order are two thirds full, others wholly.
  private static let filling = 1.25
  private static let page = 4_096

  init(_ connection: Connection) { self.connection = connection }

  func bytes(of table: String) throws(SQLiteError) -> Int {
    var columns = [
      try connection.rows("SELECT name FROM pragma_table_info(?)", [.string(table)])
        .compactMap { $0[0].string }
    ]
    let indexes = try connection.rows(
      """
      SELECT i.name FROM pragma_index_list(?1) AS i JOIN main.sqlite_schema AS s ON s.name = i.name
      WHERE i.partial = 0
      """, [.string(table)])
    for index in indexes {
      columns.append(
        try connection.rows("SELECT name FROM pragma_index_info(?)", [index[0]])
          .compactMap { $0[0].string })
    }
    var bytes = 0
    for part in columns {
      // Place and length of the record, and length of its head; the number of its row.
      let sum = part.map(Self.size).joined(separator: " + ")
      let payload = try connection.prepareScalar(
        "SELECT coalesce(sum(7 + \(sum)), 0) FROM main.\(quoted(table))")
      let pages = (Double(payload) * Self.filling / Double(Self.page)).rounded(.up)
      bytes += max(1, Int(pages)) * Self.page
    }
    return bytes
  }

  private static func size(_ column: String) -> String {
    let name = quoted(column)
    return """
      CASE typeof(\(name)) WHEN 'null' THEN 1 WHEN 'real' THEN 9
      WHEN 'integer' THEN CASE WHEN \(name) BETWEEN -128 AND 127 THEN 2
        WHEN \(name) BETWEEN -32768 AND 32767 THEN 3
        WHEN \(name) BETWEEN -8388608 AND 8388607 THEN 4
        WHEN \(name) BETWEEN -2147483648 AND 2147483647 THEN 5
        WHEN \(name) BETWEEN -140737488355328 AND 140737488355327 THEN 7 ELSE 9 END
      ELSE 1 + length(CAST(\(name) AS BLOB)) END
      """
  }
}
