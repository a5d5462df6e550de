/// Hashes the content of a row, independent of the order of its columns.
///
/// A column at its declared default counts for nothing, so a column that a migration adds does
/// not turn every row into a new version.
package struct ContentHash: Sendable {
  private var sum: UInt64 = 0x243F_6A88_85A3_08D3

  package init() {}

  /// Adds one column; `column` is the hash of its name.
  package mutating func add(column: UInt64, _ value: Value) {
    sum &+= Self.share(column: column, value)
  }

  /// What one column adds to the sum.
  package static func share(column: UInt64, _ value: Value) -> UInt64 {
    share(column: column, content: content(value))
  }

  /// The same of a value that has this hash.
  package static func share(column: UInt64, content: UInt64) -> UInt64 {
    mix(column ^ mix(content))
  }

  /// Adds a column that holds these bytes as a text or a blob.
  package mutating func add(column: UInt64, _ bytes: UnsafeRawBufferPointer, isText: Bool) {
    add(column: column, content: Self.content(bytes, isText: isText))
  }

  /// Adds a column whose value has this hash.
  package mutating func add(column: UInt64, content: UInt64) {
    sum &+= Self.share(column: column, content: content)
  }

  /// The hash of a value by itself.
  package static func content(_ value: Value) -> UInt64 {
    switch value {
    case .null: 1
    case .integer(let integer): mix(UInt64(bitPattern: integer) ^ 0x11)
    case .real(let real): mix(real.bitPattern ^ 0x2222)
    case .text(let bytes): hash64(bytes, seed: 3)
    case .blob(let bytes): hash64(bytes, seed: 4)
    }
  }

  /// The same of the bytes of a text or a blob.
  package static func content(_ bytes: UnsafeRawBufferPointer, isText: Bool) -> UInt64 {
    hash64(bytes, seed: isText ? 3 : 4)
  }

  /// The hash; never 0, which stands for a deleted row.
  package var value: UInt64 { max(1, mix(sum)) }

  /// What all other columns add to give `hash`; 0 if there are none.
  ///
  /// The sum can be had from the hash. So the share of columns whose values nobody here knows any
  /// more can be kept, and added to the hash of a later version of the row.
  package func rest(to hash: UInt64) -> UInt64 { hash == value ? 0 : unmix(hash) &- sum }

  /// Adds the share of columns whose values are not known.
  package mutating func add(rest: UInt64) { sum &+= rest }

  /// The hash of a column's name, folded as SQLite compares names.
  package static func column(_ name: String) -> UInt64 { mix(tableSeed(name)) }
}
