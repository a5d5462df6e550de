import Replication
import SQLite

/// What this anchor has accepted in its term, and over which it then accepted an edit that had not
/// seen it.
///
/// Nothing else tells: in the context of what stands it is not, and no ruling names it. The
/// certificate of an earlier anchor on it may come late, and is no second edit.
struct OverruledTable {
  let origins: Origins
  /// So many are kept; the oldest go first.
  let limit: Int

  private var connection: Connection { origins.connection }

  /// With what was overruled, what it had seen is history, too; but for what the other had seen.
  func put(
    _ version: Version, by edit: Version, table: Int64, _ key: Key
  ) throws(SQLiteError) {
    for dot in version.context.dots + [version.edit] where !edit.hasSeen(dot) {
      guard try !contains(dot, table: table, key) else { continue }
      try connection.run(
        "INSERT OR REPLACE INTO _flotilla_overruled(tbl, key, origin, seq) VALUES (?, ?, ?, ?)",
        [
          .integer(table), .blob(key.bytes), .integer(try origins.number(of: dot.origin)),
          .integer(Int64(dot.seq)),
        ])
    }
    try connection.run(
      """
      DELETE FROM _flotilla_overruled
      WHERE id <= (SELECT max(id) FROM _flotilla_overruled) - ?
      """, [.integer(Int64(limit))])
  }

  func contains(_ edit: Dot, table: Int64, _ key: Key) throws(SQLiteError) -> Bool {
    guard let number = origins.knownNumber(of: edit.origin) else { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_overruled WHERE tbl = ? AND key = ? AND origin = ? AND seq >= ?",
      [.integer(table), .blob(key.bytes), .integer(number), .integer(Int64(edit.seq))]) != nil
  }

  /// Of an earlier term they tell nothing any more.
  func clear() throws(SQLiteError) {
    try connection.execute("DELETE FROM _flotilla_overruled")
  }
}
