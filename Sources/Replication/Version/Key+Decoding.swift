extension Key {
  /// What a key of one column holds, if its value can be had as it is written; nil for others.
  package enum Single {
    case integer(Int64)
    /// Where the bytes of the value are among those of the key.
    case text(Range<Int>)
    case blob(Range<Int>)
  }

  package var single: Single? {
    guard let tag = bytes.first else { return nil }
    switch tag {
    case Tag.zero - 8...Tag.zero + 8:
      var rest = bytes.dropFirst()
      let integer = Self.takeInteger(tag, from: &rest)
      return rest.isEmpty ? integer.map { .integer($0) } : nil
    case Tag.text, Tag.blob:
      // The first zero ends the value, or is one that is in it.
      guard bytes.firstIndex(of: 0) == bytes.count - 1 else { return nil }
      let place = 1..<bytes.count - 1
      return tag == Tag.text ? .text(place) : .blob(place)
    default: return nil
    }
  }

  /// The key values in canonical form, or nil if the bytes are no key.
  package var values: [Value]? {
    var values: [Value] = []
    var rest = bytes[...]
    while let tag = rest.popFirst() {
      switch tag {
      case Tag.zero - 8...Tag.zero + 8:
        guard let integer = Self.takeInteger(tag, from: &rest) else { return nil }
        values.append(.integer(integer))
      case Tag.real:
        guard let word = Self.takeWord(8, from: &rest) else { return nil }
        let bits = word >> 63 == 1 ? word & ~(1 << 63) : ~word
        values.append(.real(Double(bitPattern: bits)))
      case Tag.text:
        guard let content = Self.takeContent(from: &rest) else { return nil }
        values.append(.text(content))
      case Tag.blob:
        guard let content = Self.takeContent(from: &rest) else { return nil }
        values.append(.blob(content))
      default: return nil
      }
    }
    return values
  }

  private static func takeInteger(_ tag: UInt8, from rest: inout ArraySlice<UInt8>) -> Int64? {
    let count = Int(tag) - Int(Tag.zero)
    guard let word = takeWord(abs(count), from: &rest) else { return nil }
    guard count < 0 else { return Int64(exactly: word) }
    let mask: UInt64 = count == -8 ? .max : (1 << UInt64(-count * 8)) - 1
    let magnitude = ~word & mask
    return magnitude == 1 << 63 ? .min : Int64(exactly: magnitude).map { -$0 }
  }

  private static func takeWord(_ count: Int, from rest: inout ArraySlice<UInt8>) -> UInt64? {
    guard rest.count >= count else { return nil }
    let word = rest.prefix(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(count)
    return word
  }

  private static func takeContent(from rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    var content: [UInt8] = []
    while let zero = rest.firstIndex(of: 0) {
      content += rest[..<zero]
      rest = rest[(zero + 1)...]
      guard rest.first == 0xFF else { return content }
      content.append(0)
      rest = rest.dropFirst()
    }
    return nil
  }
}
