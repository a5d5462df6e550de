import Network
import Replication

/// The site key as text: short enough to be printed and typed in again.
///
/// Fourteen groups of four digits in Crockford's base32, of which the last four digits are a check.
struct SiteKeyText: Sendable {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
  /// 256 bits in digits of five.
  private static let digits = 52
  private static let checkDigits = 4

  let key: SigningKey

  init(_ key: SigningKey) { self.key = key }

  /// Reads what `text` has written; lines that begin with # are for people.
  init(_ text: String) throws(FlotillaError) {
    var values: [UInt8] = []
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      for character in line.uppercased() where character != "-" && !character.isWhitespace {
        let plain: Character =
          switch character {
          case "I", "L": "1"
          case "O": "0"
          default: character
          }
        guard let value = Self.alphabet.firstIndex(of: plain) else {
          throw Self.wrong("it contains \"\(character)\"")
        }
        values.append(UInt8(value))
      }
    }
    guard values.count == Self.digits + Self.checkDigits else {
      throw Self.wrong("it has \(values.count) digits instead of \(Self.digits + Self.checkDigits)")
    }
    let seed = Self.bytes(Array(values.prefix(Self.digits)))
    guard Array(values.suffix(Self.checkDigits)) == Self.check(seed),
      let key = SigningKey(seed: seed)
    else { throw Self.wrong("a digit is mistyped") }
    self.key = key
  }

  private static func wrong(_ why: String) -> FlotillaError {
    FlotillaError(
      .usage, "this is no site key: \(why)",
      remedy: "Give the file that flotilla export-site-key has written.")
  }

  func text(site: String) -> String {
    let seed = key.seed
    let all = (Self.values(seed) + Self.check(seed)).map { Self.alphabet[Int($0)] }
    let groups = stride(from: 0, to: all.count, by: 4).map { String(all[$0..<$0 + 4]) }
    let lines = stride(from: 0, to: groups.count, by: 7).map {
      groups[$0..<min($0 + 7, groups.count)].joined(separator: "-")
    }
    // One line is for people as a whole, whatever the name.
    let site = site.split(whereSeparator: \.isNewline).joined(separator: " ")
    return """
      # Site key of "\(site)" (Flotilla). Who has it rules the site: keep it locked away.
      # On another member: flotilla import-site-key DB FILE
      \(lines.joined(separator: "\n"))

      """
  }

  private static func values(_ bytes: [UInt8]) -> [UInt8] {
    var values: [UInt8] = []
    var (buffer, bits) = (0, 0)
    for byte in bytes {
      buffer = buffer << 8 | Int(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        values.append(UInt8(buffer >> bits & 31))
      }
      buffer &= (1 << bits) - 1
    }
    if bits > 0 { values.append(UInt8(buffer << (5 - bits) & 31)) }
    return values
  }

  private static func bytes(_ values: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    var (buffer, bits) = (0, 0)
    for value in values {
      buffer = buffer << 5 | Int(value)
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(buffer >> bits & 255))
      }
      buffer &= (1 << bits) - 1
    }
    return bytes
  }

  /// The first 20 bits of the hash of the key.
  private static func check(_ seed: [UInt8]) -> [UInt8] {
    Array(values(Hashing.sha256(seed)).prefix(checkDigits))
  }
}
