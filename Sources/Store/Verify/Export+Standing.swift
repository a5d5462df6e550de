import Replication
import SQLite

/// What stands in a snapshot, whatever the versions say.
extension Export {
  /// The hash of what stands, with what is kept beside the row; that of its version while a newer
  /// one than stands is parked.
  func standingHash(
    _ row: StandingRow, _ version: Version?, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> UInt64 {
    let plain = row.content.value
    // Next to nothing is kept beside rows, so it is looked for only where it can matter.
    guard let version, !version.isDeleted, version.hash != plain, let statements = table.statements
    else { return plain }
    let shelved = try shelved(table, key)
    if shelved?.why.isWhole == true { return version.hash }
    return row.hash(try row.beside(shelved, statements, key, on: connection))
  }

  /// What is held beside a table, or instead of a row in it.
  func shelved(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Shelf.Entry? {
    try Shelf(connection: connection).entry(table: table.id, key: key)
  }

  /// Whether a row was edited without the right to, and waits to be put back.
  func isWaiting(_ table: ReplicaTable, _ key: Key) -> Bool {
    !wrong.isEmpty && wrong.contains(RowID(table: table.id, key: key))
  }
}
