import Replication
import SQLite

/// How large Flotilla's own tables are.
extension Store {
  /// Looks at every page of the file; with `measures` off, at every row of the own tables.
  package func size(measures: Bool = true) throws(StoreError) -> StoreSize {
    let deleted = try versionCount() - liveRowCount()
    let rows = try applicationRowCount()
    return try reporting { () throws(SQLiteError) in
      let names = try ownTables()
      let measured = try measures ? measuredBytes() : nil
      var parts: [StoreSize.Part] = []
      for name in names {
        let estimated = try measured == nil ? SizeEstimate(connection).bytes(of: name) : 0
        parts.append(
          StoreSize.Part(
            table: String(name.dropFirst(Self.prefix.count)),
            bytes: measured.map { $0[name] ?? 0 } ?? estimated,
            rows: Int(try connection.prepareScalar("SELECT count(*) FROM main.\(quoted(name))"))))
      }
      let page = try connection.prepareScalar("PRAGMA page_size")
      let (lives, earlier) = try countLives()
      return StoreSize(
        parts: parts.sorted { ($1.bytes, $0.table) < ($0.bytes, $1.table) },
        isEstimate: measured == nil,
        fileBytes: Int(page * (try connection.prepareScalar("PRAGMA page_count"))),
        freeBytes: Int(page * (try connection.prepareScalar("PRAGMA freelist_count"))),
        rows: rows, deletedRows: deleted, origins: lives, earlierLives: earlier)
    }
  }

  private static let prefix = "_flotilla_"

  private func ownTables() throws(SQLiteError) -> [String] {
    try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND name LIKE '\\_flotilla\\_%' ESCAPE '\\'
      """
    ).compactMap { $0[0].string }
  }

  /// The pages of each table and its indexes; nil where SQLite was built without `dbstat`.
  private func measuredBytes() throws(SQLiteError) -> [String: Int]? {
    // "only available if SQLite is compiled using" this option (sqlite.org/dbstat.html).
    let has = try connection.prepareScalar(
      "SELECT count(*) FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'")
    guard has > 0 else { return nil }
    let rows = try connection.rows(
      """
      SELECT s.tbl_name, sum(d.pgsize) FROM dbstat('main', 1) AS d
      JOIN main.sqlite_schema AS s ON s.name = d.name GROUP BY 1
      """)
    return Dictionary(
      rows.map { ($0[0].string ?? "", Int($0[1].integer ?? 0)) }, uniquingKeysWith: +)
  }

  private func countLives() throws(SQLiteError) -> (all: Int, earlier: Int) {
    let all = try connection.prepareScalar("SELECT count(*) FROM _flotilla_origin WHERE seq > 0")
    let earlier = try connection.prepareScalar(
      """
      SELECT coalesce(sum(n - 1), 0) FROM (
        SELECT count(*) AS n FROM _flotilla_author AS a JOIN _flotilla_origin AS o
        ON o.origin = a.origin WHERE o.seq > 0 GROUP BY a.node)
      """)
    return (Int(all), Int(earlier))
  }
}

/// What a table takes, by the sizes of its values as SQLite writes them
/// (sqlite.org/fileformat2.html#record_format).
private struct SizeEstimate {
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
