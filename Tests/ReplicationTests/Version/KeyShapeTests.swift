import Replication
import Testing

/// What makes two keys of one table comparable.
@Suite struct KeyShapeTests {
  static func column(
    _ name: String, _ affinity: KeyAffinity = .text, _ collation: KeyCollation = .binary
  ) -> KeyShape.Column {
    KeyShape.Column(name: name, affinity: affinity, collation: collation)
  }

  static let shape = KeyShape([column("a"), column("B", .integer, .nocase)])

  @Test func `names are compared as SQLite compares them, and all else counts`() {
    let same = KeyShape([Self.column("A"), Self.column("b", .integer, .nocase)])
    #expect(Self.shape == same && Self.shape.fingerprint == same.fingerprint)
    #expect(Self.shape.bytes != same.bytes)
    let others = [
      KeyShape([Self.column("a")]),
      KeyShape([Self.column("B", .integer, .nocase), Self.column("a")]),
      KeyShape([Self.column("c"), Self.column("b", .integer, .nocase)]),
      KeyShape([Self.column("a", .numeric), Self.column("b", .integer, .nocase)]),
      KeyShape([Self.column("a"), Self.column("b", .integer, .rtrim)]),
      KeyShape([Self.column("\u{E9}")]), KeyShape([Self.column("e\u{301}")]),
    ]
    #expect(Set(others.map(\.fingerprint) + [Self.shape.fingerprint]).count == others.count + 1)
    #expect(Set(others + [Self.shape]).count == others.count + 1)
  }

  @Test func `a shape is stored as it is, and what is none is not read`() {
    let bytes = Self.shape.bytes
    #expect(KeyShape(bytes: bytes)?.names == ["a", "B"])
    #expect(KeyShape(bytes: bytes) == Self.shape)
    for count in 0..<bytes.count { #expect(KeyShape(bytes: Array(bytes.prefix(count))) == nil) }
    #expect(KeyShape(bytes: bytes + [0]) == nil)
    #expect(KeyShape(bytes: [0]) == nil)
    #expect(KeyShape(bytes: [1, 1, 0x61, 0x53]) == nil)
  }

  @Test(arguments: [
    (KeyAffinity.text, Value.integer(5), Value.text([0x35])),
    (.text, .text([0x35]), .text([0x35])), (.text, .blob([5]), .blob([5])),
    (.integer, .text([0x35]), .integer(5)), (.numeric, .text([0x2D, 0x35]), .integer(-5)),
    (.real, .text([0x35]), .integer(5)), (.integer, .text([0x30, 0x35]), .text([0x30, 0x35])),
    (.integer, .text([0x35, 0x20]), .text([0x35, 0x20])), (.none, .text([0x35]), .text([0x35])),
    (.none, .integer(5), .integer(5)),
  ])
  func `a whole number and its text are told apart by the column alone`(
    affinity: KeyAffinity, value: Value, held: Value
  ) {
    #expect(affinity.holding(value) == held)
  }

  @Test func `how a real is written nobody says`() {
    #expect(KeyAffinity.text.holding(.real(0.5)) == nil)
  }

  @Test func `who knows an edit knows what a migration made of it`() {
    let (edit, image) = (Dot(Samples.origin(1), 5), Dot(Samples.origin(2), 9))
    func version(_ dot: Dot) -> Version {
      Version(dot: dot, created: dot, stamp: .zero, hash: 7, isDeleted: false)
    }
    var made = version(image)
    #expect(!version(edit).hasSeen(made))
    made.image = edit
    #expect(version(edit).hasSeen(made))
    #expect(version(Dot(Samples.origin(1), 6)).hasSeen(made))
    #expect(!version(Dot(Samples.origin(1), 4)).hasSeen(made))
    #expect(!version(Dot(Samples.origin(3), 6)).hasSeen(made))
  }
}
