import Replication
import SQLite

/// A row that is held but does not stand in its table.
package struct ParkedRow: Sendable {
  package var table: String
  /// The name under which the site knows the table.
  let first: String
  package var key: Key
  /// `table`, `constraint`, `reference`, `parent` or `too-large`.
  package var why: String
  package var values: [(name: String, value: Replication.Value)]
  /// By which column it refers to a row of which table that has lost its number; nil if it does
  /// not.
  package var stray: (column: String, parent: String)?

  /// The name by which people call it: the same at each call, and on each machine.
  package var id: String {
    let hash = hash64(key.bytes, seed: tableSeed(first))
    let digits = String(hash, radix: 16)
    return "p" + (String(repeating: "0", count: 16 - digits.count) + digits).suffix(6)
  }

  /// Notes, beside a node that may run, that somebody gives up a parked row, or writes it anew, and
  /// has seen what it says: the next fold makes an edit of it.
  package func giveUp(
    isDeleted: Bool, at wall: Int64, on connection: Connection
  ) throws(SQLiteError) {
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_dismissed(tbl, key)
      SELECT id, ? FROM _flotilla_local WHERE name = ?
      """, [.blob(key.bytes), .string(first)])
    let values = key.values ?? []
    guard isDeleted, !values.isEmpty else { return }
    let names = values.indices.map { ", k\($0)" }.joined()
    let marks = values.map { _ in ", ?" }.joined()
    try connection.run(
      """
      INSERT INTO \(Journal.table)(tbl, at\(names))
      SELECT id, ?\(marks) FROM _flotilla_local WHERE name = ?
      """, [.integer(wall)] + values.map(\.sqlite) + [.string(first)])
  }
}
