/// Writes the primitive fields of the protocol into a growing buffer.
package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  /// Most of what is written is short: room for it is taken at once.
  package init() { bytes.reserveCapacity(96) }

  package init(capacity: Int) { bytes.reserveCapacity(capacity) }

  package mutating func byte(_ value: UInt8) { bytes.append(value) }

  /// Puts in what was not known when its place was left.
  mutating func set(_ index: Int, to value: UInt8) { bytes[index] = value }

  /// Eight bytes, big endian.
  package mutating func word(_ value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// An unsigned integer: seven bits a byte, the lowest first (LEB128).
  package mutating func uint(_ value: UInt64) {
    if value < 0x80 { return bytes.append(UInt8(value)) }
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  package mutating func uint(_ value: Int) {
    precondition(value >= 0, "a negative count of \(value)")
    uint(UInt64(value))
  }

  /// A signed integer, zigzag: 0, −1, 1, −2 …
  package mutating func int(_ value: Int64) {
    uint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// A length and that many bytes.
  package mutating func blob(_ value: [UInt8]) {
    uint(value.count)
    bytes.append(contentsOf: value)
  }

  package mutating func text(_ value: String) {
    var value = value
    value.withUTF8 {
      uint($0.count)
      bytes.append(contentsOf: $0)
    }
  }

  package mutating func raw(_ value: [UInt8]) { bytes.append(contentsOf: value) }

  package mutating func raw(_ value: UnsafeRawBufferPointer) { bytes.append(contentsOf: value) }

  /// What comes before the content of a text or blob value of that many bytes.
  package mutating func head(isText: Bool, count: Int) {
    byte(isText ? 3 : 4)
    uint(count)
  }

  package mutating func identity(_ value: Identity) {
    word(value.high)
    word(value.low)
  }

  package mutating func term(_ value: Term) {
    uint(value.number)
    word(value.incarnation)
  }

  package mutating func value(_ value: Value) {
    switch value {
    case .null: null()
    case .integer(let integer): self.value(integer)
    case .real(let real): self.value(real)
    case .text(let text):
      head(isText: true, count: text.count)
      bytes.append(contentsOf: text)
    case .blob(let content):
      head(isText: false, count: content.count)
      bytes.append(contentsOf: content)
    }
  }

  package mutating func null() { byte(0) }

  package mutating func value(_ integer: Int64) {
    byte(1)
    int(integer)
  }

  package mutating func value(_ real: Double) {
    byte(2)
    word(real.bitPattern)
  }

  /// A text or blob value, from where it lies.
  package mutating func value(_ content: UnsafeRawBufferPointer, isText: Bool) {
    head(isText: isText, count: content.count)
    bytes.append(contentsOf: content)
  }

  package mutating func frontier(_ frontier: Frontier) {
    uint(frontier.list.count)
    for entry in frontier.list {
      word(entry.origin.rawValue)
      uint(entry.seq)
    }
  }

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
