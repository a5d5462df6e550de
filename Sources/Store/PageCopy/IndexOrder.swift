import Glibc
import SQLite

/// Whether what is read from an index comes in the order of that index.
///
/// SQLite searches an index by halves, so an entry in the wrong place is not found by its key.
/// `quick_check` looks at the order of rowids alone.
struct IndexOrder: Equatable {
  fileprivate enum Collation: Equatable { case binary, nocase, rtrim }

  fileprivate struct Column: Equatable {
    var isDescending: Bool
    var collation: Collation
    /// The value of the entry before.
    var last = Kept.null
    var bytes: [UInt8] = []
  }

  /// Bytes are kept beside it, in a place of their own.
  fileprivate enum Kept: Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text
    case blob

    /// "NULL < numbers < text < blob" (sqlite.org/datatype3.html#sort_order).
    var rank: Int {
      switch self {
      case .null: 0
      case .integer, .real: 1
      case .text: 2
      case .blob: 3
      }
    }
  }

  private var columns: [Column] = []
  /// Two entries may not be equal in so many columns, unless one of them is NULL.
  private let uniqueCount: Int
  private var isFirst = true

  /// `rows`: of each column what `pragma_index_xinfo` says as `desc`, `coll` and `key`, at 2 to 4.
  /// Nil if a collation is not known.
  init?(_ rows: [[SQLite.Value]], isUnique: Bool) {
    for row in rows {
      let collation: Collation
      switch row[3].string?.uppercased() {
      case "BINARY": collation = .binary
      case "NOCASE": collation = .nocase
      case "RTRIM": collation = .rtrim
      default: return nil
      }
      columns.append(Column(isDescending: row[2].integer == 1, collation: collation))
    }
    let keys = rows.prefix { $0[4].integer == 1 }.count
    uniqueCount = isUnique ? keys : rows.count
  }

  /// Whether this entry comes after the one before it, which is forgotten.
  mutating func follows(_ statement: Statement) -> Bool {
    var order = 0
    var (decidedAt, hasNull) = (columns.count, false)
    for number in columns.indices {
      let content = statement.content(number)
      if case .null = content, number < uniqueCount { hasNull = true }
      if order == 0, !isFirst {
        order = columns[number].order(before: content)
        decidedAt = number
      }
      columns[number].keep(content)
    }
    guard !isFirst else {
      isFirst = false
      return true
    }
    return order < 0 && (decidedAt < uniqueCount || hasNull)
  }
}

extension IndexOrder.Column {
  fileprivate mutating func keep(_ content: Statement.Content) {
    switch content {
    case .null: last = .null
    case .integer(let integer): last = .integer(integer)
    case .real(let real): last = .real(real)
    case .text(let text):
      last = .text
      bytes.replaceSubrange(0..., with: text)
    case .blob(let blob):
      last = .blob
      bytes.replaceSubrange(0..., with: blob)
    }
  }

  /// Below 0 if the value that is kept comes first, 0 if the index holds the two for equal.
  fileprivate func order(before next: Statement.Content) -> Int {
    let order = ascending(before: next)
    return isDescending ? -order : order
  }

  private func ascending(before next: Statement.Content) -> Int {
    switch (last, next) {
    case (.integer(let one), .integer(let other)): Self.order(one, other)
    case (.real(let one), .real(let other)): Self.order(one, other)
    case (.integer(let one), .real(let other)): Self.order(one, other)
    case (.real(let one), .integer(let other)): -Self.order(other, one)
    case (.text, .text(let other)): bytes.withUnsafeBytes { order($0, other) }
    case (.blob, .blob(let other)): bytes.withUnsafeBytes { Self.order($0, other) }
    default: Self.order(last.rank, next.rank)
    }
  }

  private static func order<Number: Comparable>(_ one: Number, _ other: Number) -> Int {
    one < other ? -1 : one == other ? 0 : 1
  }

  /// No integer is rounded, as in `sqlite3IntFloatCompare`.
  private static func order(_ one: Int64, _ other: Double) -> Int {
    if other < -0x1p63 { return 1 }
    if other >= 0x1p63 { return -1 }
    let whole = Int64(other)
    return one == whole ? order(Double(whole), other) : order(one, whole)
  }

  private static func order(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
  ) -> Int {
    let count = min(one.count, other.count)
    let order =
      if count > 0, let one = one.baseAddress, let other = other.baseAddress {
        Int(memcmp(one, other, count))
      } else {
        0
      }
    return order != 0 ? order : Self.order(one.count, other.count)
  }

  private func order(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
    switch collation {
    case .binary: return Self.order(one, other)
    case .nocase:
      // "the 26 upper case characters of ASCII are folded" (sqlite.org/datatype3.html#collation).
      // What follows a NUL counts by its length alone (`sqlite3StrNICmp`).
      for (one, other) in zip(one, other) {
        guard Self.small(one) == Self.small(other) else {
          return Self.order(Self.small(one), Self.small(other))
        }
        if one == 0 { break }
      }
      return Self.order(one.count, other.count)
    case .rtrim: return Self.order(Self.trimmed(one), Self.trimmed(other))
    }
  }

  private static func small(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }

  private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let end = text.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? 0
    return UnsafeRawBufferPointer(rebasing: text[..<end])
  }
}

extension Statement.Content {
  fileprivate var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }
}
