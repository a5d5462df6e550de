import Replication
import SQLite

/// What becomes of verdicts that are awaited when a life ends: of its edits an anchor will see
/// those alone that somebody else holds, and those that are handed on under a new dot.
extension Verdicts {
  /// An own edit has another dot from now on, and its verdict with it. Whoever waits for that as
  /// the verdict of an edit that was made again as this one goes on to.
  func renumber(of seq: UInt64, as next: UInt64) throws(SQLiteError) {
    let values: [SQLite.Value] = [.integer(Int64(next)), .integer(Int64(seq))]
    try connection.run("UPDATE _flotilla_verdict SET seq = ? WHERE seq = ?", values)
    try connection.run(
      "UPDATE _flotilla_verdict SET at = ? WHERE verdict IS NULL AND at = ?", values)
  }

  /// A version is handed on under a new dot. If it carries an edit of this node that nobody else
  /// holds, that is judged as the new one; else under its own number.
  func handOn(
    of version: Version, as dot: Dot, known: Frontier
  ) throws(SQLiteError) {
    guard lives.made(version.edit), !known.covers(version.edit) else { return }
    try renumber(of: version.edit.seq, as: dot.seq)
  }

  /// A delete of this node that nobody else holds, of a row that others have deleted and forgotten:
  /// what it asked for is so.
  func agree(on delete: Version, _ table: ReplicaTable, at now: Instant) throws(SQLiteError) {
    let known = lives.origins.frontier.without(lives.own)
    guard delete.isDeleted, lives.made(delete.edit), !known.covers(delete.edit) else { return }
    let rule = try anchor.actingRule(of: table).name
    try settle(Int64(delete.edit.seq), .accepted, nil, rule: rule, at: now)
  }

  /// Settles what is still open of the edits of earlier lives beyond what others are `known` to
  /// hold, once all that stands or waits was handed on: these were written over, and nobody will
  /// ever judge them.
  func settleUnsent(beyond known: Frontier, at now: Instant) throws(SQLiteError) {
    for life in lives.all where life.origin != lives.own {
      let first = max(life.first, known[life.origin] + 1)
      guard first <= life.last else { continue }
      let open = try connection.rows(
        """
        SELECT seq, name, key FROM _flotilla_verdict
        WHERE verdict IS NULL AND at IS NULL AND seq BETWEEN ? AND ? ORDER BY seq
        """, [.integer(Int64(clamping: first)), .integer(Int64(clamping: life.last))])
      for row in open {
        guard let seq = row[0].integer, let name = row[1].string, let key = row[2].blob else {
          continue
        }
        let isHistory = try isPart(Dot(life.origin, UInt64(clamping: seq)), name, key)
        let outcome: EditVerdict.Outcome =
          try isOverwritten(seq, name, key) ? .superseded : isHistory ? .accepted : .unknown
        let rule = try tables.table(name).map { table throws(SQLiteError) in
          try anchor.actingRule(of: table).name
        }
        try settle(seq, outcome, nil, rule: rule, at: now)
      }
    }
  }
}
