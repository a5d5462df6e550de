import Replication
import SQLite

/// The verdicts about this replica's own edits: each is settled once, in the commit that brings
/// the judged frontier over it.
package final class Verdicts {
  let connection: Connection
  let meta: Meta
  let lives: Lives
  let rulings: RulingTable
  let conflicts: ConflictLog
  let tables: Tables
  let versions: VersionTable
  let anchor: AnchorOffice
  private let viewpoint: PresentViewpoint
  private let ownRights: OwnRights

  init(
    _ connection: Connection, _ meta: Meta, _ lives: Lives, _ rulings: RulingTable,
    _ conflicts: ConflictLog, _ tables: Tables, _ versions: VersionTable, _ anchor: AnchorOffice,
    _ viewpoint: PresentViewpoint, _ ownRights: OwnRights
  ) {
    (self.connection, self.meta, self.lives) = (connection, meta, lives)
    (self.rulings, self.conflicts) = (rulings, conflicts)
    (self.tables, self.versions) = (tables, versions)
    (self.anchor, self.viewpoint, self.ownRights) = (anchor, viewpoint, ownRights)
  }

  var office: Office { viewpoint.value.office }
  var judged: Judged { viewpoint.value.judged }

  /// An edit was folded, and there is an anchor to judge it, or it is `repeating` one that waits
  /// for one.
  func await(
    _ seq: UInt64, _ table: ReplicaTable, _ key: Key, repeating: Version?
  ) throws(SQLiteError) {
    let isAwaited = try office.isHeld ? true : repeating.map(isAwaited) ?? false
    guard isAwaited else { return try supersede(seq, table, key) }
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_verdict(seq, name, key) VALUES (?, ?, ?)",
      [.integer(Int64(seq)), .string(table.name), .blob(key.bytes)])
  }

  /// Whether somebody waits for the verdict of the edit that is being made again.
  private func isAwaited(_ repeating: Version) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_verdict WHERE verdict IS NULL AND seq = ?",
      [.integer(Int64(repeating.dot.seq))]) != nil
  }

  /// While nobody is the anchor no verdict is awaited, but one that is awaited still may be given
  /// up.
  func supersede(
    _ seq: UInt64, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    guard office.term != .none else { return }
    try connection.run(
      """
      UPDATE _flotilla_verdict
      SET verdict = ?, at = CASE WHEN \(Self.isRepetition) THEN 0 ELSE at END
      WHERE name = ? AND key = ? AND seq < ? AND verdict IS NULL
      """,
      [
        .string(EditVerdict.Outcome.superseded.rawValue), .string(table.name), .blob(key.bytes),
        .integer(Int64(seq)),
      ])
  }

  /// An edit was made again under another number: who waits for its verdict gets that of the other.
  /// Until then `at` is that number.
  func pass(of seq: UInt64, to next: UInt64) throws(SQLiteError) {
    // It may have been made before anybody was the anchor here; its number may be the one that is
    // judged.
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_verdict(seq, name, key)
      SELECT ?, name, key FROM _flotilla_verdict WHERE seq = ? AND verdict IS NULL
      """, [.integer(Int64(seq)), .integer(Int64(next))])
    for condition in Self.settledWith {
      try connection.run(
        "UPDATE _flotilla_verdict SET at = ?1 WHERE verdict IS NULL AND \(condition)",
        [.integer(Int64(next)), .integer(Int64(seq))])
    }
  }

  /// The own edits that were made again as this one.
  func repeated(as seq: UInt64) throws(SQLiteError) -> [UInt64] {
    try connection.rows(
      "SELECT seq FROM _flotilla_verdict WHERE verdict IS NULL AND at IS NOT NULL AND at = ?",
      [.integer(Int64(seq))]
    ).compactMap { $0[0].integer.map { UInt64($0) } }
  }

  /// The verdict of the edit ?2 itself, and of those that were made again as that one.
  private static let settledWith = ["at IS NOT NULL AND at = ?2", "seq = ?2"]

  /// Of a row that is open: its edit waits under an earlier number, too.
  private static let isRepetition =
    "seq IN (SELECT at FROM _flotilla_verdict WHERE verdict IS NULL AND at IS NOT NULL)"

  /// Settles an edit under all its numbers. Programs are told of it under the first of them; `at`
  /// of the others is 0.
  func settle(
    _ seq: Int64, _ outcome: EditVerdict.Outcome, _ reason: String?, rule: String?,
    at now: Instant
  ) throws(SQLiteError) {
    let first = try repeated(as: UInt64(clamping: seq)).map { Int64($0) }.min() ?? seq
    for condition in Self.settledWith {
      try connection.run(
        """
        UPDATE _flotilla_verdict SET verdict = ?1, reason = ?3, rule = ?4,
          at = CASE seq WHEN ?6 THEN ?5 ELSE 0 END
        WHERE verdict IS NULL AND \(condition)
        """,
        [
          .string(outcome.rawValue), .integer(seq), .string(reason), .string(rule),
          .integer(now.moment), .integer(min(first, seq)),
        ])
    }
  }

  /// An own edit is in the conflict log, and nobody judges it any more, nor what it was written
  /// over.
  func rejectUnjudged(
    _ edit: Dot, _ table: ReplicaTable, _ key: Key, _ reason: Reason,
    rule: String = NewestWins.name, at now: Instant
  ) throws(SQLiteError) {
    guard !office.isHeld else { return }
    try reject(edit, table, key, reason, rule: rule, at: now)
  }

  /// The same for one that no anchor is to see any more, though there is one.
  func reject(
    _ edit: Dot, _ table: ReplicaTable, _ key: Key, _ reason: Reason, rule: String,
    at now: Instant
  ) throws(SQLiteError) {
    guard lives.made(edit) else { return }
    try settle(Int64(edit.seq), .rejected, reason.name, rule: rule, at: now)
    try supersede(edit.seq, table, key)
  }

  /// Own edits of a table are taken back, as far as nobody holds them: if one was on its way and is
  /// accepted all the same, what stands tells once its number was judged. Until then `reason` is
  /// why not. Who may write nothing any more is believed no number: there it is the verdict.
  func refuse(
    of table: ReplicaTable, above delivered: UInt64, isLast: Bool, at now: Instant
  ) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_verdict SET reason = ?1 WHERE verdict IS NULL AND name = ?2 AND seq > ?3",
      [.string(Reason.notAllowed.name), .string(table.name), .integer(Int64(delivered))])
    guard isLast else { return }
    try connection.run(
      """
      UPDATE _flotilla_verdict
      SET verdict = ?, at = CASE WHEN \(Self.isRepetition) THEN 0 ELSE ? END
      WHERE verdict IS NULL AND reason = ?
      """,
      [
        .string(EditVerdict.Outcome.rejected.rawValue), .integer(now.moment),
        .string(Reason.notAllowed.name),
      ])
  }

  /// This node hears of a term in which nobody judged when that is over: what it has made before
  /// may have been let go of by others then, and count as judged now. What stands tells, or none.
  func doubt() throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_verdict SET reason = ? WHERE verdict IS NULL AND reason IS NULL",
      [.string(Self.doubt)])
  }

  /// In place of a reason: none is known.
  private static let doubt = ""

  func hasOpen() throws(SQLiteError) -> Bool {
    for life in lives.all {
      let open = try connection.row(
        """
        SELECT 1 FROM _flotilla_verdict
        WHERE verdict IS NULL AND at IS NULL AND seq BETWEEN ? AND ? LIMIT 1
        """, judgedRange(of: life))
      if open != nil { return true }
    }
    return false
  }

  private func judgedRange(of life: RunLog.Life) -> [SQLite.Value] {
    let last = min(judged.frontier[life.origin], life.last)
    return [.integer(Int64(clamping: life.first)), .integer(Int64(clamping: last))]
  }

  /// Settles a slice of what the judged frontier covers, the earliest first.
  func settle(limit: Int, at now: Instant) throws(SQLiteError) {
    for life in lives.all { try settle(life, limit: limit, at: now) }
  }

  private func settle(_ life: RunLog.Life, limit: Int, at now: Instant) throws(SQLiteError) {
    let open = try connection.rows(
      """
      SELECT seq, name, key, reason, rule FROM _flotilla_verdict
      WHERE verdict IS NULL AND at IS NULL AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?
      """, judgedRange(of: life) + [.integer(Int64(limit))])
    guard !open.isEmpty else { return }
    let mayLack = try rulings.mayLack()
    for row in open {
      guard let seq = row[0].integer, let name = row[1].string, let key = row[2].blob else {
        continue
      }
      let edit = Dot(life.origin, UInt64(clamping: seq))
      var ruling = try ruling(on: edit)
      // A later anchor has taken what an earlier one had rejected.
      if let term = ruling?.version.term, term < judged.term, try isPart(edit, name, key) {
        ruling = nil
      }
      var (outcome, reason) = (EditVerdict.Outcome.accepted, String?.none)
      if case .rejected(let why)? = ruling?.ruling.kind {
        (outcome, reason) = (.rejected, why.name)
      } else if try isOverwritten(seq, name, key) {
        outcome = .superseded
      } else if try hasForgotten(life, name, key) {
        outcome = .unknown
      } else if ownRights.rights.right(to: name) == .none {
        // What stands is not told here any more, nor what was ruled.
        outcome = .unknown
      } else if mayLack || row[3].string != nil, try !isPart(edit, name, key) {
        let why = row[3].string.flatMap { $0 == Self.doubt ? nil : $0 }
        (outcome, reason) = why.map { (.rejected, $0) } ?? (.unknown, nil)
      }
      var rule = ruling?.ruling.rule
      if rule == nil, let table = tables.table(name) {
        let isKnown = row[4].string != Self.unknownRule
        if try isKnown ? true : isJudgedByActingRule(edit, table, Key(bytes: key)) {
          rule = try anchor.actingRule(of: table).name
        }
      }
      try settle(seq, outcome, reason, rule: rule, at: now)
    }
  }

  /// The latest word on an edit, or on one of this replica that was made again as that one: the
  /// anchor may have heard of the first alone.
  func ruling(on edit: Dot) throws(SQLiteError) -> RulingTable.Item? {
    if let ruling = try rulings.about(edit) { return ruling }
    guard lives.made(edit) else { return nil }
    for seq in try repeated(as: edit.seq).reversed() {
      if let ruling = try rulings.about(lives.edit(seq)) { return ruling }
    }
    return nil
  }

  /// Whether what stands of the row is this edit, or has seen it: then it was accepted.
  func isPart(_ edit: Dot, _ name: String, _ key: [UInt8]) throws(SQLiteError) -> Bool {
    guard let table = tables.table(name),
      let standing = try versions.version(table: table.id, key: Key(bytes: key))
    else { return false }
    return standing.hasSeen(edit)
  }

  /// Whether the row was edited in a life beyond what the file has of it, which was put back: what
  /// became of the edits before is forgotten with that.
  private func hasForgotten(
    _ life: RunLog.Life, _ name: String, _ key: [UInt8]
  ) throws(SQLiteError) -> Bool {
    guard life.origin != lives.own else { return false }
    return try isPart(Dot(life.origin, life.last + 1), name, key)
  }

  /// Whether a later own edit of the same row waits. It is settled later, too.
  func isOverwritten(
    _ seq: Int64, _ name: String, _ key: [UInt8]
  ) throws(SQLiteError) -> Bool {
    try connection.row(
      """
      SELECT 1 FROM _flotilla_verdict WHERE name = ? AND key = ? AND seq > ? AND verdict IS NULL
      LIMIT 1
      """, [.string(name), .blob(key), .integer(seq)]) != nil
  }

  /// Own edits that no anchor has judged yet; where nobody judges, none waits for that.
  package func unjudgedCount() throws(StoreError) -> Int {
    office.isHeld ? try openCount() : 0
  }

  /// Own edits without a verdict, also where nobody judges.
  package func openCount() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in
      Int(
        try connection.scalar(
          "SELECT count(*) FROM _flotilla_verdict WHERE verdict IS NULL AND at IS NULL"
        )
        .integer ?? 0)
    }
  }
}
