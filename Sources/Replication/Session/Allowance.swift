/// So many at once, and then one each pause: what a peer may bring about of a kind.
struct Allowance: Sendable, Equatable {
  private let most: Int64
  /// In ms.
  private let pause: Int64
  /// What was taken and is not over yet, in ms.
  private var debt: Int64 = 0
  private var last: Int64 = 0

  init(most: Int64, pause: Int64) { (self.most, self.pause) = (most, pause) }

  /// Takes one, if there is one.
  mutating func take(at now: Instant) -> Bool {
    debt = max(0, debt - max(0, now.uptime - last))
    last = now.uptime
    guard rest == 0 else { return false }
    debt += pause
    return true
  }

  /// What is left of both.
  func joined(_ other: Allowance) -> Allowance {
    let now = max(last, other.last)
    var joined = self
    joined.debt = max(debt - (now - last), other.debt - (now - other.last), 0)
    joined.last = now
    return joined
  }

  /// In how many ms there is one, as of the last try.
  var rest: Int64 { max(0, debt + pause - most * pause) }
}
