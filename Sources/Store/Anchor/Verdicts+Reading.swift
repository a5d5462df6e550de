import Replication
import SQLite

/// What became of own edits, and how long that can be told.
extension Verdicts {
  /// So many settled verdicts are kept, at least, and those of a day.
  private static let kept: Int64 = 100_000
  private static let keptFor: Int64 = 86_400_000

  /// What became of the own edits (after, through]. Without repetitions one that was made again is
  /// among them under its first number alone, once it is judged.
  package func list(
    after: UInt64, through last: UInt64, limit: Int = .max, repetitions: Bool = true
  ) throws(StoreError) -> [EditVerdict] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT seq, name, key, verdict, reason, rule FROM _flotilla_verdict
        WHERE seq > ? AND seq <= ? \(repetitions ? "" : "AND at IS NOT 0") ORDER BY seq LIMIT ?
        """,
        [
          .integer(Int64(clamping: after)), .integer(Int64(clamping: last)),
          .integer(Int64(limit)),
        ]
      ).map { row throws(SQLiteError) in
        let outcome = row[3].string.flatMap(EditVerdict.Outcome.init)
        let (name, key) = (row[1].string ?? "", Key(bytes: row[2].blob ?? []))
        var verdict = EditVerdict(
          seq: UInt64(clamping: row[0].integer ?? 0), table: tables.nameHere(name), key: key,
          outcome: outcome ?? .pending,
          // Of one that is open it is what will be said unless something better is known.
          reason: outcome == nil ? nil : row[4].string,
          rule: outcome == nil || row[5].string == Self.unknownRule ? nil : row[5].string)
        if outcome == .rejected { verdict.conflict = try conflict(of: verdict, name, key) }
        return verdict
      }
    }
  }

  /// Where the conflict log keeps what lost with an own edit; nil if it does not.
  private func conflict(
    of verdict: EditVerdict, _ name: String, _ key: Key
  ) throws(SQLiteError) -> Int64? {
    let edit = lives.edit(verdict.seq)
    if let number = try conflicts.number(of: edit) { return number }
    // One that was made again is in the log under its first number. What may not be written is no
    // version, and has no number there.
    guard let reason = Reason.allCases.first(where: { $0.name == verdict.reason }),
      let last = try conflicts.latest(name, key, reason),
      last.loser?.edit == edit || reason == .notAllowed && last.state == .open
    else { return nil }
    return last.id
  }

  /// The last own edit of a row, up to a number, that waits for its verdict.
  package func waiting(
    of table: String, _ key: Key, through last: UInt64
  ) throws(StoreError) -> UInt64? {
    guard let name = tables.table(called: table)?.name else { return nil }
    return try reporting { () throws(SQLiteError) in
      try connection.scalar(
        """
        SELECT max(seq) FROM _flotilla_verdict
        WHERE name = ? AND key = ? AND seq <= ? AND verdict IS NULL
        """, [.string(name), .blob(key.bytes), .integer(Int64(clamping: last))]
      ).integer.map { UInt64(clamping: $0) }
    }
  }

  /// Whether an own edit in (after, through] waits for its verdict.
  package func isAwaited(
    after: UInt64, through last: UInt64
  ) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try connection.row(
        "SELECT 1 FROM _flotilla_verdict WHERE verdict IS NULL AND seq > ? AND seq <= ? LIMIT 1",
        [.integer(Int64(clamping: after)), .integer(Int64(clamping: last))]) != nil
    }
  }

  /// The last own edit whose verdict is settled; nil if there is none.
  package func lastSettled() throws(StoreError) -> UInt64? {
    try reporting { () throws(SQLiteError) in
      try connection.scalar(
        """
        SELECT seq FROM _flotilla_verdict WHERE verdict IS NOT NULL ORDER BY seq DESC LIMIT 1
        """
      ).integer.map { UInt64(clamping: $0) }
    }
  }

  /// The first own edit whose verdict is open; nil if none is.
  package func firstWaiting() throws(StoreError) -> UInt64? {
    try reporting { () throws(SQLiteError) in
      try connection.scalar(
        "SELECT min(seq) FROM _flotilla_verdict WHERE verdict IS NULL"
      ).integer.map { UInt64(clamping: $0) }
    }
  }

  /// Up to which own edit verdicts may be missing: they were let go, or never awaited.
  package func missing() throws(StoreError) -> UInt64 {
    try reporting { () throws(SQLiteError) in
      UInt64(clamping: try meta.integer(.verdictsMissing) ?? 0)
    }
  }

  /// From now on, that there is no verdict on an edit up to this one says nothing.
  func miss(through seq: UInt64) throws(SQLiteError) {
    guard Int64(seq) > (try meta.integer(.verdictsMissing) ?? 0) else { return }
    try meta.set(.verdictsMissing, .integer(Int64(seq)))
  }

  /// The own edits whose settled verdicts are neither of the last day nor among the latest; none
  /// while nobody knows which those are.
  func excess(at now: Instant) throws(SQLiteError) -> [Int64] {
    guard let now = now.ageing else { return [] }
    let last = Int64(clamping: lives.origins.frontier[lives.own]) - Self.kept
    return try connection.integers(
      """
      SELECT seq FROM _flotilla_verdict
      WHERE verdict IS NOT NULL AND seq <= ? AND coalesce(at, 0) < ? ORDER BY seq
      """, [.integer(last), .integer(now - Self.keptFor)])
  }

  /// Lets go of these; in the open transaction.
  func remove(_ edits: [Int64]) throws(SQLiteError) {
    for seq in edits {
      try connection.run("DELETE FROM _flotilla_verdict WHERE seq = ?", [.integer(seq)])
    }
    if let last = edits.last { try miss(through: UInt64(last)) }
  }
}
