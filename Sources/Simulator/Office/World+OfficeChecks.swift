import Replication

/// What must hold in the end where somebody was the anchor.
extension World {
  mutating func checkOffice(_ shown: [(name: String, shown: Observation)]) {
    guard isFounded else { return }
    let alive = nodes.filter { !$0.isDead }
    let last = alive.compactMap(\.appointments.last).max { $0.term < $1.term }
    let anchor = alive.first { $0.replica.id == last?.node }?.replica.name
    var origins: [String: Origin] = [:]
    for number in nodes.indices {
      origins[nodes[number].replica.name] = Templates.origin(of: number)
    }
    FinallyJudged.check(
      shown, isHeld: last?.node != nil, anchor: anchor, origins: origins, &history)
    FinallyKnown.check(shown, &history)
  }
}
