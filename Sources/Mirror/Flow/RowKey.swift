import Flotilla
import SQLite

/// The identity of a row on both sides: its table's number and its key, bit for bit.
struct RowKey: Hashable, Sendable {
  let number: Int
  let bytes: [UInt8]

  init(_ number: Int, _ values: [Value]) {
    self.number = number
    bytes = Self.bytes(of: values)
  }

  init(_ number: Int, bytes: [UInt8]) { (self.number, self.bytes) = (number, bytes) }

  /// Unlike values have unlike bytes.
  static func bytes(of values: [Value]) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values {
      switch value {
      case .null: bytes.append(0)
      case .integer(let number):
        bytes.append(1)
        append(UInt64(bitPattern: number), to: &bytes)
      case .real(let number):
        bytes.append(2)
        append(number.bitPattern, to: &bytes)
      case .text(let text):
        bytes.append(3)
        append(UInt64(text.count), to: &bytes)
        bytes += text
      case .blob(let blob):
        bytes.append(4)
        append(UInt64(blob.count), to: &bytes)
        bytes += blob
      }
    }
    return bytes
  }

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
  }

  /// 128 bits that stand for a row or key.
  static func fingerprint(_ values: [Value]) -> String {
    Replica.fingerprint(bytes(of: values))
  }
}

/// A row of a table as SQLite holds it, or that there is none.
struct MirroredRow: Sendable {
  let link: TableLink
  let key: [Value]
  let name: RowKey
  /// In the order of the link's columns; nil if there is no such row.
  var row: [Value]?

  init(_ link: TableLink, key: [Value], row: [Value]?) {
    (self.link, self.key, self.row) = (link, key, row)
    name = RowKey(link.number, key)
  }

  /// Stands for its content; empty if there is none.
  var print: String { row.map(RowKey.fingerprint) ?? "" }

  /// As people read it.
  var shownKey: String {
    zip(link.key, key).map { "\(link.columns[$0].name)=\($1.shown)" }.joined(separator: ", ")
  }

  /// Columns by name, those of the key first, for the conflict log.
  static func named(_ link: TableLink, key: [Value], row: [Value]?) -> Replica.Losers.Row {
    let keys = zip(link.key, key).map { (name: link.columns[$0].name, value: $1) }
    guard let row else { return keys }
    return keys
      + link.columns.indices.filter { !link.key.contains($0) }.map {
        (name: link.columns[$0].name, value: row[$0])
      }
  }
}
