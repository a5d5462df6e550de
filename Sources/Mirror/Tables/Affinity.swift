import SQLite

/// What a column of SQLite makes of a value ("Determination Of Column Affinity",
/// sqlite.org/datatype3.html).
enum Affinity: Sendable, Equatable {
  case integer
  case real
  case numeric
  case text
  case none

  init(declared type: String, isStrict: Bool) {
    let type = type.uppercased()
    if isStrict, type == "ANY" || type == "BLOB" {
      self = .none
    } else if type.contains("INT") {
      self = .integer
    } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
      self = .text
    } else if type.isEmpty || type.contains("BLOB") {
      self = .none
    } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// The value that a column holds after it was given this one; nil if that is not foreseen here.
  func stored(_ value: Value) -> Value? {
    switch (self, value) {
    case (.none, _), (_, .null), (_, .blob), (.text, .text), (.real, .real): value
    case (.integer, .integer), (.numeric, .integer): value
    case (.real, .integer(let number)): .real(Double(number))
    case (.integer, .real(let number)), (.numeric, .real(let number)): Self.shortened(number)
    case (.text, .integer(let number)): .string(String(number))
    case (.text, .real): nil
    case (_, .text(let bytes)): numberOrText(bytes)
    }
  }

  /// Whether a column keeps such a value as it is, whatever it is.
  func keeps(_ value: Value) -> Bool {
    switch (self, value) {
    case (.integer, .integer), (.numeric, .integer), (.text, .text), (.none, _): true
    default: false
    }
  }

  /// "if the value is an integer that fits, it is converted": −0.0 becomes 0.
  private static func shortened(_ number: Double) -> Value {
    guard let integer = Int64(exactly: number), integer > .min, integer < .max else {
      return .real(number)
    }
    return .integer(integer)
  }

  /// A text that is a number becomes one; others stay.
  private func numberOrText(_ bytes: [UInt8]) -> Value? {
    let letters: Set<UInt8> = Set("0123456789+-.eE \t\n\u{b}\u{c}\r".utf8)
    guard bytes.allSatisfy(letters.contains), bytes.contains(where: { (48...57).contains($0) })
    else { return .text(bytes) }
    let isSpace = { (byte: UInt8) in " \t\n\u{b}\u{c}\r".utf8.contains(byte) }
    let inner = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    // A date, an address or a telephone number is none.
    guard Self.isNumeral(Array(inner)) else { return .text(bytes) }
    guard inner.count == bytes.count else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    if let integer = Int64(text) {
      return self == .real ? .real(Double(integer)) : .integer(integer)
    }
    guard let number = Double(text), number.isFinite else { return nil }
    // A whole number lies in the file as one, and 0 has no sign there.
    return self == .real ? .real(number == 0 ? 0 : number) : Self.shortened(number)
  }

  /// Digits with a sign, a point and an exponent, or without them.
  private static func isNumeral(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    func sign() { if rest.first == 43 || rest.first == 45 { rest.removeFirst() } }
    func digits() -> Int {
      let end = rest.firstIndex { !(48...57).contains($0) } ?? rest.endIndex
      defer { rest = rest[end...] }
      return end - rest.startIndex
    }
    sign()
    var count = digits()
    if rest.first == 46 {
      rest.removeFirst()
      count += digits()
    }
    guard count > 0 else { return false }
    if rest.first == 101 || rest.first == 69 {
      rest.removeFirst()
      sign()
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }
}

/// A decimal fraction as its digits: what a DECIMAL of a server holds.
struct Decimal: Equatable {
  var isNegative = false
  /// Without zeros in front.
  var whole: String
  /// Without zeros at the end.
  var fraction: String

  /// Nil if the text is not digits with at most one point.
  init?(_ text: String) {
    var rest = Substring(text)
    if let sign = rest.first, sign == "-" || sign == "+" {
      isNegative = sign == "-"
      rest = rest.dropFirst()
    }
    let parts = rest.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
      parts.contains(where: { !$0.isEmpty })
    else { return nil }
    whole = String(parts[0].drop { $0 == "0" })
    fraction = parts.count > 1 ? String(parts[1]) : ""
    while fraction.last == "0" { fraction.removeLast() }
    if whole.isEmpty, fraction.isEmpty { isNegative = false }
  }

  /// The shortest text that gives this number back; nil if it is not finite, or too far from 1.
  init?(_ number: Double) {
    let text = number.description
    guard let sign = text.firstIndex(where: { $0 == "e" || $0 == "E" }) else {
      self.init(text)
      return
    }
    guard let shift = Int(text[text.index(after: sign)...]), abs(shift) < 80,
      var digits = Decimal(String(text[..<sign]))
    else { return nil }
    if shift > 0 {
      let padded = digits.fraction.padding(to: shift)
      digits.whole += padded.prefix(shift)
      digits.fraction = String(padded.dropFirst(shift))
    } else {
      digits.fraction =
        String(repeating: "0", count: max(0, -shift - digits.whole.count)) + digits.whole
        + digits.fraction
      digits.whole = ""
    }
    self.init((digits.isNegative ? "-" : "") + digits.whole + "." + digits.fraction + "0")
  }

  var text: String {
    (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole)
      + (fraction.isEmpty ? "" : "." + fraction)
  }
}

extension String {
  fileprivate func padding(to count: Int) -> String {
    self + String(repeating: "0", count: max(0, count - self.count))
  }
}
