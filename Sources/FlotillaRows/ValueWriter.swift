import Flotilla
import FoundationEssentials

/// The encoder of one column: says whether a value is a single one, or one with parts.
struct ValueWriter: Encoder {
  enum Content {
    case nothing
    case value(SQLValue)
    /// A list, or something with properties: a column holds it as JSON.
    case parts
  }

  final class Found {
    fileprivate(set) var content = Content.nothing
  }

  let found = Found()
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    found.content = .parts
    return KeyedEncodingContainer(Discarded.Keyed<Key>())
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    found.content = .parts
    return Discarded()
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(found: found) }

  private struct Single: SingleValueEncodingContainer {
    let found: Found
    var codingPath: [any CodingKey] { [] }

    private func set(_ value: SQLValue) { found.content = .value(value) }

    func encodeNil() { set(.null) }
    func encode(_ value: Bool) { set(.integer(value ? 1 : 0)) }
    func encode(_ value: String) { set(.text(value)) }
    func encode(_ value: Double) throws { set(try .init(value)) }
    func encode(_ value: Float) throws { set(try .init(value)) }
    func encode(_ value: Int) throws { set(try .init(value)) }
    func encode(_ value: Int8) throws { set(try .init(value)) }
    func encode(_ value: Int16) throws { set(try .init(value)) }
    func encode(_ value: Int32) throws { set(try .init(value)) }
    func encode(_ value: Int64) throws { set(try .init(value)) }
    func encode(_ value: UInt) throws { set(try .init(value)) }
    func encode(_ value: UInt8) throws { set(try .init(value)) }
    func encode(_ value: UInt16) throws { set(try .init(value)) }
    func encode(_ value: UInt32) throws { set(try .init(value)) }
    func encode(_ value: UInt64) throws { set(try .init(value)) }
    func encode(_ value: some Encodable) throws { set(try RowEncoder.column(value)) }
  }
}

/// Takes what is written and keeps nothing: for values that `JSONEncoder` writes, or nobody does.
struct Discarded: Encoder, UnkeyedEncodingContainer, SingleValueEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var count: Int { 0 }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed<Key>())
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() {}
  func encode(_ value: some Encodable) {}
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { container(keyedBy: type) }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { self }

  /// The same with keys.
  struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {}
    func encode(_ value: some Encodable, forKey key: Key) {}
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { KeyedEncodingContainer(Keyed<Nested>()) }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Discarded() }
    func superEncoder() -> any Encoder { Discarded() }
    func superEncoder(forKey key: Key) -> any Encoder { Discarded() }
  }
}
