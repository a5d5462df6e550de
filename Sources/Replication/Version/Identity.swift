/// 128 random bits that name a site or a node.
package struct Identity: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// No site: what a joiner says, who belongs to none yet.
  package static let none = Identity(high: 0, low: 0)

  /// From the 32 hexadecimal digits of `description`; nil for anything else.
  package init?(_ text: String) {
    // The integer initialisers would take a sign too.
    guard text.utf8.count == 32, text.allSatisfy(\.isHexDigit),
      let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }

  package var description: String { Self.digits(high) + Self.digits(low) }

  private static func digits(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  package static func < (left: Identity, right: Identity) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}
