/// Crockford's base32, for what people type: no I, L, O, U; a reader's I and L count as 1, O as 0.
package enum Base32 {
  /// A character that stands for no digit.
  package struct Mistake: Error, Sendable, Equatable {
    package var character: Character
  }

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  /// The digits of a text, each 0 to 31; case, spaces and hyphens do not matter.
  package static func digits(of text: some StringProtocol) throws(Mistake) -> [UInt8] {
    var digits: [UInt8] = []
    for character in text.uppercased() where character != "-" && !character.isWhitespace {
      let plain: Character =
        switch character {
        case "I", "L": "1"
        case "O": "0"
        default: character
        }
      guard let digit = alphabet.firstIndex(of: plain) else {
        throw Mistake(character: character)
      }
      digits.append(UInt8(digit))
    }
    return digits
  }

  /// Groups of four characters; the last one may be shorter.
  package static func groups(of digits: [UInt8]) -> [String] {
    stride(from: 0, to: digits.count, by: 4).map { start in
      String(digits[start..<min(start + 4, digits.count)].map { alphabet[Int($0)] })
    }
  }

  /// The digits that hold these bytes; the last one is filled up with zeros.
  package static func digits(holding bytes: [UInt8]) -> [UInt8] {
    var (digits, rest) = regroup(bytes, from: 8, to: 5)
    if rest.bits > 0 { digits.append(UInt8(rest.value << (5 - rest.bits))) }
    return digits
  }

  /// The whole bytes that digits hold.
  package static func bytes(in digits: [UInt8]) -> [UInt8] {
    regroup(digits, from: 5, to: 8).groups
  }

  /// The same bits, the highest first, in groups of another size, and those that fill none.
  private static func regroup(
    _ groups: [UInt8], from old: Int, to new: Int
  ) -> (groups: [UInt8], rest: (value: Int, bits: Int)) {
    var regrouped: [UInt8] = []
    var (value, bits) = (0, 0)
    for group in groups {
      value = value << old | Int(group)
      bits += old
      while bits >= new {
        bits -= new
        regrouped.append(UInt8(value >> bits))
        value &= (1 << bits) - 1
      }
    }
    return (regrouped, (value, bits))
  }
}
