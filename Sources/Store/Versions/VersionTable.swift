import Replication
import SQLite

/// The newest version of each row, by table and key.
struct VersionTable {
  let connection: Connection
  let origins: Origins

  func version(table: Int64, key: Key) throws(SQLiteError) -> Version? {
    try connection.with(Self.select, [.integer(table), .blob(key.bytes)]) {
      (statement) throws(SQLiteError) in
      guard try statement.step() else { return nil }
      return version(from: statement, at: 0)
    }
  }

  private static let select = """
    SELECT origin, seq, stamp, hash, corigin, cseq FROM _flotilla_version
    WHERE tbl = ? AND key = ?
    """

  /// Reads a version from six columns: origin, seq, stamp, hash, corigin, cseq.
  func version(from statement: Statement, at first: Int) -> Version? {
    guard let origin = origins.origin(of: statement.integer(first)) else { return nil }
    let dot = Dot(origin, UInt64(statement.integer(first + 1)))
    let created =
      statement.isNull(first + 4)
      ? dot
      : origins.origin(of: statement.integer(first + 4))
        .map { Dot($0, UInt64(statement.integer(first + 5))) } ?? dot
    return Version(
      dot: dot, created: created, stamp: Stamp(rawValue: statement.integer(first + 2)),
      hash: UInt64(bitPattern: statement.integer(first + 3)),
      isDeleted: statement.isNull(first + 3))
  }

  func put(_ version: Version, table: Int64, key: Key) throws(SQLiteError) {
    let isOwnCreation = version.created == version.dot
    let created = isOwnCreation ? 0 : try origins.number(of: version.created.origin)
    try connection.run(
      """
      INSERT OR REPLACE INTO _flotilla_version(
        tbl, key, origin, seq, stamp, hash, corigin, cseq) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(table), .blob(key.bytes), .integer(try origins.number(of: version.dot.origin)),
        .integer(Int64(version.dot.seq)), .integer(version.stamp.rawValue),
        version.isDeleted ? .null : .integer(Int64(bitPattern: version.hash)),
        isOwnCreation ? .null : .integer(created),
        isOwnCreation ? .null : .integer(Int64(version.created.seq)),
      ])
  }

  func remove(table: Int64, key: Key) throws(SQLiteError) {
    try connection.run(
      "DELETE FROM _flotilla_version WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)])
  }
}
