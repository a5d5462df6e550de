import Flotilla
import Synchronization

/// Lets so many through at a time and turns others away: what is behind it is the node's own, and
/// the node has other work.
///
/// One token takes three quarters of the places at most, so that a client that has gone wild leaves
/// some to the others.
final class Turnstile: Sendable {
  private struct State: Sendable {
    var inside = 0
    /// By the hash of the token.
    var of: [String: Int] = [:]
  }

  private let most: Int
  private let state = Mutex(State())

  init(most: Int) { self.most = most }

  /// Whether there was room for one more, or so many; who got in must leave.
  func enter(_ count: Int = 1, for token: AccessToken? = nil) -> Bool {
    state.withLock { state in
      guard state.inside + count <= most else { return false }
      if let token {
        let own = state.of[token.hash, default: 0] + count
        guard own <= max(1, most / 4 * 3) else { return false }
        state.of[token.hash] = own
      }
      state.inside += count
      return true
    }
  }

  func leave(_ count: Int = 1, for token: AccessToken? = nil) {
    state.withLock { state in
      state.inside -= count
      guard let token else { return }
      let rest = state.of[token.hash, default: 0] - count
      state.of[token.hash] = rest > 0 ? rest : nil
    }
  }

  /// Does the work, or throws at once that there is too much of it.
  func pass<Result>(
    _ what: String, for token: AccessToken? = nil,
    isolation: isolated (any Actor)? = #isolation,
    _ work: () async throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    guard enter(for: token) else {
      throw .later("busy", "too many clients ask for \(what) at a time")
    }
    defer { leave(for: token) }
    return try await work()
  }
}
