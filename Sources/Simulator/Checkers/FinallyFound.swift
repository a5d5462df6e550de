/// In the end everything that a program has committed in the table whose unique values all claim
/// stands, or is parked. Or it is in the conflict log of a node that wrote it, or that made it
/// again as it was parked there; or somebody who had seen it wrote over it, deleted it or displaced
/// it.
///
/// What a node that is lost for good had written may be lost with it.
enum FinallyFound {
  static func check(
    _ all: [(name: String, shown: Observation)], dead: Set<String>, _ history: inout History
  ) {
    let traces = history.traces
    typealias Trace = Traces.Trace
    var authors = traces.madeAgain
    var kept: [Trace] = []
    for write in traces.writes {
      if let badge = write.badge {
        authors[Trace(row: write.row, badge: badge), default: []].insert(write.node)
      } else if let over = write.over {
        kept.append(Trace(row: write.row, badge: over))
      }
    }
    for (_, shown) in all {
      for (row, badge) in shown.standing { kept.append(Trace(row: row, badge: badge)) }
      for (row, badge) in shown.parked { kept.append(Trace(row: row, badge: badge)) }
    }
    for (trace, nodes) in traces.logged where !nodes.isDisjoint(with: authors[trace] ?? []) {
      kept.append(trace)
    }
    let found = traces.lines(of: kept)
    for write in traces.writes where !dead.contains(write.node) {
      guard let badge = write.badge, !found.contains(Trace(row: write.row, badge: badge)) else {
        continue
      }
      history.blame("\(badge) in row \(write.row) is lost without a word, of \(write.node)")
    }
  }
}
