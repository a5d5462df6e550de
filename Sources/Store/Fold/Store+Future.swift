import Replication
import SQLite

/// Versions with stamps from the future: they came from a node whose clock was wrong, and that did
/// not know the time of the site.
extension Store {
  private static let repairedAtOnce = 500

  private func limit(at now: Instant) -> Stamp {
    Stamp(millisecondsSince1970: now.moment + SiteClock.future)
  }

  /// How many rows have such a version. While the time is not known, nothing can be told.
  package func futureCount(at now: Instant) throws(StoreError) -> Int {
    guard now.site != nil, versionFigures.mayExceed(limit(at: now)) else { return 0 }
    return try reporting { () throws(SQLiteError) in
      Int(
        try connection.scalar(
          "SELECT count(*) FROM _flotilla_version WHERE stamp > ?",
          [.integer(limit(at: now).rawValue)]
        ).integer ?? 0)
    }
  }

  /// What the anchor certifies has a stamp that later edits can be newer than.
  func sane(_ version: Version, at now: Instant) -> Version {
    guard version.stamp > limit(at: now) else { return version }
    var version = version
    version.stamp = now.stamp
    version.createdAt = min(version.createdAt, now.stamp)
    return version
  }

  /// Writes a slice of such rows again, with the time of now; gives how many.
  ///
  /// A new edit with a stamp just above the one from the future would be from the future itself,
  /// and one below would lose. So where there is no anchor the epoch of the row counts up: that
  /// ranks above every stamp of the epoch before, and in the new one stamps are right.
  package func repairFuture(at now: Instant) throws(StoreError) -> (Int, FoldResult) {
    var count = 0
    let result = try afterFolding(at: now) { edits in
      let before = edits.count
      let rows = try connection.rows(
        "SELECT tbl, key FROM _flotilla_version WHERE stamp > ? LIMIT ?",
        [.integer(limit(at: now).rawValue), .integer(Int64(Self.repairedAtOnce))])
      for row in rows {
        guard let id = row[0].integer, let table = tables.byID[id], let bytes = row[1].blob
        else { continue }
        let key = Key(bytes: bytes)
        guard let old = try versions.version(table: id, key: key) else { continue }
        try rowVersions.keep(repaired(old, &edits, at: now), table, key, old: old)
        edits.addLong()
      }
      count = edits.count - before
    }
    return (count, result)
  }

  private func repaired(_ old: Version, _ edits: inout Edits, at now: Instant) -> Version {
    let dot = Dot(own, edits.next())
    guard !office.certifies else {
      return sane(old, at: now).certified(
        dot, term: office.term, epoch: nextEpoch(over: old), at: now.stamp)
    }
    var version = Version.edit(
      dot, over: old, stamp: now.stamp, hash: old.hash, isDeleted: old.isDeleted)
    version.created = old.created
    version.createdAt = min(old.createdAt, now.stamp)
    version.epoch = Epoch.next(after: version.epoch, over: [])
    version.isDangling = old.isDangling
    return version
  }
}
