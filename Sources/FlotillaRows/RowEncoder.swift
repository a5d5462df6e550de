import Flotilla
import FoundationEssentials

/// Makes a row of a value: each property is a column (docs/library.md).
struct RowEncoder {
  /// The columns of a value; nil is NULL, not a column that is left out.
  static func row(of value: some Encodable) throws(FlotillaError) -> [String: SQLValue] {
    let columns = Columns()
    do {
      try value.encode(to: RowWriter(columns: columns))
      guard columns.isKeyed else { throw Unfit("it has no properties") }
      guard !columns.isNested else { throw Unfit("it writes its properties into one another") }
    } catch {
      throw FlotillaError(
        .usage, "a \(type(of: value)) is no row: \(reason(error))",
        remedy: "A row is a struct, or a dictionary, with a value for each column.")
    }
    return columns.values
  }

  /// The value of one column.
  static func column<Value: Encodable>(_ value: Value) throws -> SQLValue {
    switch value {
    case let value as SQLValue: return value
    case let value as Data: return .blob([UInt8](value))
    case let value as URL: return .text(value.absoluteString)
    case let value as Decimal: return .text(value.description)
    case let value as Date: return .text(try RowDate.text(of: value))
    // By its type: an empty list of any other kind would pass for one of bytes.
    case let value as [UInt8] where Value.self == [UInt8].self: return .blob(value)
    default: break
    }
    let writer = ValueWriter()
    try value.encode(to: writer)
    switch writer.found.content {
    case .value(let value): return value
    case .nothing: throw Unfit("a \(type(of: value)) encodes to nothing")
    case .parts:
      let encoder = JSONEncoder()
      // In one order always: else a row that was only read and written back would be an edit.
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return .text(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as Unfit: error.reason
    case EncodingError.invalidValue(_, let context): context.debugDescription
    default: "\(error)"
    }
  }
}

/// Why a value cannot be stored.
struct Unfit: Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}

extension SQLValue {
  init(_ number: some BinaryInteger) throws {
    guard let integer = Int64(exactly: number) else {
      throw Unfit("\(number) does not fit in an INTEGER, which has 64 bits with its sign")
    }
    self = .integer(integer)
  }

  init(_ number: some BinaryFloatingPoint) throws {
    guard !number.isNaN else { throw Unfit("SQLite has no NaN") }
    self = .real(Double(number))
  }
}

/// What one row is made of.
private final class Columns {
  var values: [String: SQLValue] = [:]
  var isKeyed = false
  /// Whether something was written where a row has no place for it.
  var isNested = false
}

/// The encoder of a whole row.
private struct RowWriter: Encoder {
  let columns: Columns
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    columns.isKeyed = true
    return KeyedEncodingContainer(RowContainer<Key>(columns: columns))
  }

  // A list or a single value is no row: what is written there goes nowhere, and `isKeyed` says so.
  func unkeyedContainer() -> any UnkeyedEncodingContainer { Discarded() }
  func singleValueContainer() -> any SingleValueEncodingContainer { Discarded() }
}

private struct RowContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let columns: Columns
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { columns.values[key.stringValue] = .null }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    do {
      columns.values[key.stringValue] = try RowEncoder.column(value)
    } catch let error as Unfit {
      throw Unfit("\(key.stringValue): \(error.reason)")
    }
  }

  // Swift's own leave a column out if its value is nil, one for each type.
  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }

  private func put(_ value: (some Encodable)?, _ key: Key) throws {
    try encodeIfPresent(value, forKey: key)
  }

  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    columns.isNested = true
    return KeyedEncodingContainer(Discarded.Keyed<Nested>())
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    columns.isNested = true
    return Discarded()
  }

  func superEncoder() -> any Encoder {
    columns.isNested = true
    return Discarded()
  }

  func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
}
