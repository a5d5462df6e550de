@testable import Replication

extension Stability {
  /// The next cut, with an id that a test knows.
  mutating func propose(
    id: UInt64, frontier: Frontier, members: some Sequence<Identity>, at moment: Int64
  ) {
    propose(
      naming: { _ in Identity(high: 0, low: id) }, frontier: frontier, members: members, at: moment)
  }
}
