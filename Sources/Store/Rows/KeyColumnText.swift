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
  /// Whether the texts of the file are UTF-16.
  let isWide: Bool

  private var column: Column { schema.columns[schema.key[index]] }
  var isLast: Bool { index == schema.key.count - 1 }

  /// The storage classes that the canonical keys of this column can have.
  private enum Class {
    case integer, fraction, text, blob
    /// A text or a blob, of which the column makes a text.
    case bytes
  }

  private var classes: [Class] {
    if schema.hasIntegerKey { return [.integer] }
    switch column.affinity {
    case .text: return schema.isStrict ? [.text] : [.bytes]
    // Of a column of numbers: what is none has no place in a CAST.
    case .integer: return schema.isStrict ? [.integer] : [.integer, .fraction]
    case .real: return [.integer, .fraction]
    case .blob where schema.isStrict && isSameName(column.type, "BLOB"): return [.blob]
    case .blob, .numeric: return [.integer, .fraction, .text, .blob]
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
      case .integer: "WHEN \(Self.isInteger) THEN \(Self.integer)"
      case .fraction: "WHEN \(Self.isFraction) THEN \(Self.fraction)"
      case .text: "WHEN \(Self.isTagged(0x30, through: 0x30)) THEN \(text)"
      case .blob: "WHEN \(Self.isTagged(0x40, through: 0x40)) THEN \(content(as: "BLOB"))"
      case .bytes:
        isWide
          ? "WHEN \(Self.isTagged(0x30, through: 0x30)) THEN \(text) "
            + "WHEN \(Self.isTagged(0x40, through: 0x40)) THEN \(content(as: "TEXT"))"
          : "WHEN \(Self.isTagged(0x30, through: 0x40)) THEN \(text)"
      }
    }
    let value = "CASE \(branches.joined(separator: " ")) END"
    return (cast.map { "CAST(\(value) AS \($0))" } ?? value) + collation
  }

  /// The rest of the key behind this column.
  var rest: String {
    "substr(r, CASE WHEN \(Self.isInteger) THEN 2 + abs(instr(bytes, \(Self.tag)) - 20) "
      + "WHEN \(Self.isFraction) THEN 10 ELSE 1 + \(Self.end) END)"
  }

  private static let tag = "substr(r, 1, 1)"

  /// Whether the tag is one of these: blobs are compared byte by byte, and something follows each
  /// tag but that of zero.
  private static func isTagged(_ first: UInt8, through last: UInt8) -> String {
    "r BETWEEN \(literal(first)) AND \(literal(last + 1))"
  }

  private static let isInteger = isTagged(0x0C, through: 0x1C)
  private static let isFraction = isTagged(0x21, through: 0x21)

  /// The first `count` bytes behind the tag as a number. A shift binds no tighter than "|".
  private static func word(_ count: Int) -> String {
    (0..<count).map { index in
      let byte = "instr(bytes, substr(r, \(index + 2), 1))"
      return index == count - 1 ? byte : "(\(byte) << \(8 * (count - 1 - index)))"
    }.joined(separator: " | ")
  }

  /// A negative number is stored as the complement of its magnitude, which is the number less one
  /// with the upper bytes left out. One more than the highest would be a REAL, so the lowest number
  /// stands apart.
  ///
  /// Most programs read the text of the view whenever they open the file, so it is short: no more
  /// than three lengths of words are written out, and what stands behind the number is shifted out.
  private static let integer: String = {
    let isNegative = "(r < x'14')"
    func shifted(_ count: Int) -> String {
      let unused = "\(8 * count) - 8 * abs(instr(bytes, \(tag)) - 20)"
      return "((\(word(count)) | (-\(isNegative) << \(8 * count))) >> (\(unused))) + \(isNegative)"
    }
    return "CASE WHEN \(isTagged(0x11, through: 0x17)) THEN \(shifted(3)) "
      + "WHEN \(isTagged(0x0D, through: 0x1B)) THEN \(shifted(7)) "
      + "WHEN r BETWEEN x'0C7FFFFFFFFFFFFFFF' AND x'0C80' THEN 1 << 63 "
      + "ELSE (\(word(8))) + \(isNegative) END"
  }()

  private static func literal(_ byte: UInt8) -> String {
    "x'\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))'"
  }

  /// The number whose IEEE bits these are, exactly: the 53 digits `f` times two to the power of
  /// `d` − 1074, made of powers that are exact and without a step that would round.
  private static let fraction: String = {
    let powers = ["2.0", "4.0", "16.0", "256.0", "65536.0", "p32", "p64", "p128", "p256", "p512"]
    let factors = powers.enumerated().map {
      " * CASE WHEN d & \(1 << $0.offset) THEN \($0.element) ELSE 1.0 END"
    }
    let last = " * CASE WHEN d & 1024 THEN p512 ELSE 1.0 END"
    return "(SELECT CASE x WHEN 2047 THEN s * 9e999 "
      + "ELSE s * (f / p512 / p512 / 1125899906842624.0\(factors.joined())\(last)\(last)) END "
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
    isWide ? WideText.decoded(content(as: "BLOB")) : content(as: "TEXT")
  }

  /// The content with each 00 FF made 00 again; most have none, and are not walked through.
  private func content(as type: String) -> String {
    let length = isLast ? "length(r) - 2" : "(\(Self.end)) - 2"
    let escaped = "substr(r, 2, \(length))"
    guard !isWide else {
      let blob = WideText.unescaped(escaped, withEnd: "substr(r, 2, 1 + \(length))")
      return type == "BLOB" ? blob : "CAST(\(blob) AS \(type))"
    }
    return "CASE WHEN instr(\(escaped), x'00') = 0 THEN CAST(\(escaped) AS \(type)) "
      + "ELSE (WITH RECURSIVE _flotilla_u(s, b) AS (SELECT x'', \(escaped) UNION ALL "
      + "SELECT s || substr(b, 1, instr(b, x'00')), substr(b, instr(b, x'00') + 2) "
      + "FROM _flotilla_u WHERE instr(b, x'00') > 0) "
      + "SELECT CAST(s || b AS \(type)) FROM _flotilla_u WHERE instr(b, x'00') = 0) END"
  }
}
