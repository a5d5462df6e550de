extension Connection {
  /// How far a checkpoint goes (sqlite.org/c3ref/wal_checkpoint_v2.html).
  package enum CheckpointMode: String, Sendable {
    /// Copies what it can from the write-ahead log into the file; holds nobody up.
    case passive = "PASSIVE"
    /// Keeps writers out while it copies the rest and waits for readers, no longer than the busy
    /// timeout, and then makes the log empty.
    case truncate = "TRUNCATE"
  }

  /// What a checkpoint has come to.
  package struct Checkpoint: Sendable, Equatable {
    /// Another checkpoint is under way, or somebody who reads or writes did not let go in time.
    package var isBlocked: Bool
    /// Pages in the log, and those of them that are in the file; 0 if that was not seen.
    package var pages: Int
    package var copied: Int

    package init(isBlocked: Bool, pages: Int, copied: Int) {
      self.isBlocked = isBlocked
      self.pages = pages
      self.copied = copied
    }
  }

  /// Runs a checkpoint; no transaction may be open on this connection.
  ///
  /// "The wal_checkpoint pragma returns a single row with three integer columns. The first column
  /// is usually 0 but will be 1 if a RESTART or FULL or TRUNCATE checkpoint was blocked"; the
  /// others are −1 if nothing could be done (sqlite.org/pragma.html#pragma_wal_checkpoint).
  package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> Checkpoint {
    let row = try row("PRAGMA main.wal_checkpoint(\(mode.rawValue))") ?? []
    guard row.count == 3 else { return Checkpoint(isBlocked: true, pages: 0, copied: 0) }
    let (pages, copied) = (row[1].integer ?? -1, row[2].integer ?? -1)
    return Checkpoint(
      isBlocked: row[0].integer != 0, pages: Int(max(0, pages)), copied: Int(max(0, copied)))
  }
}
