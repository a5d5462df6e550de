import FoundationEssentials
import Glibc
import SQLite

/// Writes values of rows as JSON, so that they come back as they were.
///
/// A column with a declared type says what a text of digits is meant to be. One without needs the
/// long forms, `{"integer":"9007199254740993"}` and `{"real":"5.0"}`: JavaScript would write both
/// back as another value.
struct RowText {
  private(set) var bytes: [UInt8] = []

  init() {}

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(raw text: String) { bytes.append(contentsOf: text.utf8) }

  /// A text in quotes.
  mutating func append(quoted text: [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 10: append("\\n")
      case 0..<0x20:
        append("\\u00")
        append(raw: (byte < 16 ? "0" : "") + String(byte, radix: 16))
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// How many bytes a value takes as JSON, at most. A control character takes six.
  static func size(of value: Value) -> Int {
    switch value {
    case .null, .integer, .real: return 40
    case .blob(let bytes): return 20 + bytes.count / 3 * 4
    case .text(let bytes):
      var (size, isASCII) = (20, true)
      for byte in bytes {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 10: size += 2
        case 0..<0x20: size += 6
        default:
          size += 1
          isASCII = isASCII && byte < 0x80
        }
      }
      let isText = isASCII || String(validating: bytes, as: UTF8.self) != nil
      return isText ? size : 20 + bytes.count / 3 * 4
    }
  }

  /// One value; `isUntyped` says that its column makes nothing of what is written into it.
  mutating func append(_ value: Value, isUntyped: Bool) {
    switch value {
    case .null: append("null")
    case .integer(let number) where number.magnitude <= 1 << 53: append(raw: String(number))
    case .integer(let number):
      append(raw: isUntyped ? "{\"integer\":\"\(number)\"}" : "\"\(number)\"")
    case .real(let number): append(number, isUntyped: isUntyped)
    case .text(let text):
      if String(validating: text, as: UTF8.self) != nil {
        append(quoted: text)
      } else {
        append(form: "base64_text", text)
      }
    case .blob(let blob): append(form: "base64", blob)
    }
  }

  private mutating func append(_ number: Double, isUntyped: Bool) {
    if number.isInfinite {
      append(raw: "{\"real\":\"\(number > 0 ? "" : "-")Infinity\"}")
    } else if isUntyped && number == number.rounded() || number.magnitude >= 0x1p63 {
      // JavaScript would write it as an integer, of more than 64 bits.
      append(raw: "{\"real\":\"\(number)\"}")
    } else {
      append(raw: number.description)
    }
  }

  private mutating func append(form name: String, _ content: [UInt8]) {
    append(raw: "{\"\(name)\":\"\(Data(content).base64EncodedString())\"}")
  }

  /// One row as an object by column.
  mutating func append(row values: [Value], columns: [TableShape.Column]) {
    append("{")
    for (index, (value, column)) in zip(values, columns).enumerated() {
      if index > 0 { append(",") }
      append(quoted: Array(column.name.utf8))
      append(":")
      append(value, isUntyped: column.isUntyped)
    }
    append("}")
  }
}

extension JSONValue {
  /// The value for SQLite that this says; throws what is wrong with it.
  func stored() throws(ValueError) -> Value {
    switch self {
    case .null: return .null
    case .bool(let isTrue): return .integer(isTrue ? 1 : 0)
    case .text(let text): return .string(text)
    case .number(let digits): return try Self.number(digits)
    case .array: throw ValueError("an array is no value of a row")
    case .object(let members):
      guard members.count == 1, case .text(let content) = members[0].value else {
        throw ValueError("an object is a value only as {\"base64\":…} and its like")
      }
      return try Self.form(members[0].name, content)
    }
  }

  private static func number(_ digits: String) throws(ValueError) -> Value {
    if digits.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) {
      guard let integer = Int64(digits) else {
        throw ValueError("an integer does not fit in 64 bits; write {\"real\":\"…\"} or a text")
      }
      return .integer(integer)
    }
    guard let real = Double(digits), real.isFinite else {
      throw ValueError("a number is too large")
    }
    return .real(real)
  }

  /// The long forms.
  private static func form(_ name: String, _ content: String) throws(ValueError) -> Value {
    switch name {
    case "text": return .string(content)
    case "integer":
      guard let integer = Int64(content) else { throw ValueError("that is no 64-bit integer") }
      return .integer(integer)
    case "real":
      if content == "Infinity" { return .real(.infinity) }
      if content == "-Infinity" { return .real(-.infinity) }
      guard case .number? = try? JSONReader.read(Array(content.utf8)), let real = Double(content),
        real.isFinite
      else { throw ValueError("that is no real number") }
      return .real(real)
    case "base64", "base64_text":
      guard let data = Data(base64Encoded: content) else { throw ValueError("that is no base 64") }
      return name == "base64" ? .blob([UInt8](data)) : .text([UInt8](data))
    default: throw ValueError("an object is a value only as {\"base64\":…} and its like")
    }
  }
}

/// What is wrong with a value that a client has sent.
struct ValueError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}
