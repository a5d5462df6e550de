import Synchronization

/// Lets so many through at a time and turns others away: what is behind it is the node's own, and
/// the node has other work.
final class Turnstile: Sendable {
  private let most: Int
  private let inside = Atomic(0)

  init(most: Int) { self.most = most }

  /// Whether there was room for one more, or so many; who got in must leave.
  func enter(_ count: Int = 1) -> Bool {
    if inside.add(count, ordering: .relaxed).newValue <= most { return true }
    leave(count)
    return false
  }

  func leave(_ count: Int = 1) { inside.subtract(count, ordering: .relaxed) }

  /// Does the work, or throws at once that there is too much of it.
  func pass<Result>(
    _ what: String, isolation: isolated (any Actor)? = #isolation,
    _ work: () async throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    guard enter() else { throw .later("busy", "too many clients ask for \(what) at a time") }
    defer { leave() }
    return try await work()
  }
}
