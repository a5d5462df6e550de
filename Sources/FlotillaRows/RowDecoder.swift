import Flotilla
import FoundationEssentials

/// Makes a value of a row: each column is a property (docs/library.md).
struct RowDecoder {
  static func value<Row: Decodable>(
    _ type: Row.Type, of row: [String: SQLValue], noting changed: ChangedValues? = nil
  ) throws(FlotillaError) -> Row {
    // Of a row that cannot be written none finds another one.
    let changed = Row.self is any Encodable.Type ? changed : nil
    do {
      return try Row(from: RowReader(row: row, changed: changed))
    } catch {
      throw FlotillaError(
        .usage, "a row does not fit \(type): \(reason(error))",
        remedy: "Name the columns in the query as the properties are named (SELECT … AS …).")
    }
  }

  /// The values of all rows of a query.
  static func values<Row: Decodable>(
    _ type: Row.Type, of report: SQLReport, noting changed: ChangedValues? = nil
  ) throws(FlotillaError) -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(report.rows.count)
    let names = report.columns.map { $0.lowercased() }
    if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw FlotillaError(
        .usage, "the query has two columns that are called \(twice)",
        remedy: "Give one of them another name: SELECT … AS …")
    }
    for values in report.rows {
      let named = Dictionary(zip(report.columns, values), uniquingKeysWith: { first, _ in first })
      rows.append(try value(type, of: named, noting: changed))
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
    case (_, .blob(let bytes)) where Value.self == [UInt8].self: found = bytes
    case (is URL.Type, .text(let text)):
      found = try URL(string: text).map { try same($0, written: $0.absoluteString, as: text) }
    case (is UUID.Type, .text(let text)):
      found = try UUID(uuidString: text).map { try same($0, written: $0.uuidString, as: text) }
    case (is Decimal.Type, .text(let text)): found = decimal(of: text)
    case (is Decimal.Type, .integer(let number)): found = Decimal(number)
    case (is Decimal.Type, .real(let number)): found = decimal(of: number.description)
    case (is Date.Type, .text(let text)): found = RowDate.date(of: text)
    case (is Date.Type, .integer(let seconds)): found = Date(timeIntervalSince1970: Double(seconds))
    case (is Date.Type, .real(let seconds)): found = Date(timeIntervalSince1970: seconds)
    case (is Data.Type, _), (is Date.Type, _), (is URL.Type, _), (is Decimal.Type, _): found = nil
    case _ where Value.self == [UInt8].self: found = nil
    default: return try Value(from: ValueReader(value: value))
    }
    guard let found = found as? Value else { throw misfit(value, type) }
    return found
  }

  /// Refuses a text that would be written back as another one: that may be the key of another row.
  private static func same<Value>(_ value: Value, written: String, as text: String) throws -> Value
  {
    guard written.utf8.elementsEqual(text.utf8) else {
      throw Unfit("it holds a TEXT that \(Value.self) writes otherwise; read it as a String")
    }
    return value
  }

  /// A number that takes the whole text and loses none of its digits; nil for anything else.
  private static func decimal(of text: String) -> Decimal? {
    let pattern = /[+-]?([0-9]*)\.?([0-9]*)(?:[eE][+-]?[0-9]{1,3})?/
    guard let (_, whole, fraction) = text.wholeMatch(of: pattern)?.output,
      !(whole.isEmpty && fraction.isEmpty), let number = Decimal(string: text), number.isFinite
    else { return nil }
    let digits = (whole + fraction).drop { $0 == "0" }
    let zeros = digits.reversed().prefix { $0 == "0" }.count
    guard digits.count - zeros <= 38, digits.isEmpty == number.isZero else { return nil }
    return number
  }

  /// Says nothing of what the value is: messages end up in logs.
  fileprivate static func misfit(_ value: SQLValue, _ type: Any.Type) -> Unfit {
    let kind =
      switch value {
      case .null: "is NULL"
      case .integer: "holds an INTEGER"
      case .real: "holds a REAL"
      case .text: "holds a TEXT"
      case .blob: "holds a BLOB"
      case .malformedText: "holds a TEXT that is not UTF-8"
      }
    return Unfit("it \(kind), which is no \(type)")
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
  let changed: ChangedValues?
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer<Key>(row: row, changed: changed))
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
  let changed: ChangedValues?
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.keys.compactMap(Key.init) }

  /// As SQLite compares names of columns: capitals do not count. Mostly they are the same anyway.
  private func value(_ key: Key) -> SQLValue? {
    if let value = row[key.stringValue] { return value }
    let name = key.stringValue.lowercased()
    return row.first { $0.key.lowercased() == name }?.value
  }

  func contains(_ key: Key) -> Bool { value(key) != nil }
  func decodeNil(forKey key: Key) -> Bool { value(key) == .null }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    guard let value = value(key) else {
      throw Unfit("there is no column \(key.stringValue)")
    }
    do {
      let found = try RowDecoder.column(type, value)
      changed?.note(found, read: value, in: key.stringValue)
      return found
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
  func superDecoder() throws -> any Decoder { RowReader(row: row, changed: changed) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

  private func decoder(_ key: Key) -> ValueReader {
    ValueReader(value: value(key) ?? .null)
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
  /// Of a REAL the nearest one that there is, unless it is out of range.
  func decode(_ type: Float.Type) throws -> Float {
    if case .integer(let number) = value, Float(exactly: number) == nil {
      throw RowDecoder.misfit(value, type)
    }
    let number = try decode(Double.self)
    guard Float(number).isFinite == number.isFinite else { throw RowDecoder.misfit(value, type) }
    return Float(number)
  }
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
