/// One value of a row as SQLite stores it.
public enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
  /// Text that is not valid UTF-8, as its bytes: programs can store such, and it stays what it is.
  case malformedText([UInt8])
}

extension SQLValue: Hashable {
  /// As SQLite compares: texts by their bytes, where Swift takes some for equal that differ.
  public static func == (left: SQLValue, right: SQLValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let one), .integer(let other)): one == other
    case (.real(let one), .real(let other)): one == other
    case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
    case (.blob(let one), .blob(let other)): one == other
    case (.malformedText(let one), .malformedText(let other)): one == other
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let integer): hasher.combine(integer)
    case .real(let real): hasher.combine(real)
    case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .blob(let bytes), .malformedText(let bytes): hasher.combine(bytes)
    }
  }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral text: String) { self = .text(text) }
  public init(integerLiteral integer: Int64) { self = .integer(integer) }
  public init(floatLiteral real: Double) { self = .real(real) }
  public init(nilLiteral: ()) { self = .null }
}
