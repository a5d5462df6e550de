import Replication
import SQLite

/// What became of one edit of this replica.
package struct EditVerdict: Sendable, Equatable {
  package enum Outcome: String, Sendable {
    case accepted
    case rejected
    /// Its author wrote the row again before it was judged.
    case superseded
    case pending
  }

  /// The own seq of the edit.
  package var seq: UInt64
  package var table: String
  package var key: Key
  package var outcome: Outcome
  /// Why it was rejected.
  package var reason: String?
  /// The rule by which it was judged.
  package var rule: String?
}

/// The verdicts about this replica's own edits: each is settled once, in the commit that brings
/// the judged frontier over it.
extension Store {
  /// Verdicts that are kept, at most, beside those that are awaited.
  private static let kept = 10_000

  /// An edit was folded, and there is an anchor to judge it.
  func awaitVerdict(_ seq: UInt64, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    guard office.isHeld else { return try supersedeVerdict(seq, table, key) }
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_verdict(seq, name, key) VALUES (?, ?, ?)",
      [.integer(Int64(seq)), .string(table.name), .blob(key.bytes)])
  }

  /// While nobody is the anchor no verdict is awaited, but one that is awaited still may be given
  /// up.
  private func supersedeVerdict(
    _ seq: UInt64, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    guard office.term != .none else { return }
    try connection.run(
      """
      UPDATE _flotilla_verdict SET verdict = ?
      WHERE name = ? AND key = ? AND seq < ? AND verdict IS NULL
      """,
      [
        .string(EditVerdict.Outcome.superseded.rawValue), .string(table.name), .blob(key.bytes),
        .integer(Int64(seq)),
      ])
  }

  func hasOpenVerdicts() throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_verdict WHERE verdict IS NULL AND seq <= ? LIMIT 1",
      [.integer(Int64(judged.frontier[own]))]) != nil
  }

  /// Settles a slice of what the judged frontier covers, the earliest first.
  func settleVerdicts(limit: Int, at now: Instant) throws(SQLiteError) {
    let open = try connection.rows(
      """
      SELECT seq, name, key FROM _flotilla_verdict WHERE verdict IS NULL AND seq <= ?
      ORDER BY seq LIMIT ?
      """, [.integer(Int64(judged.frontier[own])), .integer(Int64(limit))])
    guard let first = open.first?[0].integer else { return }
    let latest = try latestEdits(since: first)
    for row in open {
      guard let seq = row[0].integer, let name = row[1].string, let key = row[2].blob else {
        continue
      }
      let ruling = try rulings.about(Dot(own, UInt64(seq)))
      var (outcome, reason) = (EditVerdict.Outcome.accepted, String?.none)
      if case .rejected(let why)? = ruling?.ruling.kind {
        (outcome, reason) = (.rejected, why.name)
      } else if latest[Edited(name: name, key: key), default: seq] > seq {
        outcome = .superseded
      }
      var rule = ruling?.ruling.rule
      if rule == nil, let table = tables.table(name) { rule = try actingRule(of: table).name }
      try connection.run(
        "UPDATE _flotilla_verdict SET verdict = ?, reason = ?, rule = ?, at = ? WHERE seq = ?",
        [
          .string(outcome.rawValue), reason.map { .string($0) } ?? .null,
          rule.map { .string($0) } ?? .null, .integer(now.moment), .integer(seq),
        ])
    }
    guard open.count < limit else { return }
    try connection.run(
      "DELETE FROM _flotilla_verdict WHERE verdict IS NOT NULL AND seq <= ?",
      [.integer(Int64(judged.frontier[own]) - Int64(Self.kept))])
  }

  /// A row that was edited here.
  private struct Edited: Hashable {
    var name: String
    var key: [UInt8]
  }

  /// The last own edit of each row that was edited more than once since.
  private func latestEdits(since first: Int64) throws(SQLiteError) -> [Edited: Int64] {
    let rows = try connection.rows(
      """
      SELECT name, key, max(seq) FROM _flotilla_verdict WHERE seq >= ?
      GROUP BY name, key HAVING count(*) > 1
      """, [.integer(first)])
    var latest: [Edited: Int64] = [:]
    for row in rows {
      guard let name = row[0].string, let key = row[1].blob else { continue }
      latest[Edited(name: name, key: key)] = row[2].integer
    }
    return latest
  }

  /// What became of the own edits (after, through].
  package func verdicts(
    after: UInt64, through last: UInt64
  ) throws(StoreError) -> [EditVerdict] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT seq, name, key, verdict, reason, rule FROM _flotilla_verdict
        WHERE seq > ? AND seq <= ? ORDER BY seq
        """, [.integer(Int64(after)), .integer(Int64(clamping: last))]
      ).map { row in
        EditVerdict(
          seq: UInt64(row[0].integer ?? 0), table: row[1].string ?? "",
          key: Key(bytes: row[2].blob ?? []),
          outcome: row[3].string.flatMap(EditVerdict.Outcome.init) ?? .pending,
          reason: row[4].string, rule: row[5].string)
      }
    }
  }

  /// Own edits that no anchor has judged yet; where nobody judges, none waits for that.
  package func unjudgedCount() throws(StoreError) -> Int {
    guard office.isHeld else { return 0 }
    return try reporting { () throws(SQLiteError) in
      Int(
        try connection.scalar("SELECT count(*) FROM _flotilla_verdict WHERE verdict IS NULL")
          .integer ?? 0)
    }
  }
}
