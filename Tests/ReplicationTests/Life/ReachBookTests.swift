import Replication
import Testing

@Suite struct `What is known by signatures` {
  private static func reach(_ origin: UInt64, _ seq: UInt64, run: UInt64 = 1) -> Reach {
    Reach(
      origin: Samples.origin(origin), node: Samples.node, life: origin, seq: seq, run: run)
  }

  @Test func `is the furthest of each origin, and what runs before had come to`() {
    var book = ReachBook()
    #expect(book.keep(Self.reach(1, 100)).isKept && !book.keep(Self.reach(1, 90, run: 2)).isKept)
    #expect(book.keep(Self.reach(1, 120, run: 3)).isKept)
    #expect(book.keep(Self.reach(1, 130, run: 3)).isKept)
    #expect(book[Samples.origin(1)]?.seq == 130)
    #expect(book.earlier[Samples.origin(1)]?.map(\.seq) == [100])
    // The few last ones.
    var dropped: [UInt64] = []
    for run in 4..<14 as Range<UInt64> {
      dropped += book.keep(Self.reach(1, 130 + run, run: run)).dropped.map { [$0.seq] } ?? []
    }
    #expect(book.earlier[Samples.origin(1)]?.count == ReachBook.mostEarlier)
    #expect(dropped == [100, 130, 134, 135])
    let all = book.values + (book.earlier[Samples.origin(1)] ?? [])
    #expect(ReachBook(all.reversed()) == book)
  }

  @Test func `is of so many lives of one node, whoever tells of them`() {
    let most = UInt64(ReachBook.mostLives)
    var book = ReachBook((1...most).map { Self.reach($0, 1) })
    #expect(!book.keep(Self.reach(most + 1, 1)).isKept && book.keep(Self.reach(most, 2)).isKept)
    var other = Self.reach(most + 1, 1)
    other.node = Samples.site
    #expect(book.keep(other).isKept)
    #expect(book.news(of: [Self.reach(most + 2, 1), Self.reach(1, 2)]).count == 1)
    // Those that come together count, too.
    let few = ReachBook((1..<most).map { Self.reach($0, 1) })
    #expect(few.news(of: [Self.reach(most, 1), Self.reach(most + 1, 1)]).count == 1)
  }
}
