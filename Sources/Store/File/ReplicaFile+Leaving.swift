import Replication
import SQLite

/// Taking Flotilla out of a file.
extension ReplicaFile {
  /// Throws unless the file can be written now; changes nothing.
  ///
  /// Programs that commit one after the other may have the lock at every try; that is no one
  /// transaction that stays open, and everybody gets a turn.
  package static func tryWriting(
    path: String, patience milliseconds: Int = busyTimeout
  ) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: path)
      connection.setBusyTimeout(milliseconds: milliseconds)
      let before = try connection.dataVersion()
      do throws(SQLiteError) {
        try connection.execute("BEGIN IMMEDIATE; ROLLBACK")
      } catch {
        guard error.isBusy, try connection.dataVersion() != before else { throw error }
      }
    }
  }

  /// Views and triggers of the application that name tables or views of Flotilla.
  package static func namingFlotilla(path: String) throws(StoreError) -> [String] {
    try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: path, mode: .readOnly)
      return try connection.rows(
        """
        SELECT type || ' ' || name FROM main.sqlite_schema
        WHERE type IN ('view', 'trigger') AND sql LIKE '%\\_flotilla\\_%' ESCAPE '\\'
          AND name NOT LIKE '\\_flotilla\\_%' ESCAPE '\\' ORDER BY rowid
        """
      ).compactMap { $0[0].string }
    }
  }

  /// Takes Flotilla out of a file whose set-up cannot be read any more.
  package static func remove(path: String) throws(StoreError) {
    let connection = try connect(path)
    // Gives back the room of the log, if there is any.
    _ = try? connection.scalar("PRAGMA wal_checkpoint(TRUNCATE)")
    // An older or damaged set-up may not tell; then the file stays in WAL mode, which is safe.
    let mode = try? Meta(connection: connection).text(.journalMode)
    try remove(from: connection, journalMode: mode)
  }

  static func remove(
    from connection: Connection, journalMode: String?
  ) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      connection.clearStatements()
      try connection.transaction { () throws(SQLiteError) in
        let triggers = try connection.rows(
          """
          SELECT name FROM main.sqlite_schema
          WHERE type = 'trigger' AND name LIKE '\\_flotilla\\_%' ESCAPE '\\'
          """)
        for name in triggers.compactMap({ $0[0].string }) {
          try connection.execute("DROP TRIGGER main.\(quoted(name))")
        }
        try Layout.remove(from: connection)
      }
      connection.clearStatements()
      guard let journalMode, journalMode != "wal" else { return }
      // Fails while another program has the file open; then it stays in WAL mode, which is safe.
      _ = try? connection.rows("PRAGMA journal_mode = \(journalMode)")
    }
  }
}
