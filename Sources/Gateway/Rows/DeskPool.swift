import Synchronization

/// Connections that do the same: each call gets the one for which the fewest wait.
///
/// Who has calls at all but one of them waits there: the last one is left to others.
final class DeskPool: Sendable {
  /// The calls that a connection has, or that wait for it.
  private struct Calls: Sendable {
    var count = 0
    /// Of those of which it is known who asks.
    var of: [String: Int] = [:]
  }

  private let desks: [RowDesk]
  private let calls: Mutex<[Calls]>

  init(_ count: Int, _ make: () -> RowDesk) {
    desks = (0..<count).map { _ in make() }
    calls = Mutex(Array(repeating: Calls(), count: count))
  }

  /// A connection that is kept for one request.
  struct Seat: Sendable {
    let desk: RowDesk
    fileprivate let pool: DeskPool
    fileprivate let number: Int
    fileprivate let asker: String?

    func leave() {
      pool.calls.withLock { calls in
        calls[number].count -= 1
        guard let asker else { return }
        let rest = calls[number].of[asker, default: 0] - 1
        calls[number].of[asker] = rest > 0 ? rest : nil
      }
    }
  }

  /// A connection that nobody uses or waits for; nil if there is none.
  func freeSeat(for asker: String? = nil) -> Seat? { seat(behind: 0, for: asker) }

  private func seat(behind most: Int, for asker: String?) -> Seat? {
    let number = calls.withLock { calls -> Int? in
      let own = calls.indices.filter { index in asker.map { calls[index].of[$0] != nil } ?? false }
      let open = own.isEmpty || own.count < calls.count - 1 ? Array(calls.indices) : own
      guard let number = open.min(by: { calls[$0].count < calls[$1].count }),
        calls[number].count <= most
      else { return nil }
      calls[number].count += 1
      if let asker { calls[number].of[asker, default: 0] += 1 }
      return number
    }
    return number.map { Seat(desk: desks[$0], pool: self, number: $0, asker: asker) }
  }

  /// Lends a connection: the one of the seat, if the request has one here.
  @_semantics("optimize.sil.specialize.generic.never")
  func run<Result: Sendable>(
    at seat: Seat? = nil, for request: HTTPRequest? = nil,
    _ body: @Sendable (OpenFile) throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    let deadline = request?.deadline
    if let seat, seat.pool === self { return try await seat.desk.run(until: deadline, body) }
    guard let next = self.seat(behind: .max, for: request?.asker) else {
      throw .later("busy", "there is no connection to the database")
    }
    defer { next.leave() }
    return try await next.desk.run(until: deadline, body)
  }
}
