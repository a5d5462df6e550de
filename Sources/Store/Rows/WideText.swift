/// The SQL that reads texts and blobs of a key in a file whose texts are UTF-16.
///
/// There CAST takes the UTF-8 of a key for UTF-16, and no function of SQLite takes it for what it
/// is; `char` makes a character of its number. `bytes` holds each byte in the place of its number.
enum WideText {
  /// Makes each 00 FF 00 again; `whole` is the same blob with the 00 that ends it.
  ///
  /// What `||` makes is a text, and of one in UTF-16 it drops half a character (vdbe.c, OP_Concat:
  /// "nByte &= ~1"). So it is given the byte that follows where the length would be odd: of `s`
  /// only the first `n` bytes count. It is never empty, for of an empty blob `substr` makes NULL.
  static func unescaped(_ blob: String, withEnd whole: String) -> String {
    func joined(_ length: String) -> String {
      "CAST(substr(s, 1, n) || substr(b, 1, \(length) + (n + \(length)) % 2) AS BLOB)"
    }
    let (zero, end) = ("instr(b, x'00')", "length(b) - 1")
    return "CASE WHEN instr(\(blob), x'00') = 0 THEN \(blob) "
      + "ELSE (WITH RECURSIVE _flotilla_u(s, n, b) AS (SELECT x'00', 0, \(whole) UNION ALL "
      + "SELECT \(joined(zero)), n + \(zero), substr(b, \(zero) + 2) "
      + "FROM _flotilla_u WHERE \(zero) < length(b)) "
      + "SELECT substr(\(joined(end)), 1, n + \(end)) FROM _flotilla_u "
      + "WHERE \(zero) = length(b)) END"
  }

  /// The text of these bytes.
  static func decoded(_ utf8: String) -> String {
    "(WITH RECURSIVE _flotilla_w(b, t) AS (SELECT \(utf8), '' UNION ALL "
      + "SELECT substr(b, \(width)), t || char(\(character)) FROM _flotilla_w WHERE b <> x'') "
      + "SELECT t FROM _flotilla_w WHERE b = x'')"
  }

  /// Where the next character begins. Blobs are compared byte by byte.
  private static let width =
    "CASE WHEN b < x'80' THEN 2 WHEN b < x'E0' THEN 3 WHEN b < x'F0' THEN 4 ELSE 5 END"

  private static let character: String = {
    func byte(_ index: Int) -> String { "instr(bytes, substr(b, \(index), 1))" }
    /// The lowest bits of the first byte, then six of each byte that follows (RFC 3629, section 3).
    func number(_ bits: Int, _ count: Int) -> String {
      (2...count).reduce("(\(byte(1)) & \(1 << bits - 1))") { sum, index in
        "((\(sum) << 6) | (\(byte(index)) & 63))"
      }
    }
    return "CASE WHEN b < x'80' THEN \(byte(1)) WHEN b < x'E0' THEN \(number(5, 2)) "
      + "WHEN b < x'F0' THEN \(number(4, 3)) ELSE \(number(3, 4)) END"
  }()
}
