import Replication

/// What is in a conflict log has met what it did not know: neither author had seen the other edit.
enum AnytimeConcurrent {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    guard let log = after.office?.log else { return }
    let isAnchor = after.office?.certifies == true && before.office?.certifies == true
    for entry in log.dropFirst(before.office?.log.count ?? 0) {
      if !entry.isWhole { history.blame("\(node) has logged \(entry) without its content") }
      // Neither is about what the author knew.
      if ["offline", "parked"].contains(entry.reason) { continue }
      guard let loser = entry.loser, let winner = entry.winner else { continue }
      if loser == winner || history.lineage.line(of: winner).contains(loser) {
        history.blame("\(node) has logged \(loser) as lost to \(winner), which had seen it")
      } else if entry.reason != "older" || isAnchor,
        history.lineage.line(of: loser).contains(winner)
      {
        history.blame("\(node) has logged \(loser) as lost to \(winner), which it had seen")
      }
    }
  }
}
