/// The hybrid logical clock value of an edit: milliseconds since 2020 in the upper 48 bits, a
/// counter in the lower 16.
///
/// A counter that overflows carries into the milliseconds; that is never an error.
package struct Stamp: Sendable, Hashable, Comparable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// Milliseconds between 1970 and 2020-01-01T00:00:00Z.
  package static let epochMilliseconds: Int64 = 1_577_836_800_000
  /// Below every stamp that a clock can give.
  package static let zero = Stamp(rawValue: 0)
  /// Of a row that was in a file before its table became the site's.
  package static let beforeSite = Stamp(rawValue: 1)
  /// Stamps beyond this are refused, so that adding can never overflow.
  package static let highest = Stamp(rawValue: 1 << 62)

  /// A stamp as a file has it, where anything may have been written.
  package init(clamping raw: Int64) {
    self.init(rawValue: min(max(raw, 0), Self.highest.rawValue))
  }

  /// The lowest stamp of a moment, given in ms since 1970; moments before 2020 give zero.
  package init(millisecondsSince1970 milliseconds: Int64) {
    let bounded = max(Self.epochMilliseconds, min(milliseconds, 1 << 45))
    self.rawValue = (bounded - Self.epochMilliseconds) << 16
  }

  /// The moment of this stamp in ms since 1970.
  package var millisecondsSince1970: Int64 { (rawValue >> 16) + Self.epochMilliseconds }

  /// The next stamp; the highest is its own successor, for peers refuse what lies beyond.
  package var successor: Stamp { Stamp(rawValue: min(rawValue, Self.highest.rawValue - 1) + 1) }

  /// The stamp of an edit made at `moment` that replaces a version stamped `replaced`.
  ///
  /// Only the row's own history counts: receiving a far stamp never moves a node's clock, so a
  /// bad stamp stays in its own row.
  package static func placing(_ moment: Int64, over replaced: Stamp?) -> Stamp {
    let stamp = Stamp(millisecondsSince1970: moment)
    guard let replaced else { return stamp }
    return max(stamp, replaced.successor)
  }

  package static func < (left: Stamp, right: Stamp) -> Bool { left.rawValue < right.rawValue }
}
