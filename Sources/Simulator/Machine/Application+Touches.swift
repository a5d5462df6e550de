import Replication
import SQLite
import Store

/// Which rows the program has written, also those that it left as they were.
extension Application {
  /// The place of the last touch that waits in the journal.
  func lastTouch() throws -> Int64 {
    try connection.scalar("SELECT max(id) FROM _flotilla_journal").integer ?? 0
  }

  /// The rows that were touched after that.
  func touched(after last: Int64) throws -> Set<RowNumber> {
    let entries = try connection.rows(
      """
      SELECT l.name, j.* FROM _flotilla_journal AS j JOIN _flotilla_local AS l ON l.id = j.tbl
      WHERE j.id > ?
      """, [.integer(last)])
    var rows: Set<RowNumber> = []
    for entry in entries {
      guard let table = tables.first(where: { $0.name == entry[0].string }) else { continue }
      // After the name: its id, its table, its time and its rowid.
      let values = entry[5...].prefix(table.key.count).map(Replication.Value.init)
      guard let key = Key(values, collations: table.collations) else { continue }
      rows.insert(names.number(of: key, in: table.name))
    }
    return rows
  }
}
