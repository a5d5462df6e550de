import Replication

@testable import Store

/// Reads the bytes after the first as values, makes a key of them and reads that again.
func readKey(_ bytes: [UInt8]) {
  _ = Key(bytes: bytes).values
  var reader = ByteReader(Array(bytes.dropFirst()))
  var values: [Value] = []
  while !reader.isAtEnd, let value = try? reader.value("key") { values.append(value) }
  let kinds: [KeyCollation] = [.binary, .nocase, .rtrim]
  let collations = values.indices.map { kinds[(Int(bytes[0]) >> ($0 % 4 * 2)) % 3] }
  guard let key = Key(values, collations: collations) else {
    precondition(values.contains(.null), "no key of \(values)")
    return
  }
  guard let read = key.values else { preconditionFailure("\(key) of \(values) cannot be read") }
  precondition(Key(read, collations: collations) == key, "\(key) is not canonical")
  precondition(read.count == values.count, "\(values) became \(read)")
}

/// Reads an entry of the shelf and writes it again.
func readShelf(_ bytes: [UInt8]) {
  guard let entry = Shelf.decode(bytes, .table) else { return }
  let again = Shelf.decode(Shelf.encode(entry), .table)
  precondition(again?.values.map(\.value) == entry.values.map(\.value), "\(entry)")
  precondition(again?.values.map(\.name) == entry.values.map(\.name), "\(entry)")
}
