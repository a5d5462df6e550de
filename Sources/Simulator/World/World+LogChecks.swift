import Replication

extension World {
  /// What the products say of what they hold, of those that hold everything.
  var digests: [Digest] {
    nodes.all.filter { !$0.isDead && $0.replica.rights.isWhole }.map(\.replica.position.digest)
  }

  /// What must be in the logs in the end, where nobody ever is the anchor and there are logs.
  mutating func checkLogs(_ shown: [(name: String, shown: Observation)]) throws {
    guard let first = shown.first, first.shown.log != nil else { return }
    if story.isTold { tellEnd(shown) }
    let known = shown.reduce(into: Frontier()) { $0.join($1.shown.frontier) }
    FinallyLogged.check(first.shown, known: known, try authors(), &history)
  }

  /// Those who are there in the end, and what they have logged.
  func authors() throws -> [FinallyLogged.Author] {
    try nodes.all.filter { !$0.isDead }.map { node in
      FinallyLogged.Author(
        name: node.replica.name, log: try node.replica.observe().log ?? [],
        lives: node.replica.runLog.lives(now: node.replica.own))
    }
  }
}
