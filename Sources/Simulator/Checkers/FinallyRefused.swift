import Replication

/// An edit that was not allowed is kept in the log, and does not stand: the row is as the site has
/// it, or waits to be.
enum FinallyRefused {
  /// Looks at edits that were perhaps not allowed, for the right has changed meanwhile; `before` is
  /// what was seen when they were not made yet.
  static func check(
    _ edits: FinallyKept.Edits, _ before: Observation, _ now: Observation, own: Origin,
    _ history: inout History, at node: String
  ) {
    for (row, edit) in edits {
      let version = now.versions[row]
      let isLive = version.map { !$0.isDeleted } ?? false
      if !now.waiting.contains(row), isLive != (now.rows[row] != nil), !now.shelved.contains(row) {
        history.blame("row \(row) at \(node) is not as the site has it, and waits for nothing")
      }
      if now.refused[row, default: 0] > before.refused[row, default: 0] { continue }
      // The row was changed back to what the site has: nothing was kept from anybody.
      if let held = before.versions[row].flatMap({ history[$0.dot] }),
        held.content == edit.content?.common
      {
        continue
      }
      // It is as it was when it was refused: that is in the log, and the row waits.
      if before.waiting.contains(row), before.refused[row, default: 0] > 0,
        before.rows[row]?.common == edit.content?.common
      {
        continue
      }
      // It was removed, and is nothing that the site has: what was there before is in the log by
      // then, or was never refused.
      if edit.content == nil, !isLive || before.waiting.contains(row) { continue }
      // Then it was allowed, or changed nothing.
      let stands = now.rows[row]?.common == edit.content?.common && !now.waiting.contains(row)
      let isOutranked = version.map { version in
        version.dot.origin != own && version.stamp >= Stamp(millisecondsSince1970: edit.moment)
      }
      if !stands, isOutranked != true {
        history.blame("an edit of row \(row) at \(node), which was not allowed, is in no log")
      }
    }
  }
}
