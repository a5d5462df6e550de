import Network
import Replication

/// The site key as text: short enough to be printed and typed in again.
///
/// Fourteen groups of four digits in Crockford's base32, of which the last four digits are a check.
struct SiteKeyText: Sendable {
  /// 256 bits in digits of five.
  private static let digits = 52
  private static let checkDigits = 4

  let key: SigningKey

  init(_ key: SigningKey) { self.key = key }

  /// Reads what `text` has written; lines that begin with # are for people.
  init(_ text: String) throws(FlotillaError) {
    var values: [UInt8] = []
    do {
      for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
        values += try Base32.digits(of: line)
      }
    } catch {
      throw Self.wrong("it contains \"\(error.character)\"")
    }
    guard values.count == Self.digits + Self.checkDigits else {
      throw Self.wrong("it has \(values.count) digits instead of \(Self.digits + Self.checkDigits)")
    }
    let seed = Base32.bytes(in: Array(values.prefix(Self.digits)))
    guard Array(values.suffix(Self.checkDigits)) == Self.check(seed),
      let key = SigningKey(seed: seed)
    else { throw Self.wrong("a digit is mistyped") }
    self.key = key
  }

  private static func wrong(_ why: String) -> FlotillaError {
    FlotillaError(
      .refused, "this is no site key: \(why)",
      remedy: "Give the file that flotilla export-site-key has written.")
  }

  func text(site: String) -> String {
    let seed = key.seed
    let groups = Base32.groups(of: Base32.digits(holding: seed) + Self.check(seed))
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

  /// The first 20 bits of the hash of the key.
  private static func check(_ seed: [UInt8]) -> [UInt8] {
    Array(Base32.digits(holding: Hashing.sha256(seed)).prefix(checkDigits))
  }
}
