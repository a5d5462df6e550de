import Replication

/// A frontier never claims what the replica lacks: of every version that it covers, the replica
/// holds that one or a higher one of the same row, unless one that replaced it was lost with its
/// table. Who is behind has it from somebody who had let go of the rest, and fetches it anew.
enum AnytimeFrontier {
  /// Looks at what the frontier covers since the last look.
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String,
    mayRead: (RowNumber) -> Bool = { _ in true }
  ) {
    if history.hasParted || after.isBehind { return }
    guard before.frontier != after.frontier else { return }
    for (origin, seq) in after.frontier.sorted {
      let from = before.frontier[origin]
      guard seq > from, let made = history.made[origin] else { continue }
      for index in Int(from)..<max(Int(from), min(Int(seq), made.count)) {
        guard let made = made[index], mayRead(made.row),
          !history.givenUp.contains(made.version.dot), !history.agreed.contains(made.version.dot),
          !history.uncovered.contains(made.row)
        else { continue }
        if history.isForked(made.version.dot) { continue }
        if history.isDoubtful(made.row, above: made.version) { continue }
        // What had replaced it went with its table.
        if let lost = history.lost[made.row], lost.rank > made.version.rank { continue }
        if let held = history.awaited[made.row], held.rank > made.version.rank,
          !after.frontier.covers(held.dot)
        {
          continue
        }
        if history.hasStrangers, history.awaits(above: made, after.frontier) { continue }
        let held = after.known(made.row)
        if held.map({ $0.rank < made.version.rank }) ?? true, !history.isReplaced(made),
          !history.mayStand(held, for: made.row, after.frontier)
        {
          history.blame(
            "\(node) claims \(origin) up to \(seq), but of row \(made.row) it holds "
              + "\(held.map { "\($0.dot)" } ?? "nothing"), not \(made.version.dot)")
        }
      }
    }
  }
}

extension History {
  /// Whether a higher version of the row is yet to come: it may have been left out where it had
  /// replaced this one.
  fileprivate func awaits(above made: Made, _ frontier: Frontier) -> Bool {
    self.made.values.contains { versions in
      versions.contains {
        guard let other = $0, other.row == made.row else { return false }
        return other.version.rank > made.version.rank && !frontier.covers(other.version.dot)
      }
    }
  }
}
