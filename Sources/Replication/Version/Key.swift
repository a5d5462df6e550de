/// How a key column compares its text.
package enum KeyCollation: UInt8, Sendable {
  case binary = 0
  case nocase = 1
  case rtrim = 2
}

/// The identity of a row inside its table: its key values in one canonical, ordered encoding.
///
/// Two keys that SQLite holds for equal have equal bytes: NOCASE text is folded, RTRIM text is
/// trimmed, an integral real is written as the integer. The order of the bytes follows the order of
/// the table inside each storage class (a fraction sorts after all integers). So work in key order
/// walks its B-tree once, or nearly. The layout is that of the FoundationDB tuple layer, with tags
/// of our own.
package struct Key: Sendable, Hashable, Comparable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// Encodes key values; nil if one is NULL, for a row without a whole key has no identity.
  package init?(_ values: [Value], collations: [KeyCollation]) {
    self.init(values[...], collations: collations)
  }

  package init?(_ values: ArraySlice<Value>, collations: [KeyCollation]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(values.count * 20)
    for (index, place) in values.indices.enumerated() {
      switch values[place] {
      case .null: return nil
      case .integer(let integer): Self.append(integer, to: &bytes)
      case .real(let real): Self.append(real, to: &bytes)
      case .text(let text):
        bytes.append(Tag.text)
        let collation = index < collations.count ? collations[index] : .binary
        Self.append(collation.canonical(text), to: &bytes)
      case .blob(let blob):
        bytes.append(Tag.blob)
        Self.append(blob[...], to: &bytes)
      }
    }
    self.bytes = bytes
  }

  package static func == (left: Key, right: Key) -> Bool {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { right in
        left.count == right.count && compare(left, right) == 0
      }
    }
  }

  package static func < (left: Key, right: Key) -> Bool { order(left, right) < 0 }

  /// Below 0 if this comes before a key whose bytes are part of others, 0 if both are one.
  package func order(to others: [UInt8], _ range: Range<Int>) -> Int {
    bytes.withUnsafeBytes { left in
      others.withUnsafeBytes { others in
        let right = UnsafeRawBufferPointer(rebasing: others[range])
        let order = Self.compare(left, right)
        return order != 0 ? order : left.count - right.count
      }
    }
  }

  /// Below 0 if the first comes first, 0 if both are one.
  package static func order(_ left: Key, _ right: Key) -> Int {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { right in
        let order = compare(left, right)
        return order != 0 ? order : left.count - right.count
      }
    }
  }

  /// Its first eight bytes as a number: of two keys the one with the lower number comes first.
  package var lead: UInt64 {
    bytes.withUnsafeBytes { bytes in
      if bytes.count >= 8 {
        return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      }
      return bytes.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - bytes.count))
    }
  }

  /// Compares as many bytes as both have, eight at a time.
  private static func compare(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
  ) -> Int {
    let count = min(left.count, right.count)
    var place = 0
    while place + 8 <= count {
      let first = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let second = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      if first != second { return first < second ? -1 : 1 }
      place += 8
    }
    while place < count {
      if left[place] != right[place] { return left[place] < right[place] ? -1 : 1 }
      place += 1
    }
    return 0
  }

  enum Tag {
    /// Zero; n bytes of a positive integer are tagged zero + n, of a negative one zero − n.
    static let zero: UInt8 = 0x14
    static let real: UInt8 = 0x21
    static let text: UInt8 = 0x30
    static let blob: UInt8 = 0x40
  }

  /// Appends an integer, as `init` encodes it.
  package static func append(_ integer: Int64, to bytes: inout [UInt8]) {
    let magnitude = integer.magnitude
    let count = (64 - magnitude.leadingZeroBitCount + 7) / 8
    bytes.append(integer < 0 ? Tag.zero - UInt8(count) : Tag.zero + UInt8(count))
    let word = integer < 0 ? ~magnitude : magnitude
    for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
    }
  }

  /// Appends a real; one that has the value of an integer is that.
  package static func append(_ real: Double, to bytes: inout [UInt8]) {
    if let integer = Int64(exactly: real) { return append(integer, to: &bytes) }
    bytes.append(Tag.real)
    let bits = real.bitPattern
    let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: ordered >> UInt64(shift)))
    }
  }

  /// Appends a text that compares by its bytes, or a blob, from where it lies.
  package static func append(
    _ content: UnsafeRawBufferPointer, isText: Bool, to bytes: inout [UInt8]
  ) {
    bytes.append(isText ? Tag.text : Tag.blob)
    append(content, to: &bytes)
  }

  /// Zero bytes inside are followed by 0xFF, a lone zero ends the value.
  private static func append(_ content: some Collection<UInt8>, to bytes: inout [UInt8]) {
    var rest = content[...]
    while let zero = rest.firstIndex(of: 0) {
      bytes.append(contentsOf: rest[...zero])
      bytes.append(0xFF)
      rest = rest[rest.index(after: zero)...]
    }
    bytes.append(contentsOf: rest)
    bytes.append(0)
  }
}

extension KeyCollation {
  func canonical(_ text: [UInt8]) -> ArraySlice<UInt8> {
    switch self {
    case .binary: return text[...]
    case .nocase:
      // "The same as binary, except that the 26 upper case characters of ASCII are folded"
      // (sqlite.org/datatype3.html#collation).
      var folded = text.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
      // It compares bytes up to the first NUL, then lengths alone (sqlite3StrNICmp: `*a!=0`).
      if let end = folded.firstIndex(of: 0) {
        for index in end..<folded.count { folded[index] = 0 }
      }
      return folded[...]
    case .rtrim: return text[..<(text.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? 0)]
    }
  }
}
