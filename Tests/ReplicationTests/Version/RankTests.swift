import Replication
import Testing

@Suite struct RankTests {
  /// Every combination of small fields.
  static let ranks: [Rank] = (0...2).flatMap { (stamp: Int64) in
    (0...2).flatMap { (origin: UInt64) in
      (0...2).map { (content: UInt64) in
        Rank(
          stamp: Stamp(rawValue: stamp), origin: Origin(rawValue: origin), content: content)
      }
    }
  }

  @Test func `rank is a total order`() {
    for a in Self.ranks {
      for b in Self.ranks {
        #expect([a < b, a == b, b < a].filter { $0 }.count == 1)
        for c in Self.ranks where a < b && b < c { #expect(a < c) }
      }
    }
  }

  @Test func `stamp comes before origin, origin before content`() {
    #expect(Self.ranks.shuffled().sorted() == Self.ranks)
  }

  @Test func `a version ranks by its stamp, its author and its content`() {
    let dot = Dot(Origin(rawValue: 4), 9)
    let version = Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: 7), hash: 3, isDeleted: false)
    let stamp = Stamp(rawValue: 7)
    #expect(
      version.rank == Rank(stamp: stamp, origin: dot.origin, content: 3, seq: dot.seq))
  }

  @Test(arguments: [
    "0123456789abcdef0123456789abcdef", "00000000000000000000000000000001",
    "ffffffffffffffffffffffffffffffff",
  ])
  func `an identity is read from what it prints`(text: String) {
    #expect(Identity(text)?.description == text)
  }

  @Test(arguments: [
    "", "0123", "+123456789abcdef0123456789abcdef", "0123456789abcdef-123456789abcdef",
    "0123456789abcdefg123456789abcdef", "0123456789abcdef0123456789abcdef0",
  ])
  func `anything else is no identity`(text: String) {
    #expect(Identity(text) == nil)
  }
}
