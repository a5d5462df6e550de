import SQLite

extension Layout {
  /// Brings the tables of an older format to the present one, in the open transaction.
  static func upgrade(from format: Int64, on connection: Connection) throws(SQLiteError) {
    if format < 2 { try upgradeToTerms(connection) }
    try connection.execute(additions)
    // The author that this replica itself is.
    try connection.execute(
      """
      INSERT OR IGNORE INTO _flotilla_author(origin, node, name, life)
      SELECT o.origin, n.value, c.value, l.value FROM _flotilla_meta AS m
      JOIN _flotilla_origin AS o ON o.id = m.value
      JOIN _flotilla_meta AS n ON n.name = 'node' JOIN _flotilla_meta AS c ON c.name = 'nodeName'
      LEFT JOIN _flotilla_meta AS l ON l.name = 'life' WHERE m.name = 'origin'
      """)
    try Meta(connection: connection).set(.format, .integer(self.format))
  }

  /// Format 2 knows anchors: versions have terms, and conflicts both sides.
  private static func upgradeToTerms(_ connection: Connection) throws(SQLiteError) {
    try connection.execute(additions)
    for table in ["_flotilla_version", "_flotilla_lost"] {
      let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.string(table)])
      if columns.contains(where: { $0[0].string == "extra" }) { continue }
      for column in ["cstamp INTEGER", "at INTEGER", "extra BLOB", "author INTEGER"] {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(column)")
      }
    }
    let columns = try connection.rows("SELECT name FROM pragma_table_info('_flotilla_conflict')")
    guard columns.contains(where: { $0[0].string == "row" }) else { return }
    try connection.execute("ALTER TABLE _flotilla_conflict RENAME TO _flotilla_conflict_1")
    try connection.execute(additions)
    try connection.execute(
      """
      INSERT INTO _flotilla_conflict(id, name, key, at, reason, loser)
      SELECT c.id, l.name, c.key, c.at, c.reason,
        CAST(x'00000000000000000000' || x'00' || c.row AS BLOB)
      FROM _flotilla_conflict_1 c JOIN _flotilla_local l ON l.id = c.tbl;
      DROP TABLE _flotilla_conflict_1;
      """)
  }
}
