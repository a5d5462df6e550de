import Replication

/// A replica never goes back to a lower version of a row, nor to a lower frontier.
enum AnytimeForward {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    for (row, old) in before.versions.merging(before.lost, uniquingKeysWith: { held, _ in held }) {
      guard let new = after.known(row) else {
        history.blame("\(node) has forgotten row \(row), \(old.dot)")
        continue
      }
      if new.rank < old.rank {
        history.blame("row \(row) at \(node) went back from \(old.dot) to \(new.dot)")
      }
    }
    if !after.frontier.covers(before.frontier) { history.blame("\(node)'s frontier went back") }
  }
}
