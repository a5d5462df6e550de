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

  private static func version(
    stamp: Stamp, epoch: UInt64, by origin: UInt64 = .max
  ) -> Version {
    let dot = Dot(Origin(rawValue: origin), 9)
    var version = Version(dot: dot, created: dot, stamp: stamp, hash: 3, isDeleted: false)
    version.epoch = epoch
    return version
  }

  /// What may be written at most, and what a site may reach at most.
  @Test(arguments: [
    (Stamp.highest, 1 << 62), (.highest, 0), (.zero, 1 << 62), (.latest, 0),
    (.latest, Epoch.latest - 1),
  ])
  func `an edit ranks above whatever it was made on`(stamp: Stamp, epoch: UInt64) {
    var standing = Self.version(stamp: stamp, epoch: epoch)
    for seq in 1...3 as ClosedRange<UInt64> {
      let moment = 1_800_000_000_000 + Int64(seq)
      let edit = Version.edit(
        Dot(Origin(rawValue: 1), seq), over: standing, stamp: .placing(moment, above: standing),
        hash: seq, isDeleted: false)
      #expect(edit.rank > standing.rank && edit.isPossible || epoch == Epoch.latest - 1 && seq > 2)
      standing = edit
    }
  }

  @Test func `what nobody can have reached ranks below all that can be`() {
    let least = Self.version(stamp: Stamp.beforeSite, epoch: 0, by: 1)
    for (stamp, epoch) in [(Stamp.latest.successor, 0), (.zero, Epoch.latest + 1)] {
      let impossible = Self.version(stamp: stamp, epoch: epoch)
      #expect(!impossible.isPossible && impossible.rank < least.rank)
    }
  }

  @Test func `the anchor's word on what nobody can have reached ranks above it`() {
    let edit = Self.version(stamp: Stamp(rawValue: 1 << 62), epoch: 1 << 62)
    let epoch = Epoch.next(after: 0, over: [edit])
    let word = edit.certified(
      Dot(edit.dot.origin, 1), term: Term(number: 1, incarnation: 1), epoch: epoch, at: edit.stamp)
    #expect(word.isPossible && edit.rank < word.rank)
  }

  @Test func `epochs that can be reached grow faster than anybody counts`() {
    let now = Stamp(millisecondsSince1970: 1_800_000_000_000)
    let most = Epoch.most(at: now)
    #expect(Self.version(stamp: now, epoch: most).isReached(by: now))
    #expect(!Self.version(stamp: now, epoch: most + 1).isReached(by: now))
    let second = Stamp(millisecondsSince1970: 1_800_000_001_000)
    #expect(Epoch.most(at: second) - most > 1_000_000)
    #expect(Epoch.next(after: 7, over: [Self.version(stamp: now, epoch: 1 << 62)]) == 8)
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
