import Glibc

/// One value in one of SQLite's five storage classes.
///
/// Text is kept as the bytes that SQLite stores: it may hold NUL characters and may be
/// malformed UTF-8, and both must pass unchanged.
package enum Value: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  /// Text from a Swift string.
  package static func string(_ string: String) -> Value { .text(Array(string.utf8)) }
  /// Text from a Swift string, or NULL.
  package static func string(_ string: String?) -> Value { string.map(Value.string) ?? .null }

  /// The integer, if this is one.
  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }
  /// The text as a Swift string (malformed sequences repaired), if this is text.
  package var string: String? {
    if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }
  /// The bytes, if this is a blob.
  package var blob: [UInt8]? {
    if case .blob(let bytes) = self { bytes } else { nil }
  }
  /// A text or blob of so many bytes is not copied without need.
  @usableFromInline package static let longCount = 256 << 10
  /// The bytes of such a text or blob.
  @usableFromInline var longBytes: [UInt8]? {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count >= Self.longCount ? bytes : nil
    default: nil
    }
  }
  @usableFromInline var isText: Bool {
    if case .text = self { true } else { false }
  }
  package var isNull: Bool {
    if case .null = self { true } else { false }
  }
}

extension Value: Equatable {
  /// Equal in class and bits: 1 and 1.0 differ, NaN payloads and −0.0 count.
  package static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.text(let a), .text(let b)): haveEqualBytes(a, b)
    case (.blob(let a), .blob(let b)): haveEqualBytes(a, b)
    default: false
    }
  }
}

/// Compares whole words at a time, as `==` of arrays does not.
private func haveEqualBytes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  left.withUnsafeBytes { left in
    right.withUnsafeBytes { right in
      left.count == right.count
        && (left.isEmpty || memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0)
    }
  }
}
