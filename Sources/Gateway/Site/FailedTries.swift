import Synchronization

/// Slows down who tries tokens, and says so in the log; never the token.
final class FailedTries: Sendable {
  private struct State: Sendable {
    var count = 0
    var last: ContinuousClock.Instant?
    var waiting = 0
    var told: ContinuousClock.Instant?
    var untold = 0
  }

  /// Tries that are held back at a time; others are turned away at once.
  static let mostWaiting = 16
  static let longest: Duration = .seconds(2)

  private let state = Mutex(State())
  private let log: @Sendable (String) -> Void

  init(log: @escaping @Sendable (String) -> Void) { self.log = log }

  /// Notes one more and waits; the problem that it is answered with.
  func note(_ what: String) async -> Problem {
    let (delay, line) = state.withLock { state -> (Duration?, String?) in
      let now = ContinuousClock.now
      // A minute without any, and all is forgotten.
      if let last = state.last, now - last > .seconds(60) { state.count = 0 }
      (state.count, state.last, state.untold) = (state.count + 1, now, state.untold + 1)
      var line: String?
      if state.told.map({ now - $0 > .seconds(10) }) ?? true {
        let times = state.untold == 1 ? "" : " (\(state.untold) tries)"
        line = "the gateway refused a request: \(what)\(times)"
        (state.told, state.untold) = (now, 0)
      }
      guard state.waiting < Self.mostWaiting else { return (nil, line) }
      state.waiting += 1
      return (Self.delay(after: state.count), line)
    }
    if let line { log(line) }
    guard let delay else {
      var problem = Problem(429, "too-many-tries", "too many requests without a good token")
      problem.headers = [("Retry-After", "5")]
      return problem
    }
    try? await Task.sleep(for: delay)
    state.withLock { $0.waiting -= 1 }
    var problem = Problem(
      401, "token", "the token is missing, unknown or expired, or not for this database",
      remedy: "Make one with `flotilla token DB add NAME` and send it: Authorization: Bearer TOKEN")
    problem.headers = [("WWW-Authenticate", "Bearer realm=\"flotilla\"")]
    return problem
  }

  /// The first few pass as somebody's mistake; then each one doubles the wait.
  static func delay(after count: Int) -> Duration {
    guard count > 3 else { return .milliseconds(20) }
    return min(longest, .milliseconds(50) * (1 << min(count - 3, 10)))
  }
}
