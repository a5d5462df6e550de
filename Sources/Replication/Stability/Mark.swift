/// Names a cut; a later one has a higher number.
package struct Mark: Sendable, Hashable, Comparable {
  package var number: UInt64
  /// The hash of what is in the cut (`Cut.text`), so a mark means one cut alone.
  package var id: Identity

  package init(number: UInt64, id: Identity) {
    self.number = number
    self.id = id
  }

  /// Of a version in which the id was 64 random bits.
  package init(number: UInt64, id: UInt64) {
    self.init(number: number, id: Identity(high: 0, low: id))
  }

  /// Before the first cut.
  package static let none = Mark(number: 0, id: .none)

  /// No site makes so many.
  package static let highest: UInt64 = 1 << 32

  /// A site makes at most one cut a minute: who makes numbers up does not use them up.
  package static func most(at moment: Int64) -> UInt64 { UInt64(clamping: moment / 60_000) }

  package static func < (left: Mark, right: Mark) -> Bool {
    (left.number, left.id) < (right.number, right.id)
  }
}
