import Synchronization

/// Connections that do the same: each call gets the one for which the fewest wait.
final class DeskPool: Sendable {
  private let desks: [RowDesk]
  /// How many calls each has or waits for.
  private let calls: Mutex<[Int]>

  init(_ count: Int, _ make: () -> RowDesk) {
    desks = (0..<count).map { _ in make() }
    calls = Mutex(Array(repeating: 0, count: count))
  }

  /// A connection that is kept for one request.
  struct Seat: Sendable {
    let desk: RowDesk
    fileprivate let pool: DeskPool
    fileprivate let number: Int

    func leave() { pool.calls.withLock { $0[number] -= 1 } }
  }

  /// A connection that nobody uses or waits for; nil if there is none.
  func freeSeat() -> Seat? { seat(behind: 0) }

  private func seat(behind most: Int) -> Seat? {
    let number = calls.withLock { calls -> Int? in
      guard let number = calls.indices.min(by: { calls[$0] < calls[$1] }), calls[number] <= most
      else { return nil }
      calls[number] += 1
      return number
    }
    return number.map { Seat(desk: desks[$0], pool: self, number: $0) }
  }

  /// Lends a connection: the one of the seat, if the request has one here.
  @_semantics("optimize.sil.specialize.generic.never")
  func run<Result: Sendable>(
    at seat: Seat? = nil, _ body: @Sendable (OpenFile) throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    if let seat, seat.pool === self { return try await seat.desk.run(body) }
    guard let next = self.seat(behind: .max) else {
      throw .later("busy", "there is no connection to the database")
    }
    defer { next.leave() }
    return try await next.desk.run(body)
  }
}
