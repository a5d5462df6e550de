import SQLite

/// The SQL that makes one key column out of what is left of a canonical key, the blob `r`.
///
/// Beside `r` it uses `bytes`, in which each byte stands in the place of its number. The encoding
/// is that of `Key`; a value that cannot be in such a column has no branch and is NULL, as no key
/// value is.
struct KeyColumnText {
  let schema: TableSchema
  /// Which column of the key.
  let index: Int

  private var column: Column { schema.columns[schema.key[index]] }
  var isLast: Bool { index == schema.key.count - 1 }

  /// The storage classes that the canonical keys of this column can have.
  private enum Class {
    case integer, fraction, text, blob
    /// A text or a blob, of which the column makes a text.
    case bytes
    /// A text or a blob, and the column says nothing of it.
    case either
  }

  private var classes: [Class] {
    if schema.hasIntegerKey { return [.integer] }
    switch column.affinity {
    case .text: return schema.isStrict ? [.text] : [.bytes]
    // Of a column of numbers: what is none has no place in a CAST.
    case .integer: return schema.isStrict ? [.integer] : [.integer, .fraction]
    case .real: return [.integer, .fraction]
    case .blob where schema.isStrict && isSameName(column.type, "BLOB"): return [.blob]
    case .blob, .numeric:
      return [.integer, .fraction] + (schema.isWide ? [.text, .blob] : [.either])
    }
  }

  /// True for a column whose values a CAST would change.
  var needsTypedColumn: Bool { column.affinity == .numeric }

  /// The affinity decides whether SQLite can look up a row of the view by a column of the table:
  /// an automatic index needs the affinity of the comparison (where.c, termCanDriveIndex).
  private var cast: String? {
    switch column.affinity {
    case .text: "TEXT"
    // As INTEGER it would cut a fraction off.
    case .integer: "NUMERIC"
    case .real: "REAL"
    case .numeric, .blob: nil
    }
  }

  private var collation: String {
    let collation = schema.keyCollations[index]
    return schema.hasIntegerKey || collation == "BINARY" ? "" : " COLLATE \(collation)"
  }

  /// NULL with the affinity and the collation of the column.
  var typedNull: String {
    let type = needsTypedColumn ? "NUMERIC" : cast
    return (type.map { "CAST(NULL AS \($0))" } ?? "NULL") + collation
  }

  /// The value of the column.
  var value: String {
    let branches = classes.map { kind -> String in
      switch kind {
      case .integer:
        "WHEN \(Self.isLowest) THEN 1 << 63 WHEN \(Self.isInteger) THEN \(Self.integer)"
      case .fraction: "WHEN \(Self.isFraction) THEN \(Self.fraction)"
      case .text: "WHEN \(Self.isTagged(0x30, through: 0x30)) THEN \(text)"
      case .blob: "WHEN \(Self.isTagged(0x40, through: 0x40)) THEN \(blob(as: "BLOB"))"
      case .bytes:
        schema.isWide
          ? "WHEN \(Self.isTagged(0x30, through: 0x30)) THEN \(text) "
            + "WHEN \(Self.isTagged(0x40, through: 0x40)) THEN \(blob(as: "TEXT"))"
          : "WHEN \(Self.isTagged(0x30, through: 0x40)) THEN \(text)"
      case .either: "WHEN \(Self.isTagged(0x30, through: 0x40)) THEN \(either)"
      }
    }
    let value = "CASE \(branches.joined(separator: " ")) END"
    return (cast.map { "CAST(\(value) AS \($0))" } ?? value) + collation
  }

  /// The rest of the key behind this column; where the column has no value it does not matter.
  var rest: String {
    let (number, fraction) = ("2 + \(Self.length)", "WHEN \(Self.isFraction) THEN 10")
    let hasContent = classes.contains { ![.integer, .fraction].contains($0) }
    let start =
      switch (classes.first == .integer, classes.contains(.fraction), hasContent) {
      case (true, false, false): number
      case (true, true, false): "CASE \(fraction) ELSE \(number) END"
      case (false, false, _): "1 + \(Self.end)"
      default: "CASE WHEN \(Self.isInteger) THEN \(number) \(fraction) ELSE 1 + \(Self.end) END"
      }
    return "substr(r, \(start))"
  }

  private static let tag = "substr(r, 1, 1)"

  /// Whether the tag is one of these: blobs are compared byte by byte, and something follows each
  /// tag but that of zero.
  private static func isTagged(_ first: UInt8, through last: UInt8) -> String {
    "r BETWEEN \(literal(first)) AND \(literal(last + 1))"
  }

  private static let isInteger = isTagged(0x0C, through: 0x1C)
  private static let isFraction = isTagged(0x21, through: 0x21)

  /// A number behind the tag.
  private static func byte(_ index: Int) -> String { "instr(bytes, substr(r, \(index + 1), 1))" }

  /// The first `count` bytes behind the tag as a number. A shift binds no tighter than "|", and
  /// what stands to the left comes first: so each shift is one of all bytes before it.
  private static func word(_ count: Int) -> String {
    (1...count).map(byte).joined(separator: " << 8 | ")
  }

  /// How many bytes of a number follow its tag.
  private static let length = "abs(instr(bytes, \(tag)) - 20)"

  /// One more than the highest number would be a REAL, so the lowest, of which all but the first
  /// bit is the complement, stands apart.
  private static let isLowest = "r BETWEEN x'0C7FFFFFFFFFFFFFFF' AND x'0C80'"

  /// A negative number is stored as the complement of its magnitude, which is the number less one
  /// with the upper bytes left out.
  ///
  /// Most programs read the text of the view whenever they open the file, so it is short: seven
  /// bytes are read whatever the length is, and what stands behind the number is shifted out. An
  /// eighth makes room for itself by a shift to the right by less than nothing.
  private static let integer: String = {
    let isNegative = "(r < x'14')"
    let eighth = "CASE WHEN \(isTagged(0x0D, through: 0x1B)) THEN 0 ELSE \(byte(8)) END"
    let seven = "-\(isNegative) << 8 | \(word(7)) >> 56 - 8 * \(length)"
    return "(\(seven) | \(eighth)) + \(isNegative)"
  }()

  private static func literal(_ byte: UInt8) -> String {
    "x'\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))'"
  }

  /// The number whose IEEE bits these are, exactly: the 53 digits `f` times two to the power of
  /// `d` − 1074, made of powers that are exact and without a step that would round.
  private static let fraction: String = {
    let powers = ["p32", "p64", "p128", "p256", "p512"]
    let factors = powers.enumerated().map {
      " * CASE WHEN d & \(32 << $0.offset) THEN \($0.element) ELSE 1.0 END"
    }
    let first = " * (1 << (d & 31))"
    let last = " * CASE WHEN d & 1024 THEN p512 ELSE 1.0 END"
    return "(SELECT CASE x WHEN 2047 THEN s * 9e999 "
      + "ELSE s * (f / p512 / p512 / 1125899906842624.0"
      + "\(first)\(factors.joined())\(last)\(last)) END "
      + "FROM (SELECT s, g >> 52 AS x, max(g >> 52, 1) - 1 AS d, "
      + "(g & 4503599627370495) + ((g >> 52 > 0) << 52) AS f, "
      + "p32, p64, p128, p128 * p128 AS p256, (p128 * p128) * (p128 * p128) AS p512 "
      + "FROM (SELECT CASE WHEN w < 0 THEN 1 ELSE -1 END AS s, "
      + "CASE WHEN w < 0 THEN w ELSE ~w END & 9223372036854775807 AS g, "
      + "p32, p32 * p32 AS p64, (p32 * p32) * (p32 * p32) AS p128 "
      + "FROM (SELECT \(word(8)) AS w, 4294967296.0 AS p32))))"
  }()

  /// Where the content of a TEXT or BLOB ends: at the first 00 that is not followed by FF.
  private static let end =
    "CASE WHEN substr(r, instr(r, x'00') + 1, 1) <> x'FF' THEN instr(r, x'00') "
    + "ELSE (WITH RECURSIVE _flotilla_z(i) AS (SELECT instr(r, x'00') UNION ALL "
    + "SELECT i + 1 + instr(substr(r, i + 2), x'00') FROM _flotilla_z "
    + "WHERE substr(r, i + 1, 1) = x'FF') "
    + "SELECT max(i) FROM _flotilla_z) END"

  private var text: String {
    if schema.isWide { return WideText.decoded(blob(as: "BLOB")) }
    return cast == "TEXT" ? content : blob(as: "TEXT")
  }

  /// A text or a blob of a file in UTF-8.
  private var either: String {
    "(SELECT CASE WHEN r < x'31' THEN CAST(u AS TEXT) ELSE CAST(u AS BLOB) END "
      + "FROM (SELECT \(content) AS u))"
  }

  private func blob(as type: String) -> String {
    guard schema.isWide else { return "CAST(\(content) AS \(type))" }
    let blob = WideText.unescaped(escaped, withEnd: "substr(r, 2, 1 + \(contentLength))")
    return type == "BLOB" ? blob : "CAST(\(blob) AS \(type))"
  }

  private var contentLength: String { isLast ? "length(r) - 2" : "\(Self.end) - 2" }
  private var escaped: String { "substr(r, 2, \(contentLength))" }

  /// The content with each 00 FF made 00 again, as a blob or a text of the same bytes; most have
  /// none, and are not walked through.
  private var content: String {
    "(SELECT CASE WHEN instr(e, x'00') = 0 THEN e "
      + "ELSE (WITH RECURSIVE _flotilla_u(s, b) AS (SELECT x'', e UNION ALL "
      + "SELECT s || substr(b, 1, instr(b, x'00')), substr(b, instr(b, x'00') + 2) "
      + "FROM _flotilla_u WHERE instr(b, x'00') > 0) "
      + "SELECT s || b FROM _flotilla_u WHERE instr(b, x'00') = 0) END "
      + "FROM (SELECT \(escaped) AS e))"
  }
}
