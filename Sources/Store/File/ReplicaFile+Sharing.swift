import Replication
import SQLite

/// What others do to the file, and how it is shared with them.
extension ReplicaFile {
  /// A number that changes when another connection has changed the file.
  package func dataVersion() throws(StoreError) -> Int64 {
    try reporting { () throws(SQLiteError) in try connection.dataVersion() }
  }

  /// Throws unless something can be written at present; changes nothing.
  package func tryWriting() throws(StoreError) {
    let meta = Meta(connection: connection)
    try transaction {
      guard let path = try meta.text(.path) else { return }
      try meta.set(.path, .string(path))
    }
  }

  /// How long a call waits for another program's lock from now on, in ms.
  package func setPatience(_ milliseconds: Int = ReplicaFile.busyTimeout) {
    connection.setBusyTimeout(milliseconds: milliseconds)
  }

  /// Copies nothing from the write-ahead log into the file any more: somebody else does, beside the
  /// work on this connection.
  package func leaveCheckpoints() throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
    }
  }

  /// Puts the file back into WAL mode if a program has taken it out; true if it had.
  package func ensureWAL() throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      let mode = try connection.scalar("PRAGMA journal_mode").string
      guard mode != "wal" else { return false }
      try Self.switchToWAL(connection)
      return true
    }
  }

  /// Puts a file into WAL mode.
  ///
  /// The statement gives its row before it commits: whoever stops there hears of no failure, and
  /// the file stays as it was.
  static func switchToWAL(_ connection: Connection) throws(SQLiteError) {
    let rows = try connection.rows("PRAGMA journal_mode = WAL")
    guard rows.first?.first?.string == "wal" else {
      throw SQLiteError(code: 26 << 8, message: "write-ahead logging is not possible here")
    }
  }

  /// Whether an older version has made the tables, and nobody has opened the file for writing
  /// since.
  package var isOutdated: Bool {
    get throws(StoreError) {
      try reporting { () throws(SQLiteError) in
        try Meta(connection: connection).integer(.format).map { $0 < Layout.format } ?? false
      }
    }
  }

  /// Where the file was when it was last opened by a node.
  package func lastPath() throws(StoreError) -> String? {
    try reporting { () throws(SQLiteError) in try Meta(connection: connection).text(.path) }
  }

  package func setLastPath(_ path: String) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try Meta(connection: connection).set(.path, .string(path))
    }
  }
}
