import Replication
import SQLite

/// Rows that were folded before the row to which they refer: a journal is folded from its end, and
/// rows may refer to each other. What they refer to is noted once that one has its version; until
/// the journal is empty nobody else has seen them.
final class UnnotedRows {
  private let connection: Connection
  private(set) var count = 0

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    try reload()
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_unnoted", on: connection) else { return count = 0 }
    count = Int(try connection.scalar("SELECT count(*) FROM _flotilla_unnoted").integer ?? 0)
  }

  func put(
    parent: Int64, _ parentKey: Key, child: Int64, _ childKey: Key
  ) throws(SQLiteError) {
    count += try connection.run(
      "INSERT OR IGNORE INTO _flotilla_unnoted(ptbl, pkey, tbl, key) VALUES (?, ?, ?, ?)",
      [.integer(parent), .blob(parentKey.bytes), .integer(child), .blob(childKey.bytes)])
  }

  /// Those that wait for a row, which has its version now.
  func take(parent: Int64, _ key: Key) throws(SQLiteError) -> [(table: Int64, key: Key)] {
    guard count > 0 else { return [] }
    let rows = try connection.rows(
      "SELECT tbl, key FROM _flotilla_unnoted WHERE ptbl = ? AND pkey = ?",
      [.integer(parent), .blob(key.bytes)])
    guard !rows.isEmpty else { return [] }
    count -= try connection.run(
      "DELETE FROM _flotilla_unnoted WHERE ptbl = ? AND pkey = ?",
      [.integer(parent), .blob(key.bytes)])
    return rows.map { ($0[0].integer ?? 0, Key(bytes: $0[1].blob ?? [])) }
  }

  /// The journal is empty: what they refer to will not come any more.
  func clear() throws(SQLiteError) {
    guard count > 0 else { return }
    try connection.run("DELETE FROM _flotilla_unnoted")
    count = 0
  }
}
