import Replication

/// Reads the bytes after the first as values, makes a key of them and reads that again.
func readKey(_ bytes: [UInt8]) {
  _ = Key(bytes: bytes).values
  var reader = ByteReader(Array(bytes.dropFirst()))
  var values: [Value] = []
  while !reader.isAtEnd, let value = try? reader.value("key") { values.append(value) }
  let kinds: [KeyCollation] = [.binary, .nocase, .rtrim]
  let collations = values.indices.map { kinds[(Int(bytes[0]) >> ($0 % 4 * 2)) % 3] }
  guard let key = Key(values, collations: collations) else {
    demand(values.contains(.null), "no key of \(values)")
    return
  }
  guard let read = key.values else { fatalError("\(key) of \(values) cannot be read") }
  demand(Key(read, collations: collations) == key, "\(key) is not canonical")
  demand(read.count == values.count, "\(values) became \(read)")
}
