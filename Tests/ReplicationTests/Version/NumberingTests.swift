import Replication
import Testing

@Suite struct NumberingTests {
  private static let a = Origin(rawValue: 1)
  private static let b = Origin(rawValue: 2)

  private static func row(
    _ dot: Dot, at stamp: Int64, over old: Version? = nil, hash: UInt64, isDeleted: Bool = false
  ) -> Version {
    var keys = KeyNote()
    keys.isNumbered = true
    return Version.edit(
      dot, over: old, keys: keys, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: isDeleted)
  }

  @Test func `of two rows with one number the first stands, whatever is written in the other`() {
    let ann = Self.row(Dot(Self.a, 1), at: 10, hash: 1)
    let bob = Self.row(Dot(Self.b, 1), at: 20, hash: 2)
    let edited = Self.row(Dot(Self.b, 2), at: 30, over: bob, hash: 3)
    #expect(ann.rank > bob.rank && ann.rank > edited.rank && edited.rank > bob.rank)
    #expect(ann.collides(with: bob) && ann.collides(with: edited))
    #expect(!edited.collides(with: bob) && !ann.collides(with: ann))
  }

  @Test func `a row that is made again after a delete goes before the deleted one`() {
    let ann = Self.row(Dot(Self.a, 1), at: 10, hash: 1)
    let gone = Self.row(Dot(Self.a, 2), at: 20, over: ann, hash: 0, isDeleted: true)
    let next = Self.row(Dot(Self.b, 1), at: 30, over: gone, hash: 2)
    #expect(next.rank > gone.rank && gone.rank > ann.rank)
    #expect(next.numbering.turn == gone.stamp && next.created == next.dot)
    // Who made it knew the other: that is no collision.
    #expect(!next.collides(with: ann))
  }

  @Test func `equal content is no collision, unless it refers to different rows`() {
    let ann = Self.row(Dot(Self.a, 1), at: 10, hash: 1)
    var other = Self.row(Dot(Self.b, 1), at: 20, hash: 1)
    #expect(!ann.collides(with: other))
    other.numbering.parents = [
      ParentRow(link: 1, made: Creation(at: Stamp(rawValue: 3), dot: Dot(Self.b, 7)))
    ]
    #expect(ann.collides(with: other))
  }

  @Test func `a line of the order that keeps its number goes before one of the other order`() {
    let orders = [
      Creation(at: Stamp(rawValue: 5), dot: Dot(Self.a, 1)),
      Creation(at: Stamp(rawValue: 6), dot: Dot(Self.b, 1)),
    ]
    let lines = zip([Dot(Self.a, 2), Dot(Self.b, 2)], orders).map { dot, order in
      var keys = KeyNote()
      (keys.isNumbered, keys.elders) = (true, [order])
      // The line of the later order was written first.
      return Version.edit(
        dot, over: nil, keys: keys, stamp: Stamp(rawValue: dot.origin == Self.a ? 40 : 30),
        hash: dot.origin.rawValue, isDeleted: false)
    }
    #expect(lines[0].rank > lines[1].rank)
    #expect(lines[0].collides(with: lines[1]))
  }

  @Test func `rank with turns is a total order`() {
    var ranks: [Rank] = []
    for turn in [nil, 0, 1] as [Int64?] {
      for made in turn == nil ? [0] : [1, 2] as [Int64] {
        for stamp in [3, 4] as [Int64] {
          ranks.append(
            Rank(
              turn: turn.map { Stamp(rawValue: $0) },
              seniority: turn == nil
                ? [] : [Creation(at: Stamp(rawValue: made), dot: Dot(Self.a, 1))],
              stamp: Stamp(rawValue: stamp), origin: Self.a, content: 1))
        }
      }
    }
    for one in ranks {
      for other in ranks {
        #expect([one < other, one == other, other < one].filter { $0 }.count == 1)
        for third in ranks where one < other && other < third { #expect(one < third) }
      }
    }
  }

  private static let full: Version = {
    var version = row(Dot(a, 9), at: 40, hash: 5)
    version.numbering.elders = [Creation(at: Stamp(rawValue: 4), dot: Dot(b, 1))]
    version.numbering.parents = [
      ParentRow(link: 9, made: Creation(at: Stamp(rawValue: 1 << 40), dot: Dot(b, 1))),
      ParentRow(link: .max, made: Creation(at: .zero, dot: Dot(a, 3))),
    ]
    version.numbering.former = [
      FormerKey(
        key: Key([.integer(2)], collations: [.binary]) ?? Key(bytes: []), created: Dot(a, 2),
        edit: Dot(b, 4))
    ]
    return version
  }()

  private static var batch: [UInt8] {
    var writer = RowBatchWriter()
    writer.add(
      TableShape(name: "t", keyCount: 1, columns: ["id"]), full, .values([.integer(3)]))
    return writer.bytes
  }

  @Test func `what is said of numbers arrives as it was written`() throws {
    let batch = try RowBatch(bytes: Self.batch)
    #expect(batch.rows.map(\.version) == [Self.full])
  }

  @Test func `rows that were named without their time are those that stand`() throws {
    // A turn of 0 and one parent, as files before had it.
    var reader = ByteReader([5, 0, 1, 9, 3])
    let read = try Numbering(from: &reader) { reader throws(WireError) in
      Dot(Self.a, UInt64(try reader.byte("dot")))
    }
    #expect(
      read.parents == [ParentRow(link: 9, made: Creation(at: .zero, dot: Dot(Self.a, 3)))])
    var standing = Self.full
    standing.numbering.turn = .zero
    #expect(read.parents[0].isMet(by: standing, under: Key(bytes: [1])))
  }

  @Test func `a number is met by the row that is meant, or made again under it`() throws {
    let key = Key([.integer(2)], collations: [.binary]) ?? Key(bytes: [])
    let meant = ParentRow(link: 9, made: Creation(at: Stamp(rawValue: 50), dot: Dot(Self.b, 4)))
    var standing = Self.full
    standing.created = Dot(Self.a, 8)
    standing.stamp = Stamp(rawValue: 60)
    standing.numbering.turn = Stamp(rawValue: 50)
    // Not by who got the number later, though it knew of that row.
    standing.context.add(Dot(Self.b, 4))
    #expect(!meant.isMet(by: standing, under: key))
    standing.numbering.turn = .zero
    standing.numbering.former = [FormerKey(key: key, created: Dot(Self.b, 4), edit: Dot(Self.b, 4))]
    #expect(meant.isMet(by: standing, under: key))
    #expect(!meant.isMet(by: standing, under: Key(bytes: [9])))
    standing.numbering.former = []
    standing.created = Dot(Self.b, 4)
    #expect(meant.isMet(by: standing, under: key))
  }

  @Test func `what cannot be is refused`() {
    let bytes = Self.batch
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) { try RowBatch(bytes: Array(bytes.prefix(count))) }
    }
    for parts in [0, 2, 32, 255] as [UInt8] {
      var reader = ByteReader([parts, 0, 0])
      #expect(throws: WireError.self) {
        try Numbering(from: &reader) { _ throws(WireError) in Dot(Self.a, 1) }
      }
    }
    // More parents than a version may name.
    let tooMany = UInt8(Numbering.mostParents + 1)
    var reader = ByteReader([4, tooMany] + Array(repeating: 1, count: 3 * Int(tooMany)))
    #expect(throws: WireError.self) {
      try Numbering(from: &reader) { reader throws(WireError) in
        Dot(Self.a, UInt64(try reader.byte("dot")))
      }
    }
  }
}
