/// A frontier that every member is asked to hold.
package struct Cut: Sendable, Equatable {
  package var mark: Mark
  /// The cut that everybody held when this one was made; its id is 0 if nobody could hold it.
  package var previous: Mark
  package var frontier: Frontier

  /// For how long somebody who does not hold a cut waits for it before it makes another one, in ms.
  package static let patience: Int64 = 7 * 86_400_000

  package init(mark: Mark, previous: Mark, frontier: Frontier) {
    self.mark = mark
    self.previous = previous
    self.frontier = frontier
  }
}
