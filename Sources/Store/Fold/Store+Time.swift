import Replication
import SQLite

/// The time of the site, as far as the file has to do with it.
extension Store {
  /// So many entries may wait in the journal before they are looked through.
  static let longJournal = 10_000
  /// Entries removed in one transaction: a few ms of the write lock.
  private static let removedAtOnce = 2_000

  /// Begins to work in this boot of the machine, and gives what was kept of the site's time.
  package func begin(boot: Identity) throws(StoreError) -> [UInt8]? {
    try reporting { () throws(SQLiteError) in
      try journal.begin(boot: boot, kept: try meta.blob(.timeline))
      return try meta.blob(.clock)
    }
  }

  /// Keeps what is known of time; it need not be on the disk at once, for it only grows old.
  package func save(clock: [UInt8], at now: Instant) throws(StoreError) {
    try journal.settleIfEmpty(at: now)
    try transaction(isDurable: false) {
      try meta.set(.clock, .blob(clock))
      try meta.set(.timeline, .blob(journal.keptTime))
    }
  }

  /// Throws while nothing can be stamped: what was written here would rank wrongly, or be lost.
  func requireTime(at now: Instant) throws(StoreError) {
    guard now.site == nil else { return }
    throw StoreError(.noTime, "\(path) does not know the time of the site yet")
  }

  /// Shortens a journal that waits long to the last touch of each row, in slices; true if there is
  /// more to do.
  ///
  /// What is found is read without the write lock, and stays true: an entry that has a later one
  /// for its row always will.
  package func compactJournal(beyond count: Int = longJournal) throws(StoreError) -> Bool {
    let found = try reporting { () throws(SQLiteError) in
      guard try Journal.holds(count, on: connection) else { return [Int64]() }
      return try Journal.superseded(limit: Self.removedAtOnce, on: connection)
    }
    guard !found.isEmpty else { return false }
    try transaction(isDurable: false) {
      for id in found {
        try connection.run("DELETE FROM main.\(Journal.table) WHERE id = ?", [.integer(id)])
      }
    }
    return found.count == Self.removedAtOnce
  }
}

extension StoreError.Code {
  /// The time of the site is not known yet; nothing was changed.
  package static let noTime = StoreError.Code("no-time")
}
