import SQLite

extension Store {
  /// A number that changes when another connection has changed the file.
  package func dataVersion() throws(StoreError) -> Int64 {
    try reporting { () throws(SQLiteError) in try connection.dataVersion() }
  }

  /// Puts the file back into WAL mode if a program has taken it out; true if it had.
  package func ensureWAL() throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      let mode = try connection.scalar("PRAGMA journal_mode").string
      guard mode != "wal" else { return false }
      let now = try connection.scalar("PRAGMA journal_mode = WAL").string
      guard now == "wal" else {
        throw SQLiteError(code: 26 << 8, message: "write-ahead logging is not possible here")
      }
      return true
    }
  }
}
