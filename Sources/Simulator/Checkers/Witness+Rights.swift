import Replication

extension Witness {
  /// What has changed in what a node may do.
  struct Change {
    /// What it has now of the tables that it could read before.
    var held: [RowNumber: Version]
    /// Tables that it may read, and could not before.
    var opened: Set<String>
    /// Tables whose right is another one.
    var changed: Set<String>
    /// Tables that it may not write any more: what it had told nobody is taken back, and what that
    /// had outranked is fetched again.
    var closed: Set<String> = []
    /// Tables that it may not read any more: what happens there is its own affair.
    var hidden: Set<String>
    /// Tables that the site does not track any more, as far as the node knows: it had begun to, and
    /// told nobody.
    var ended: Set<String> = []
    /// Whether it may do everything now.
    var isWhole = false
    /// How many of its own versions it knew to be held by others.
    var delivered: UInt64
  }

  /// What was made in the middle of the work, and beside an anchor also what came.
  private func glimpsed(_ now: Observation, _ own: Origin) -> [RowNumber: Version] {
    (glanced?.versions ?? [:]).filter { now.office != nil || $0.value.dot.origin == own }
  }

  /// The replica goes by other rights: only its own versions are taken back, and each is logged or
  /// in a table that it may not even read.
  mutating func follow(
    _ change: Change, _ now: Observation, own: Origin, table: (RowNumber) -> String,
    _ history: inout History, at node: String
  ) {
    // What was made in mid work a process may have died over before anybody looked.
    let before = seen.versions.merging(unseen) { $1 }
      .merging(glimpsed(now, own)) { $1 }
    let hasEnded = before.keys.contains { change.ended.contains(table($0)) }
    history.hide(before.filter { change.hidden.contains(table($0.key)) }, of: own)
    for (row, old) in before where change.held[row] != old {
      if let new = change.held[row], new.rank > old.rank { continue }
      history.withdraw(row, of: own, above: change.delivered)
      // What it was made over may have come in mid work as well.
      let parents = history.lineage.edits[old.dot]?.parents ?? []
      let base = bases[row] ?? parents.first { $0.origin != own }
      if change.held[row] == nil, let base = old.dot.origin == own ? base : old.dot {
        history.leave(row, at: node, over: base)
      }
      // What was made over another's was taken back with that: it is asked for, now or when the
      // table may be read again.
      let isEnded = change.ended.contains(table(row))
      let isToCome = now.waiting.contains(row) || change.hidden.contains(table(row)) || isEnded
      if old.dot.origin != own, !isToCome {
        history.blame("\(node) has taken back \(old.dot), which is not its own")
      } else if !isEnded, !change.changed.contains(table(row)) {
        history.blame("\(node) has taken back \(old.dot) without a reason")
      }
    }
    // Who may do everything now fetches anew what rows wait for.
    let isFetching = change.isWhole && !seen.waiting.isEmpty
    if change.opened.isEmpty, change.closed.isEmpty, !hasEnded, !isFetching,
      !now.frontier.covers(seen.frontier)
    {
      history.blame("\(node)'s frontier went back without a reason")
    }
    away.formUnion(now.rows.keys.filter { change.opened.contains(table($0)) })
    // What was folded before the rights changed, and since the last look in mid work.
    history.lineage.note(glanced ?? seen, now, own: own)
    history.noteFolded(now.versions, of: own)
    let (rows, hidden) = (seen.rows, change.hidden)
    (seen, unseen, glanced) = (now, [:], nil)
    for row in pending.keys {
      if hidden.contains(table(row)) { pending[row] = nil } else { seen.rows[row] = rows[row] }
    }
  }
}
