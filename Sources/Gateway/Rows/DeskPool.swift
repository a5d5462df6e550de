import Synchronization

/// Connections that do the same: each call gets one that is free, or else the one for which the
/// fewest wait.
final class DeskPool: Sendable {
  private struct State: Sendable {
    /// How many calls each has or waits for.
    var calls: [Int]
    /// Where the search begins, so that all are used in turn.
    var turn = 0
  }

  private let desks: [RowDesk]
  private let state: Mutex<State>

  init(_ count: Int, _ make: () -> RowDesk) {
    desks = (0..<count).map { _ in make() }
    state = Mutex(State(calls: Array(repeating: 0, count: count)))
  }

  func run<Result: Sendable>(
    _ body: @Sendable (OpenFile) throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    let number = state.withLock { state in
      let order = (0..<desks.count).map { (state.turn + $0) % desks.count }
      let number = order.min { state.calls[$0] < state.calls[$1] } ?? 0
      state.turn = number + 1
      state.calls[number] += 1
      return number
    }
    defer { state.withLock { $0.calls[number] -= 1 } }
    return try await desks[number].run(body)
  }
}
