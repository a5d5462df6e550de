/// Which appointment of an anchor.
///
/// Two rivals may be appointed under one number while the site is split; the incarnation, random
/// per appointment, tells them apart and puts them in one order everywhere.
package struct Term: Sendable, Hashable, Comparable {
  package let number: UInt64
  package let incarnation: UInt64

  package init(number: UInt64, incarnation: UInt64) {
    self.number = number
    self.incarnation = incarnation
  }

  /// No anchor was ever appointed.
  package static let none = Term(number: 0, incarnation: 0)

  package static func < (left: Term, right: Term) -> Bool {
    (left.number, left.incarnation) < (right.number, right.incarnation)
  }
}
