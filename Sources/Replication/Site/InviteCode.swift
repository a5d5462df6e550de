/// The code of an invitation: 100 random bits and a check group, in base32.
///
/// `K7QF-M2XD-9TRA-PZ4C-HJ3V-9R`: five groups of four, then two check digits. The alphabet is
/// Crockford's: no I, L, O, U; a reader's I and L count as 1, O as 0.
///
/// The check digits make it a Reed–Solomon code over GF(32) with distance 3 (Reed, Solomon, 1960):
/// any two wrong digits are noticed, so one mistyped digit and two swapped ones always are.
package struct InviteCode: Sendable, Equatable, CustomStringConvertible {
  package enum Mistake: Error, Sendable, Equatable {
    case length(Int)
    case character(Character)
    case check
  }

  private static let digits = 20

  /// The twenty digits, each 0 to 31.
  package let values: [UInt8]

  /// From 100 random bits: twenty numbers of which the low five bits count.
  package init(random: [UInt8]) {
    precondition(random.count == Self.digits, "\(random.count) random bytes")
    self.values = random.map { $0 & 31 }
  }

  /// From what a person typed: case, spaces and hyphens do not matter.
  package init(_ text: String) throws(Mistake) {
    let values: [UInt8]
    do {
      values = try Base32.digits(of: text)
    } catch {
      throw .character(error.character)
    }
    guard values.count == Self.digits + 2 else { throw .length(values.count) }
    self.values = Array(values.prefix(Self.digits))
    guard Array(values.suffix(2)) == Self.check(self.values) else { throw .check }
  }

  package var description: String {
    Base32.groups(of: values + Self.check(values)).joined(separator: "-")
  }

  /// The remainder of the digits, as a polynomial over GF(32), by (x + 1)(x + α).
  private static func check(_ values: [UInt8]) -> [UInt8] {
    var (high, low): (UInt8, UInt8) = (0, 0)
    for value in values {
      let factor = value ^ high
      // (x + 1)(x + α) = x² + (1 + α)x + α
      (high, low) = (low ^ factor ^ timesAlpha(factor), timesAlpha(factor))
    }
    return [high, low]
  }

  /// Multiplies by α, a root of x⁵ + x² + 1.
  private static func timesAlpha(_ value: UInt8) -> UInt8 {
    value & 16 == 0 ? value << 1 : (value << 1 & 31) ^ 0b00101
  }
}
