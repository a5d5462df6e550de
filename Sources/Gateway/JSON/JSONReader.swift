/// Reads one JSON text (RFC 8259), strictly: no member twice, no half of a surrogate pair, no
/// bytes that are not UTF-8, nothing behind it.
struct JSONReader {
  /// Arrays and objects in one another, values in all, and the length of a number, at most.
  static let deepest = 32
  static let mostValues = 250_000
  static let longestNumber = 400

  private let bytes: [UInt8]
  private var at = 0
  private var values = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw JSONError(message: "the text is not UTF-8", offset: 0)
    }
    var reader = JSONReader(bytes)
    reader.skipBlanks()
    let value = try reader.value(depth: 0)
    reader.skipBlanks()
    guard reader.at == bytes.count else { throw reader.error("something stands behind the value") }
    return value
  }

  private func error(_ message: String) -> JSONError { JSONError(message: message, offset: at) }

  private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    at += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    values += 1
    guard values <= Self.mostValues else { throw error("there are too many values") }
    switch next {
    case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case nil: throw error("the text ends where a value should be")
    default: return .number(try number())
    }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
    guard bytes[at...].starts(with: word.utf8) else { throw error("this is no value") }
    at += word.utf8.count
    return value
  }

  private mutating func elements(depth: Int) throws(JSONError) -> [JSONValue] {
    guard depth <= Self.deepest else { throw error("arrays and objects are too deep") }
    at += 1
    skipBlanks()
    var elements: [JSONValue] = []
    if skip("]") { return elements }
    while true {
      skipBlanks()
      elements.append(try value(depth: depth))
      skipBlanks()
      if skip("]") { return elements }
      guard skip(",") else { throw error("a comma or ] is missing") }
    }
  }

  private mutating func members(depth: Int) throws(JSONError) -> [JSONMember] {
    guard depth <= Self.deepest else { throw error("arrays and objects are too deep") }
    at += 1
    skipBlanks()
    var members: [JSONMember] = []
    var names = MemberNames()
    if skip("}") { return members }
    while true {
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { throw error("a name in quotes is missing") }
      let start = at
      let name = try text()
      guard names.add(name) else {
        throw JSONError(message: "a name stands twice in one object", offset: start)
      }
      skipBlanks()
      guard skip(":") else { throw error("a colon is missing") }
      skipBlanks()
      members.append(JSONMember(name: name, value: try value(depth: depth)))
      skipBlanks()
      if skip("}") { return members }
      guard skip(",") else { throw error("a comma or } is missing") }
    }
  }

  private mutating func number() throws(JSONError) -> String {
    let start = at
    _ = skip("-")
    if !skip("0"), digits() == 0 { throw error("this is no value") }
    if skip("."), digits() == 0 { throw error("digits are missing behind the point") }
    if skip("e") || skip("E") {
      if !skip("+") { _ = skip("-") }
      guard digits() > 0 else { throw error("digits are missing in the exponent") }
    }
    guard at - start <= Self.longestNumber else {
      throw JSONError(message: "the number is too long", offset: start)
    }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  private mutating func digits() -> Int {
    let start = at
    while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
    return at - start
  }

  private mutating func text() throws(JSONError) -> String {
    at += 1
    var content: [UInt8] = []
    while true {
      let start = at
      while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
        at += 1
      }
      let run = bytes[start..<at]
      switch next {
      case nil: throw error("the text ends within a string")
      case UInt8(ascii: "\""):
        at += 1
        guard !content.isEmpty else { return String(decoding: run, as: UTF8.self) }
        return String(decoding: content + run, as: UTF8.self)
      case UInt8(ascii: "\\"):
        content += run
        try content.append(contentsOf: escape())
      default: throw error("a control character stands in a string")
      }
    }
  }

  private mutating func escape() throws(JSONError) -> [UInt8] {
    at += 1
    guard let byte = next else { throw error("the text ends within a string") }
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [8]
    case UInt8(ascii: "f"): return [12]
    case UInt8(ascii: "n"): return [10]
    case UInt8(ascii: "r"): return [13]
    case UInt8(ascii: "t"): return [9]
    case UInt8(ascii: "u"): return Array(String(try scalar()).utf8)
    default: throw error("this escape is unknown")
    }
  }

  /// What `\u` says; a character beyond the first 65,536 takes two of them.
  private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, skip("\\"), skip("u") else { throw error("half a character") }
    let second = try unit()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    else { throw error("half a character") }
    return scalar
  }

  private mutating func unit() throws(JSONError) -> UInt32 {
    let digits = bytes[at..<min(at + 4, bytes.count)]
    guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
      let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw error("four hexadecimal digits are missing") }
    at += 4
    return unit
  }
}

/// The names in one object, by their bytes: to Swift two spellings of a letter are one.
private struct MemberNames {
  /// So many are compared one by one.
  private static let few = 16
  private var list: [String] = []
  private var set: Set<[UInt8]> = []

  /// False if the name is there already.
  mutating func add(_ name: String) -> Bool {
    guard list.count >= Self.few else {
      guard !list.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else { return false }
      list.append(name)
      return true
    }
    if set.isEmpty { set = Set(list.map { Array($0.utf8) }) }
    return set.insert(Array(name.utf8)).inserted
  }
}
