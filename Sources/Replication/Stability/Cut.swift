/// A frontier that every member is asked to hold, and who has said that it does.
package struct Cut: Sendable, Equatable {
  package var mark: Mark
  /// The cut that everybody held when this one was made.
  package var previous: Mark
  package var frontier: Frontier
  /// Who holds it, and its last own edit by then.
  package internal(set) var acknowledged: [Identity: Dot]

  package init(
    mark: Mark, previous: Mark, frontier: Frontier, acknowledged: [Identity: Dot] = [:]
  ) {
    self.mark = mark
    self.previous = previous
    self.frontier = frontier
    self.acknowledged = acknowledged
  }

  package func isHeld(by members: some Sequence<Identity>) -> Bool {
    members.allSatisfy { acknowledged[$0] != nil }
  }

  /// Takes in what others have acknowledged of the same cut.
  mutating func join(_ others: [Identity: Dot]) {
    for (node, dot) in others where acknowledged.count < Limits.members {
      acknowledged[node] = max(acknowledged[node] ?? dot, dot)
    }
  }
}
