/// What was left out of an exchange of the edits of one origin.
package struct Omission: Sendable, Equatable {
  /// The first edit of which a row was left out.
  package private(set) var seq: UInt64
  /// What did not count in one of those rows, though its author has signed for it.
  package private(set) var claim: TermClaim?

  package init(from seq: UInt64, for claim: TermClaim? = nil) {
    (self.seq, self.claim) = (seq, claim)
  }

  func joined(_ other: Omission) -> Omission {
    Omission(from: min(seq, other.seq), for: claim ?? other.claim)
  }
}

extension [Origin: Omission] {
  mutating func join(_ others: [Origin: Omission]) {
    if !others.isEmpty { merge(others) { $0.joined($1) } }
  }
}
