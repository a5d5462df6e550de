import Replication

/// A replica never goes back to a lower version of a row, nor to a lower frontier.
enum AnytimeForward {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    // Who fetches all anew has forgotten on purpose, and has told nobody what it had.
    if history.hasForks || before.isRenewing || after.isRenewing { return }
    if !after.frontier.covers(before.frontier) { history.blame("\(node)'s frontier went back") }
    if before.lost.isEmpty, before.versions == after.versions { return }
    let old =
      before.lost.isEmpty
      ? before.versions : before.versions.merging(before.lost) { held, _ in held }
    for (row, old) in old where after.versions[row] != old {
      guard let new = after.known(row) else {
        if old.isDeleted, history.collects { continue }
        history.blame("\(node) has forgotten row \(row), \(old.dot)")
        continue
      }
      // What its author took back nobody can put back.
      if before.waiting.contains(row), history.isWithdrawn(old.dot, row) { continue }
      if new.rank < old.rank {
        history.blame("row \(row) at \(node) went back from \(old.dot) to \(new.dot)")
      }
    }
  }
}
