import FoundationEssentials

/// A JSON text, written on one line with sorted keys.
///
/// `JSONEncoder` leaves out what is nil; the contract says null. So reports are written from
/// their stored properties, whose names are the keys.
package enum JSON: Sendable, Equatable, CustomStringConvertible {
  case null
  case bool(Bool)
  case number(String)
  case text(String)
  case array([JSON])
  case object([String: JSON])

  /// The stored properties of a report, all the way down.
  package init(reflecting value: Any) {
    switch value {
    case let json as JSON: self = json
    case let value as Bool: self = .bool(value)
    case let value as Int: self = .number(String(value))
    case let value as Double: self = value.isFinite ? .number(value.description) : .null
    case let value as String: self = .text(value)
    case let value as SQLValue: self.init(value)
    case let value as any RawRepresentable: self.init(reflecting: value.rawValue)
    default: self.init(partsOf: value)
    }
  }

  private init(partsOf value: Any) {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional:
      self = mirror.children.first.map { JSON(reflecting: $0.value) } ?? .null
    case .collection:
      self = .array(mirror.children.map { JSON(reflecting: $0.value) })
    case .dictionary:
      let pairs = (value as? [String: any Sendable] ?? [:]).mapValues { JSON(reflecting: $0) }
      self = .object(pairs)
    case .struct:
      let pairs = mirror.children.map { ($0.label ?? "", JSON(reflecting: $0.value)) }
      self = .object(Dictionary(uniqueKeysWithValues: pairs))
    default:
      preconditionFailure("\(mirror.subjectType) has no form in JSON")
    }
  }

  /// The value as the library writes it: blobs in base 64, great integers as text.
  package init(_ value: SQLValue) {
    switch value {
    case .null: self = .null
    case .text(let text): self = .text(text)
    case .integer(let number) where number.magnitude <= 1 << 53: self = .number(String(number))
    case .real(let number) where number.isFinite: self = .number(number.description)
    case .integer(let number): self = .text(String(number))
    case .real(let number): self = .text(number > 0 ? "Infinity" : "-Infinity")
    case .blob(let bytes):
      self = .object(["base64": .text(Data(bytes).base64EncodedString())])
    case .malformedText(let bytes):
      self = .object(["base64_text": .text(Data(bytes).base64EncodedString())])
    }
  }

  package var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .text(let text): Self.quoted(text)
    case .array(let parts): "[" + parts.map(\.description).joined(separator: ",") + "]"
    case .object(let pairs):
      "{"
        + pairs.sorted { $0.key < $1.key }
        .map { Self.quoted($0.key) + ":" + $0.value.description }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case "\0"..."\u{1f}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
