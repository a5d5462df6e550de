import Replication
import Testing

@Suite struct KeyTests {
  static func text(_ string: String) -> Value { .text(Array(string.utf8)) }

  @Test(
    arguments: [
      [.integer(0)], [.integer(1)], [.integer(-1)], [.integer(255)], [.integer(256)],
      [.integer(-255)], [.integer(-256)], [.integer(.max)], [.integer(.min)],
      [.integer(.min + 1)], [.real(0.5)], [.real(-0.5)], [.real(.infinity)], [.real(-.infinity)],
      [.real(.leastNonzeroMagnitude)], [.real(-.leastNonzeroMagnitude)],
      [.real(.leastNormalMagnitude)], [.real(.greatestFiniteMagnitude)], [.real(0x1p63)],
      [text("")], [text("Växjö")], [.text([0])], [.text([0x61, 0, 0x62])], [.text([0, 0xFF, 0])],
      [.text([0xFF, 0xFE])], [.blob([])], [.blob([0])], [.blob([0xFF])], [.blob([0, 0xFF])],
      [.integer(7), text("a"), .blob([0, 1]), .real(1.5), .integer(-7)], [text(""), text("")],
    ] as [[Value]])
  func `a key gives its values back`(values: [Value]) {
    #expect(Key(values, collations: [])?.values == values)
  }

  @Test(
    arguments: [
      (.real(1), .integer(1)), (.real(-0.0), .integer(0)), (.real(-3), .integer(-3)),
      (.real(0x1p62), .integer(1 << 62)), (.real(-0x1p63), .integer(.min)),
    ] as [(Value, Value)])
  func `an integral real is the integer`(real: Value, integer: Value) {
    #expect(Key([real], collations: []) == Key([integer], collations: []))
    #expect(Key([real], collations: [])?.values == [integer])
  }

  @Test(
    arguments: [
      ("ABCxyz", "abcXYZ", .nocase, true), ("Ä", "ä", .nocase, false), ("[", "{", .nocase, false),
      ("a", "a  ", .nocase, false), ("a\0x", "A\0y", .nocase, true),
      ("a\0x", "A\0yz", .nocase, false), ("a", "a   ", .rtrim, true), ("", "  ", .rtrim, true),
      ("a", " a", .rtrim, false), ("a", "A", .rtrim, false), ("a", "a\t", .rtrim, false),
      ("a", "A", .binary, false), ("a", "a ", .binary, false),
    ] as [(String, String, KeyCollation, Bool)])
  func `keys are equal as SQLite's collations have it`(
    left: String, right: String, collation: KeyCollation, isEqual: Bool
  ) {
    let keys = [left, right].map { Key([Self.text($0)], collations: [collation]) }
    #expect((keys[0] == keys[1]) == isEqual)
  }

  @Test(
    arguments: [
      ([text("1")], [.integer(1)]), ([text("a")], [.blob([0x61])]),
      ([text("a"), text("b")], [text("ab"), text("")]), ([.real(1.5)], [.integer(1)]),
      ([.integer(1), .integer(2)], [.integer(1)]), ([text("a\0")], [text("a")]),
    ] as [([Value], [Value])])
  func `different keys differ`(left: [Value], right: [Value]) {
    #expect(Key(left, collations: []) != Key(right, collations: []))
  }

  @Test func `a key with a NULL is none`() {
    #expect(Key([.integer(1), .null], collations: []) == nil)
  }

  @Test func `integers sort as numbers, and so do fractions`() {
    var random = Seeded(3)
    var integers: [Int64] = [.min, .min + 1, -256, -255, -1, 0, 1, 255, 256, .max]
    var reals: [Double] = [-.infinity, -.leastNonzeroMagnitude, .leastNonzeroMagnitude, .infinity]
    for _ in 0..<2_000 {
      integers.append(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))
      let real = Double(bitPattern: random.next())
      if !real.isNaN, Int64(exactly: real) == nil { reals.append(real) }
    }
    expectSorted(Array(Set(integers)).sorted().map { .integer($0) })
    expectSorted(Array(Set(reals)).sorted().map { .real($0) })
  }

  @Test func `text and blobs sort by their bytes, classes as in SQLite`() {
    var random = Seeded(4)
    let contents = Set(
      (0..<2_000).map { _ in
        random.bytes(Int.random(in: 0...4, using: &random)).map { $0 > 0xF8 ? 0xFF : $0 % 3 }
      }
    ).sorted { $0.lexicographicallyPrecedes($1) }
    expectSorted(
      [.integer(.min), .integer(.max)] + contents.map { .text($0) } + contents.map { .blob($0) })
  }

  /// Also as the first column of two, where the end of one value meets the next.
  private func expectSorted(_ values: [Value], at location: SourceLocation = #_sourceLocation) {
    for next: [Value] in [[], [.integer(.max)], [.blob([0xFF])]] {
      let keys = values.compactMap { Key([$0] + next, collations: []) }
      #expect(keys.count == values.count, sourceLocation: location)
      #expect(keys.shuffled().sorted() == keys, sourceLocation: location)
    }
  }

  @Test func `reading random bytes as a key never traps`() {
    var random = Seeded(5)
    let tags: [UInt8] = [0x0C, 0x0D, 0x13, 0x14, 0x15, 0x1B, 0x1C, 0x21, 0x30, 0x40]
    var keys = 0
    for _ in 0..<100_000 {
      var bytes = random.bytes(Int.random(in: 0...20, using: &random))
      if !bytes.isEmpty, random.chance(80) { bytes[0] = tags.randomElement(using: &random)! }
      if Key(bytes: bytes).values != nil { keys += 1 }
    }
    #expect(keys > 1_000)
  }
}
