import Replication
import SQLite

extension Affinity {
  /// Whether a column of it may store a value as another one (sqlite.org/datatype3.html, 3):
  /// "A column with TEXT affinity stores all data using storage classes NULL, TEXT or BLOB." Where
  /// text may be a number to SQLite that is said of more than what it takes for one.
  func mayConvert(_ value: Replication.Value) -> Bool {
    switch (self, value) {
    case (.text, .integer), (.text, .real), (.real, .integer): true
    // "As an internal optimization, small floating point values with no fractional component … are
    // written to disk as integers" (sqlite.org/datatype3.html, 3.1): there is one zero of these.
    case (.real, .real(let real)): real == 0 && real.sign == .minus
    case (.integer, .real(let real)), (.numeric, .real(let real)): real == real.rounded()
    case (.integer, .text(let bytes)), (.numeric, .text(let bytes)), (.real, .text(let bytes)):
      Double(String(decoding: bytes, as: UTF8.self).trimmingSpaces) != nil
    default: false
    }
  }

  /// The other values which a column of it stores as this one: of 7 in an INTEGER column '7', 7.0,
  /// and '7.00', as prices are written. Other text with a form of its own, like '07', is not among
  /// them.
  func others(
    of value: Replication.Value, on connection: Connection
  ) throws(SQLiteError) -> [Replication.Value] {
    let forms = """
      CAST(?1 AS TEXT), CAST(?1 AS NUMERIC), CAST(?1 AS INTEGER), CAST(?1 AS REAL),
      printf('%.1f', ?1), printf('%.2f', ?1), printf('%.3f', ?1), printf('%.4f', ?1)
      """
    switch (self, value) {
    case (.blob, _), (_, .null), (_, .blob): return []
    default: break
    }
    guard let row = try connection.row("SELECT \(forms)", [value.sqlite]) else { return [] }
    var others: [Replication.Value] = []
    for other in row.map({ Replication.Value($0) })
    where other != value && !others.contains(other) && mayConvert(other) {
      if try stored(other, on: connection) == value { others.append(other) }
    }
    return others
  }

  /// What a column of it stores of a value. Where SQLite takes a text for none of a number and
  /// `mayConvert` does, it is something else, and the same for equal texts.
  func applied(
    to value: Replication.Value, on connection: Connection
  ) throws(SQLiteError) -> Replication.Value {
    mayConvert(value) ? try stored(value, on: connection) : value
  }

  /// What a column of it stores of a number, or of the text of one.
  private func stored(
    _ value: Replication.Value, on connection: Connection
  ) throws(SQLiteError) -> Replication.Value {
    let type =
      switch self {
      case .text: "TEXT"
      case .real: "REAL"
      case .integer, .numeric: "NUMERIC"
      case .blob: "BLOB"
      }
    let cast = try connection.scalar("SELECT CAST(?1 AS \(type))", [value.sqlite])
    // "Casting a REAL or INTEGER value to NUMERIC is a no-op" (sqlite.org/lang_expr.html#castexpr),
    // but a column stores 7.0 as 7.
    if type == "NUMERIC", case .real(let real) = cast, let integer = Int64(exactly: real) {
      return .integer(integer)
    }
    return Replication.Value(cast)
  }
}

extension Replication.Value {
  /// Whether a file whose texts are UTF-16 shows another text: for bytes that are no UTF-8, and for
  /// U+FFFE and U+FFFF, SQLite writes U+FFFD there (READ_UTF8 in utf.c).
  package var isTornByUTF16: Bool {
    guard case .text(let bytes) = self else { return false }
    guard let text = String(validating: bytes, as: UTF8.self) else { return true }
    return text.unicodeScalars.contains { $0.value == 0xFFFE || $0.value == 0xFFFF }
  }

  /// Whether a column of another type has this for that number, or for the text of it.
  func isSameNumber(as other: Replication.Value) -> Bool {
    switch (self, other) {
    case (.integer(let integer), .text(let text)), (.text(let text), .integer(let integer)):
      return text == Array(String(integer).utf8)
    case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
      return Double(integer) == real
    case (.real(let real), .text(let text)), (.text(let text), .real(let real)):
      // The text has 15 digits.
      guard let number = Double(String(decoding: text, as: UTF8.self)) else { return false }
      return abs(number - real) <= abs(real) * 1e-14
    default: return false
    }
  }
}

extension String {
  /// Without the spaces around it that SQLite overlooks in a number.
  fileprivate var trimmingSpaces: Substring {
    let isSpace: (Character) -> Bool = { " \t\n\r\u{0B}\u{0C}".contains($0) || $0 == "\r\n" }
    guard let first = firstIndex(where: { !isSpace($0) }) else { return "" }
    let last = lastIndex { !isSpace($0) } ?? first
    return self[first...last]
  }
}
