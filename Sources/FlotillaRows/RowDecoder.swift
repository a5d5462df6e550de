import Flotilla
import FoundationEssentials

/// Makes a value of a row: each column is a property (docs/library.md).
struct RowDecoder {
  static func value<Row: Decodable>(
    _ type: Row.Type, of row: [String: SQLValue]
  ) throws(FlotillaError) -> Row {
    do {
      return try Row(from: RowReader(row: row))
    } catch {
      throw FlotillaError(
        .usage, "a row does not fit \(type): \(reason(error))",
        remedy: "Name the columns in the query as the properties are named (SELECT … AS …).")
    }
  }

  /// The values of all rows of a query.
  static func values<Row: Decodable>(
    _ type: Row.Type, of report: SQLReport
  ) throws(FlotillaError) -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(report.rows.count)
    for values in report.rows {
      let named = Dictionary(zip(report.columns, values), uniquingKeysWith: { first, _ in first })
      rows.append(try value(type, of: named))
    }
    return rows
  }

  /// A column as a type that a column can hold by itself; others decode from what it holds.
  fileprivate static func column<Value: Decodable>(
    _ type: Value.Type, _ value: SQLValue
  ) throws -> Value {
    let found: Any?
    switch (type, value) {
    case (is SQLValue.Type, _): found = value
    case (is Data.Type, .blob(let bytes)): found = Data(bytes)
    case (is [UInt8].Type, .blob(let bytes)): found = bytes
    case (is Date.Type, .text(let text)): found = RowDate.date(of: text)
    case (is Date.Type, .integer(let seconds)): found = Date(timeIntervalSince1970: Double(seconds))
    case (is Date.Type, .real(let seconds)): found = Date(timeIntervalSince1970: seconds)
    case (is Data.Type, _), (is [UInt8].Type, _), (is Date.Type, _): found = nil
    default: return try Value(from: ValueReader(value: value))
    }
    guard let found = found as? Value else { throw misfit(value, type) }
    return found
  }

  fileprivate static func misfit(_ value: SQLValue, _ type: Any.Type) -> Unfit {
    switch value {
    case .null: Unfit("it is NULL, and \(type) has no such value (\(type)? has)")
    case .integer(let number): Unfit("it is the INTEGER \(number), which is no \(type)")
    case .real(let number): Unfit("it is the REAL \(number), which is no \(type)")
    case .text(let text): Unfit("it is the TEXT '\(text.prefix(40))', which is no \(type)")
    case .blob(let bytes): Unfit("it is a BLOB of \(bytes.count) bytes, which is no \(type)")
    case .malformedText: Unfit("it is a TEXT that is not UTF-8, which is no \(type)")
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as Unfit: error.reason
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      context.debugDescription
    default: "\(error)"
    }
  }
}

/// The decoder of a whole row.
private struct RowReader: Decoder {
  let row: [String: SQLValue]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer<Key>(row: row))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw Unfit("it has columns, and no order of its own")
  }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw Unfit("it has columns, and is no single value")
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: [String: SQLValue]
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.keys.compactMap(Key.init) }

  func contains(_ key: Key) -> Bool { row[key.stringValue] != nil }
  func decodeNil(forKey key: Key) -> Bool { row[key.stringValue] == .null }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    guard let value = row[key.stringValue] else {
      throw Unfit("there is no column \(key.stringValue)")
    }
    do {
      return try RowDecoder.column(type, value)
    } catch let error as Unfit {
      throw Unfit("column \(key.stringValue): \(error.reason)")
    }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { RowReader(row: row) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

  private func decoder(_ key: Key) -> ValueReader {
    ValueReader(value: row[key.stringValue] ?? .null)
  }
}

/// The decoder of one column.
private struct ValueReader: Decoder, SingleValueDecodingContainer {
  let value: SQLValue
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Lends the decoder of what a text holds as JSON.
  private struct Borrowed: Decodable {
    let decoder: any Decoder
    init(from decoder: any Decoder) { self.decoder = decoder }
  }

  private func json() throws -> any Decoder {
    guard case .text(let text) = value,
      let borrowed = try? JSONDecoder().decode(Borrowed.self, from: Data(text.utf8))
    else { throw Unfit("it holds no JSON") }
    return borrowed.decoder
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try json().container(keyedBy: type)
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try json().unkeyedContainer() }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    switch value {
    case .integer(0): false
    case .integer(1): true
    default: throw RowDecoder.misfit(value, type)
    }
  }
  func decode(_ type: String.Type) throws -> String {
    guard case .text(let text) = value else { throw RowDecoder.misfit(value, type) }
    return text
  }
  func decode(_ type: Double.Type) throws -> Double {
    switch value {
    case .real(let number): return number
    // SQLite itself stores a REAL without a fraction as an integer.
    case .integer(let number):
      guard let real = Double(exactly: number) else { fallthrough }
      return real
    default: throw RowDecoder.misfit(value, type)
    }
  }
  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try RowDecoder.column(type, value)
  }

  private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard case .integer(let integer) = value, let number = Number(exactly: integer) else {
      throw RowDecoder.misfit(value, type)
    }
    return number
  }
}
