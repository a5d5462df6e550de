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

  /// Settles what the judged frontier has come to cover.
  func settleVerdicts(at now: Instant) throws(SQLiteError) {
    let seq = judged.frontier[own]
    let open = try connection.rows(
      "SELECT seq, name, key FROM _flotilla_verdict WHERE verdict IS NULL AND seq <= ?",
      [.integer(Int64(seq))])
    guard !open.isEmpty else { return }
    for row in open {
      guard let seq = row[0].integer, let name = row[1].string else { continue }
      let ruling = try rulings.about(Dot(own, UInt64(seq)))
      var (outcome, reason) = (EditVerdict.Outcome.accepted, String?.none)
      if case .rejected(let why)? = ruling?.ruling.kind {
        (outcome, reason) = (.rejected, why.name)
      } else if try isWrittenAgain(name, row[2], after: seq) {
        outcome = .superseded
      }
      var rule = ruling?.ruling.rule
      if rule == nil, let table = tables.table(name) { rule = try actingRule(of: table).name }
      try connection.run(
        "UPDATE _flotilla_verdict SET verdict = ?, reason = ?, rule = ?, at = ? WHERE seq = ?",
        [
          .string(outcome.rawValue), reason.map { .string($0) } ?? .null,
          rule.map { .string($0) } ?? .null, .integer(now.wall), .integer(seq),
        ])
    }
    try connection.run(
      "DELETE FROM _flotilla_verdict WHERE verdict IS NOT NULL AND seq <= ?",
      [.integer(Int64(seq) - Int64(Self.kept))])
  }

  private func isWrittenAgain(
    _ name: String, _ key: SQLite.Value, after seq: Int64
  ) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_verdict WHERE name = ? AND key = ? AND seq > ? LIMIT 1",
      [.string(name), key, .integer(seq)]) != nil
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
