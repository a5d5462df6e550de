import Replication
import SQLite

/// Edits that no anchor has judged yet, whoever made them.
extension Verdicts {
  /// Edits that are here, that the anchor has not judged as far as is known, and whose verdict this
  /// node does not await; 0 where nobody judges, or has ever judged. They are of others, or its own
  /// from before there was an anchor, or what it was the anchor of itself and hands on as an edit.
  ///
  /// An edit above the judged frontier that no certificate has replaced, or that waits behind what
  /// outranks it. There are few of them, and their numbers are in an index.
  func unjudgedUnawaited() throws(SQLiteError) -> Int {
    guard office.isHeld, judged.term != .none else { return 0 }
    let own = lives.all
    var count: Int64 = 0
    for (origin, seq) in lives.origins.frontier.beyond(judged.frontier).sorted {
      guard let number = lives.origins.knownNumber(of: origin), seq > 0 else { continue }
      // Of own edits of an earlier life the file has verdicts as far as it goes.
      let told = own.last { $0.origin == origin }?.last ?? 0
      let bounds: [SQLite.Value] = [
        .integer(number), .integer(Int64(clamping: judged.frontier[origin])),
        .integer(Int64(clamping: told)),
      ]
      // A certificate tells when it was made.
      for table in ["_flotilla_version", "_flotilla_pending"] {
        count +=
          try connection.scalar(
            """
            SELECT count(*) FROM \(table) AS v
            WHERE v.origin = ?1 AND v.seq > ?2 AND v.at IS NULL AND (v.seq > ?3 OR NOT EXISTS (
              SELECT 1 FROM _flotilla_verdict AS w WHERE w.seq = v.seq))
            """, bounds
          ).integer ?? 0
      }
    }
    return Int(count)
  }

  /// What an anchor of an earlier term has certified, this node perhaps, and the present one is yet
  /// to judge.
  func unjudgedCertificates(_ pending: PendingTable) throws(SQLiteError) -> Int {
    guard office.isHeld, pending.count > 0 else { return 0 }
    return Int(
      try connection.scalar(
        "SELECT count(*) FROM _flotilla_pending WHERE at IS NOT NULL"
      ).integer ?? 0)
  }
}
