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
  /// Where it is held, and as which version.
  let place: Place
  /// About how many bytes its values have.
  package let size: Int

  struct Place: Sendable {
    var table: Int64
    var origin: SQLite.Value
    var seq: SQLite.Value
  }

  /// The name by which people call it: the same at each call, and on each machine.
  package var id: String {
    let hash = hash64(key.bytes, seed: tableSeed(first))
    let digits = String(hash, radix: 16)
    return "p" + (String(repeating: "0", count: 16 - digits.count) + digits).suffix(6)
  }

  /// Whether it is held still as it was read: who settles it asks that in the same transaction.
  package func stands(on connection: Connection) throws(SQLiteError) -> Bool {
    try connection.row(
      """
      SELECT 1 FROM _flotilla_shelf AS s LEFT JOIN _flotilla_version AS v USING (tbl, key)
      WHERE s.tbl = ?1 AND s.key = ?2 AND s.why <> 'columns' AND v.origin IS ?3 AND v.seq IS ?4
        AND NOT EXISTS (SELECT 1 FROM _flotilla_dismissed WHERE tbl = ?1 AND key = ?2)
      """, [.integer(place.table), .blob(key.bytes), place.origin, place.seq]) != nil
  }

  /// Notes, beside a node that may run, that somebody gives up a parked row, or writes it anew, and
  /// has seen what it says: the next fold makes an edit of it.
  package func giveUp(
    isDeleted: Bool, at wall: Int64, on connection: Connection
  ) throws(SQLiteError) {
    try connection.run(
      "INSERT OR IGNORE INTO _flotilla_dismissed(tbl, key) VALUES (?, ?)",
      [.integer(place.table), .blob(key.bytes)])
    let values = key.values ?? []
    guard isDeleted, !values.isEmpty else { return }
    let names = values.indices.map { ", k\($0)" }.joined()
    let marks = values.map { _ in ", ?" }.joined()
    try connection.run(
      """
      INSERT INTO \(Journal.table)(tbl, at\(names)) VALUES (?, ?\(marks))
      """, [.integer(place.table), .integer(wall)] + values.map(\.sqlite))
  }
}
