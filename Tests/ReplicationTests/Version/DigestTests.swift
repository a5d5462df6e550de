import Replication
import Testing

@Suite struct DigestTests {
  static func key(_ number: Int64) -> Key { Key([.integer(number)], collations: [])! }

  static func version(_ random: inout Seeded) -> Version {
    let dot = Dot(
      Origin(rawValue: UInt64.random(in: 1...3, using: &random)),
      UInt64.random(in: 1...50, using: &random))
    let isDeleted = random.chance(20)
    return Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: Int64(dot.seq)),
      hash: isDeleted ? 0 : random.next() | 1, isDeleted: isDeleted)
  }

  @Test func `replacing undoes what was added, in any order`() {
    var random = Seeded(1)
    let table = tableSeed("notes")
    var (digest, rows) = (Digest(), [Int64: Version]())
    for _ in 0..<5_000 {
      let key = Int64.random(in: 0..<300, using: &random)
      let new = random.chance(10) ? nil : Self.version(&random)
      digest.replace(table: table, key: Self.key(key), old: rows[key], new: new)
      rows[key] = new
    }
    var rebuilt = Digest()
    for (key, version) in rows.shuffled(using: &random) {
      rebuilt.replace(table: table, key: Self.key(key), old: nil, new: version)
    }
    #expect(rebuilt == digest && rebuilt.root == digest.root)
    for (key, version) in rows {
      digest.replace(table: table, key: Self.key(key), old: version, new: nil)
    }
    #expect(digest == Digest() && digest.root == 0)
  }

  @Test func `one row that differs shows in its own bucket alone`() {
    var random = Seeded(2)
    let table = tableSeed("notes")
    let version = Self.version(&random)
    for number in 0..<500 as Range<Int64> {
      var digest = Digest()
      digest.replace(table: table, key: Self.key(number), old: nil, new: version)
      let bucket = Digest.bucket(table: table, key: Self.key(number))
      #expect(digest.differing(from: Digest()) == [bucket])
      #expect(Digest().differing(from: digest) == [bucket])
      #expect(digest.differing(from: digest).isEmpty)
    }
  }

  @Test func `dot and content count, what is deleted does not`() {
    let origin = Origin(rawValue: 1)
    let dots = [Dot(origin, 1), Dot(origin, 2), Dot(Origin(rawValue: 2), 1)]
    var roots: Set<UInt64> = []
    for dot in dots {
      for hash in [0, 5, 6] as [UInt64] {
        let version = Version(
          dot: dot, created: dot, stamp: .zero, hash: hash, isDeleted: hash == 0)
        for table in ["a", "b"] {
          var digest = Digest()
          digest.replace(table: tableSeed(table), key: Self.key(1), old: nil, new: version)
          roots.insert(digest.root)
        }
      }
    }
    // Of what is deleted the sum is that of nothing.
    #expect(roots.count == 13 && roots.contains(0))
    #expect(tableSeed("Notes") == tableSeed("nOTES"))
    #expect(Digest(buckets: [1, 2]) == nil)
  }
}

@Suite struct ContentHashTests {
  static func hash(_ columns: [(String, Value)]) -> UInt64 {
    var hash = ContentHash()
    for (name, value) in columns { hash.add(column: ContentHash.column(name), value) }
    return hash.value
  }

  @Test func `the order of the columns does not count, nor does the case of their names`() {
    let columns: [(String, Value)] = [
      ("id", .integer(1)), ("name", .text([0x61])), ("price", .real(1.5)), ("x", .null),
    ]
    #expect(Self.hash(columns) == Self.hash(columns.reversed()))
    #expect(Self.hash(columns) == Self.hash(columns.map { ($0.0.uppercased(), $0.1) }))
  }

  @Test func `class, bits and column all count`() {
    let values: [Value] = [
      .null, .integer(0), .integer(1), .real(0), .real(-0.0), .real(1), .text([]), .text([0x31]),
      .blob([]), .blob([0x31]), .text([0x31, 0]), .blob(Array(repeating: 0, count: 8)),
    ]
    var hashes = Set(values.map { Self.hash([("a", $0)]) })
    hashes.formUnion(values.map { Self.hash([("b", $0)]) })
    hashes.insert(Self.hash([]))
    hashes.insert(Self.hash([("a", .integer(0)), ("b", .integer(1))]))
    hashes.insert(Self.hash([("a", .integer(1)), ("b", .integer(0))]))
    #expect(hashes.count == 2 * values.count + 3)
    #expect(!hashes.contains(0))
  }

  @Test func `a hash of bytes is the same however they are stored`() {
    var random = Seeded(6)
    for count in 0..<40 {
      let bytes = random.bytes(count)
      #expect(hash64(bytes, seed: 9) == hash64(bytes[...], seed: 9))
      #expect(hash64(bytes, seed: 9) == hash64(AnyCollection(bytes), seed: 9))
      #expect(hash64(bytes, seed: 9) != hash64(bytes, seed: 8))
      #expect(hash64(bytes, seed: 9) != hash64(bytes + [0], seed: 9))
    }
  }
}
