import Replication

/// A replica never goes back to a lower version of a row, nor to a lower frontier.
enum AnytimeForward {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    // Who fetches all anew has forgotten on purpose, and has told nobody what it had.
    if before.isRenewing || after.isRenewing { return }
    if !after.frontier.covers(before.frontier) { history.blame("\(node)'s frontier went back") }
    if before.lost.isEmpty, before.versions == after.versions { return }
    let old =
      before.lost.isEmpty
      ? before.versions : before.versions.merging(before.lost) { held, _ in held }
    for (row, old) in old where after.versions[row] != old {
      if history.isForked(old.dot) || wasForgotten(row, old, before, after, history) { continue }
      guard let new = after.known(row) else {
        if old.isDeleted, history.collects { continue }
        history.blame("\(node) has forgotten row \(row), \(old.dot)")
        continue
      }
      if new.rank < old.rank {
        history.blame("row \(row) at \(node) went back from \(old.dot) to \(new.dot)")
      }
    }
  }

  /// What its author took back nobody can put back in a row that waits, and what does not count as
  /// held any more comes again.
  private static func wasForgotten(
    _ row: RowNumber, _ old: Version, _ before: Observation, _ after: Observation,
    _ history: History
  ) -> Bool {
    let hasWaited =
      before.waiting.contains(row)
      || before.refused[row, default: 0] < after.refused[row, default: 0]
    return hasWaited
      && (!after.frontier.covers(old.dot) || history.isWithdrawn(old.dot, row))
  }
}
