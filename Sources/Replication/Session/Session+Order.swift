extension Session {
  /// Counts the frames of exchanges in both directions, so that a missing or a second one is seen.
  ///
  /// TCP never loses or doubles anything: it is the peer that is checked. What was worked through
  /// of a long exchange is remembered slice by slice, so a gap must be seen before End.
  struct Order: Sendable {
    private(set) var sent: UInt64 = 0
    private(set) var heard: UInt64 = 0

    mutating func note(_ message: Message) {
      if message.isOfExchange { sent += 1 }
    }

    /// False if an exchange or rows arrive that do not follow what arrived before.
    mutating func isNext(_ message: Message) -> Bool {
      guard message.isOfExchange else { return true }
      defer { heard += 1 }
      switch message {
      case .begin(let begin): return begin.number == heard
      case .rows(let number, _), .part(let number, _), .reaches(let number, _):
        return number == heard
      default: return true
      }
    }
  }
}

extension Message {
  /// Whether this is one of the frames of which an exchange consists.
  fileprivate var isOfExchange: Bool {
    switch self {
    case .begin, .part, .rows, .reaches, .end, .pause: true
    default: false
    }
  }
}
