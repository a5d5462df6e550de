import Replication
import SQLite

extension Layout {
  /// Brings the tables of an older format to the present one, in the open transaction.
  static func upgrade(from format: Int64, on connection: Connection) throws(SQLiteError) {
    if format < 2 { try upgradeToTerms(connection) }
    try add(to: connection)
    try nameSettings(on: connection)
    if format < 3 { try upgradeDigest(connection) }
    if format < 4 { try Journal.upgrade(on: connection) }
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
    // Out of the way first: the additions make the new table, and an index on it.
    let hasConflicts = try columns(of: "_flotilla_conflict", on: connection).contains("row")
    if hasConflicts {
      try connection.execute("ALTER TABLE _flotilla_conflict RENAME TO _flotilla_conflict_1")
    }
    try add(to: connection)
    for table in ["_flotilla_version", "_flotilla_lost"] {
      if try columns(of: table, on: connection).contains("extra") { continue }
      for column in ["cstamp INTEGER", "at INTEGER", "extra BLOB", "author INTEGER"] {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(column)")
      }
    }
    guard hasConflicts else { return }
    let rows = try connection.rows(
      """
      SELECT c.id, l.name, c.key, c.at, c.reason
      FROM _flotilla_conflict_1 c JOIN _flotilla_local l ON l.id = c.tbl
      """)
    for row in rows {
      // One at a time: a row may be long.
      let old = try connection.scalar("SELECT row FROM _flotilla_conflict_1 WHERE id = ?", [row[0]])
      let side = old.blob.flatMap { Shelf.decode($0, .constraint) }.map { ConflictSide(nil, $0) }
      try connection.run(
        """
        INSERT INTO _flotilla_conflict(id, name, key, at, reason, loser) VALUES (?, ?, ?, ?, ?, ?)
        """, row + [side.map { .blob($0.bytes) } ?? .null])
    }
    try connection.execute("DROP TABLE _flotilla_conflict_1")
  }

  /// Since format 3 deleted versions do not count in the digest.
  private static func upgradeDigest(_ connection: Connection) throws(SQLiteError) {
    let versions = VersionTable(
      connection: connection, origins: try Origins(connection), terms: try Terms(connection))
    var sum = Digest()
    for local in try connection.rows("SELECT id, name FROM _flotilla_local") {
      guard let id = local[0].integer, let name = local[1].string else { continue }
      try connection.with(
        "SELECT key, \(VersionTable.columns) FROM _flotilla_version WHERE tbl = ?", [.integer(id)]
      ) { (statement) throws(SQLiteError) in
        while try statement.step() {
          guard let version = versions.version(from: statement, at: 1) else { continue }
          sum.replace(
            table: tableSeed(name), key: Key(bytes: statement.bytes(0)), old: nil, new: version)
        }
      }
    }
    let digests = try DigestTable(connection)
    digests.level()
    let missing = zip(sum.buckets, digests.digest.buckets).map { $0 &- $1 }
    try digests.correct(by: missing, here: missing)
    try digests.save()
  }
}
