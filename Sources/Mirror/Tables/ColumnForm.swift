import SQLite

/// How one column goes over, both ways: bit for bit, or not at all.
///
/// `encode` gives what the server is sent, `decode` what SQLite holds afterwards. A value that
/// would come back as another one is not sent: there is a sentence instead that says why.
struct ColumnForm: Sendable, Equatable {
  /// What the server's column takes.
  enum Kind: Sendable, Equatable {
    case integer(least: Int64, most: UInt64)
    case real
    /// So many letters or bytes; `trims` if it loses spaces at its end.
    case text(letters: Int?, bytes: Int?, trims: Bool)
    case bytes(most: Int)
    case decimal(digits: Int, scale: Int, isUnsigned: Bool)
    case date
    case time(decimals: Int)
    case moment(decimals: Int)
    case choice([String])
  }

  /// A value that does not go over, and why.
  struct Objection: Error, Sendable, Equatable {
    let reason: String

    init(_ reason: String) { self.reason = reason }
  }

  let kind: Kind
  let affinity: Affinity

  /// What the server is sent for a value of SQLite.
  func encode(_ value: Value) throws(Objection) -> Value {
    if value.isNull { return .null }
    let sent = try sent(value)
    switch (kind, affinity) {
    case (.integer, .integer), (.text, .text), (.bytes, .none): return sent
    case (.real, .real): return sent
    default: break
    }
    let back = try? decode(sentBack(sent))
    guard let back, !back.isNull else {
      throw Objection("the server's column cannot hold \(value.shown) as it is")
    }
    guard back == value else {
      throw Objection("\(value.shown) would come back as \(back.shown)")
    }
    return sent
  }

  /// What SQLite holds once it was given what the server has.
  func decode(_ value: Value) throws(Objection) -> Value {
    if value.isNull { return .null }
    let given: Value
    switch (kind, value) {
    case (.integer, .text(let digits)):
      throw Objection("\(String(decoding: digits, as: UTF8.self)) is no integer of SQLite")
    case (.decimal, .text(let bytes)):
      given = try number(bytes)
    case (.moment, .text(let bytes)), (.time, .text(let bytes)): given = .text(Self.shortest(bytes))
    case (.text, .blob(let bytes)): given = .text(bytes)
    case (.bytes, .text(let bytes)): given = .blob(bytes)
    default: given = value
    }
    guard let stored = affinity.stored(given) else {
      throw Objection("what SQLite makes of \(given.shown) in this column is not the same")
    }
    if case .real(let number) = given, number == 0, number.sign == .minus, affinity != .none {
      throw Objection("SQLite keeps -0.0 as 0 in this column")
    }
    if case .text = given, case .text = stored { return stored }
    if case .text = given, case .text = kind {
      throw Objection("SQLite takes the text \(given.shown) for a number in this column")
    }
    return stored
  }

  /// A DECIMAL whose digits a number of SQLite can hold, all of them.
  private func number(_ bytes: [UInt8]) throws(Objection) -> Value {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let decimal = Decimal(text) else { throw Objection("\(text) is no DECIMAL") }
    if affinity == .text || affinity == .none { return .text(bytes) }
    if decimal.fraction.isEmpty, let integer = Int64(decimal.text) { return .integer(integer) }
    guard let number = Double(decimal.text), Decimal(number) == decimal else {
      throw Objection("\(text) has more digits than a REAL of SQLite keeps")
    }
    return .real(number)
  }

  private func sent(_ value: Value) throws(Objection) -> Value {
    switch kind {
    case .integer(let least, let most): return try integer(value, least, most)
    case .real: return try real(value)
    case .text(let letters, let bytes, let trims):
      return try text(value, letters: letters, bytes: bytes, trims: trims)
    case .bytes(let most):
      guard case .blob(let bytes) = value else { throw Self.other(value, "bytes") }
      guard bytes.count <= most else {
        throw Objection("it has \(bytes.count) bytes, and the server's column takes \(most)")
      }
      return value
    case .decimal(let digits, let scale, let isUnsigned):
      return try decimal(value, digits: digits, scale: scale, isUnsigned: isUnsigned)
    case .date, .time, .moment:
      guard case .text(let bytes) = value, bytes.count <= 26,
        bytes.allSatisfy({ (48...58).contains($0) || [32, 45, 46].contains($0) })
      else { throw Self.other(value, "a date or time as the server writes it") }
      return value
    case .choice(let choices):
      guard case .text(let bytes) = value,
        choices.contains(where: { $0.utf8.elementsEqual(bytes) })
      else { throw Objection("\(value.shown) is none of the server's choices") }
      return value
    }
  }

  private func integer(_ value: Value, _ least: Int64, _ most: UInt64) throws(Objection) -> Value {
    let number: Int64
    switch value {
    case .integer(let integer): number = integer
    case .real(let real) where affinity == .real && Int64(exactly: real) != nil:
      number = Int64(real)
    default: throw Self.other(value, "an integer")
    }
    guard number >= least, number < 0 || UInt64(number) <= most else {
      throw Objection("\(number) is out of the range of the server's column")
    }
    return .integer(number)
  }

  private func real(_ value: Value) throws(Objection) -> Value {
    switch value {
    case .real(let number):
      guard number.isFinite else { throw Objection("the server knows no infinity") }
      guard number != 0 || number.sign == .plus else {
        throw Objection("-0.0 would come back as 0.0")
      }
      return value
    case .integer(let number) where affinity == .integer || affinity == .numeric:
      return .real(Double(number))
    default: throw Self.other(value, "a number")
    }
  }

  private func text(
    _ value: Value, letters: Int?, bytes most: Int?, trims: Bool
  ) throws(Objection) -> Value {
    guard case .text(let bytes) = value else { throw Self.other(value, "a text") }
    let objection = bytes.withUnsafeBytes {
      Self.objection(to: $0, letters: letters, bytes: most, trims: trims)
    }
    if let objection { throw objection }
    return value
  }

  /// What stands against sending a text to a column like this.
  static func objection(
    to text: UnsafeRawBufferPointer, letters: Int?, bytes most: Int?, trims: Bool
  ) -> Objection? {
    guard isPlain(text) || String(validating: text, as: UTF8.self) != nil else {
      return Objection("the text is no UTF-8")
    }
    if let most, text.count > most {
      return Objection("it has \(text.count) bytes, and the server's column takes \(most)")
    }
    if let letters, text.count > letters {
      let count = text.count { $0 & 0xC0 != 0x80 }
      guard count <= letters else {
        return Objection("it has \(count) letters, and the server's column takes \(letters)")
      }
    }
    guard !trims || text.last != 32 else {
      return Objection("the server's CHAR would lose the spaces at its end")
    }
    return nil
  }

  /// Whether a text is ASCII alone: eight bytes are looked at in one go.
  private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    var (place, bits): (Int, UInt64) = (0, 0)
    while place + 8 <= text.count {
      bits |= text.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      place += 8
    }
    while place < text.count {
      bits |= UInt64(text[place])
      place += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  private func decimal(
    _ value: Value, digits: Int, scale: Int, isUnsigned: Bool
  ) throws(Objection) -> Value {
    let decimal: Decimal?
    switch value {
    case .integer(let number): decimal = Decimal(String(number))
    case .real(let number) where number.isFinite && (number != 0 || number.sign == .plus):
      decimal = Decimal(number)
    case .text(let bytes): decimal = Decimal(String(decoding: bytes, as: UTF8.self))
    default: decimal = nil
    }
    guard let decimal else { throw Self.other(value, "a decimal fraction") }
    guard decimal.whole.count <= digits - scale, decimal.fraction.count <= scale,
      !isUnsigned || !decimal.isNegative
    else {
      throw Objection("\(value.shown) is no DECIMAL(\(digits),\(scale))")
    }
    return .string(decimal.text)
  }

  /// What the server tells of a value that it was sent.
  private func sentBack(_ value: Value) -> Value {
    switch (kind, value) {
    case (.decimal(_, let scale, _), .text(let bytes)) where scale > 0:
      let text = String(decoding: bytes, as: UTF8.self)
      let fraction = Decimal(text)?.fraction.count ?? 0
      let point = text.contains(".") ? "" : "."
      return .string(text + point + String(repeating: "0", count: scale - fraction))
    case (.moment(let decimals), .text(let bytes)):
      let text = String(decoding: bytes, as: UTF8.self)
      guard ServerMoment.isDay(text.prefix(10)), text.dropFirst(10).first == " ",
        let time = ServerMoment.time(text.dropFirst(11), decimals: decimals, hours: 0...23)
      else { return .null }
      return .string(text.prefix(11) + time)
    case (.time(let decimals), .text(let bytes)):
      let text = String(decoding: bytes, as: UTF8.self)
      return ServerMoment.time(Substring(text), decimals: decimals, hours: 0...838)
        .map(Value.string) ?? .null
    case (.date, .text(let bytes)):
      return ServerMoment.isDay(Substring(String(decoding: bytes, as: UTF8.self))) ? value : .null
    default: return value
    }
  }

  /// Without a fraction of zeros; of three digits if that is enough.
  private static func shortest(_ bytes: [UInt8]) -> [UInt8] {
    guard let point = bytes.lastIndex(of: 46) else { return bytes }
    let fraction = bytes[(point + 1)...]
    if fraction.allSatisfy({ $0 == 48 }) { return Array(bytes[..<point]) }
    guard fraction.count > 3, fraction.dropFirst(3).allSatisfy({ $0 == 48 }) else { return bytes }
    return Array(bytes[..<(point + 4)])
  }

  private static func other(_ value: Value, _ wanted: String) -> Objection {
    Objection("\(value.shown) is not \(wanted)")
  }
}

/// Days and times as a server writes them.
enum ServerMoment {
  /// A day of the calendar, from the year 1 on, as YYYY-MM-DD.
  static func isDay(_ text: Substring) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(parts[0]), year > 0,
      let month = Int(parts[1]), (1...12).contains(month), let day = Int(parts[2])
    else { return false }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    return (1...days).contains(day)
  }

  /// A time as the server gives it back, with so many decimals; nil if it is none, or has more.
  static func time(_ text: Substring, decimals: Int, hours: ClosedRange<Int>) -> String? {
    let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3,
      parts[0].utf8.count == 2 || parts[0].utf8.count == 3 && parts[0].first != "0",
      parts.dropFirst().allSatisfy({ $0.utf8.count == 2 }),
      let hour = Int(parts[0]), hours.contains(hour), let minute = Int(parts[1]),
      (0...59).contains(minute), let second = Int(parts[2]), (0...59).contains(second)
    else { return nil }
    let fraction = halves.count > 1 ? String(halves[1]) : ""
    guard halves.count == 1 || !fraction.isEmpty, fraction.count <= decimals else { return nil }
    let zeros = String(repeating: "0", count: decimals - fraction.count)
    return decimals == 0 ? String(halves[0]) : "\(halves[0]).\(fraction)\(zeros)"
  }
}

extension Value {
  /// As people read it, cut short.
  var shown: String {
    switch self {
    case .null: "NULL"
    case .integer(let number): String(number)
    case .real(let number): number.description
    case .text(let bytes):
      "'\(String(decoding: bytes.prefix(40), as: UTF8.self))\(bytes.count > 40 ? "…" : "")'"
    case .blob(let bytes): "a blob of \(bytes.count) bytes"
    }
  }
}
