/// Names a cut; a later one has a higher number.
package struct Mark: Sendable, Hashable, Comparable {
  package var number: UInt64
  /// Random: tells two cuts apart that were made at the same time.
  package var id: UInt64

  package init(number: UInt64, id: UInt64) {
    self.number = number
    self.id = id
  }

  /// Before the first cut.
  package static let none = Mark(number: 0, id: 0)

  /// No site makes so many.
  package static let highest: UInt64 = 1 << 32

  /// A site makes at most one cut a minute: who makes numbers up does not use them up.
  package static func most(at moment: Int64) -> UInt64 { UInt64(clamping: moment / 60_000) }

  package static func < (left: Mark, right: Mark) -> Bool {
    (left.number, left.id) < (right.number, right.id)
  }
}
