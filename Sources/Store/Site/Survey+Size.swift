import Replication
import SQLite

/// How large Flotilla's own tables are.
extension Survey {
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
