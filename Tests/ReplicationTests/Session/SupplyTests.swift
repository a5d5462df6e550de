import Testing

@testable import Replication

/// Who comes back again and again as one that holds nothing waits, in whatever connection; whose
/// link is cut does not.
@Suite struct SupplyTests {
  private static let other = Origin(rawValue: 0xC)
  private static let rows: UInt64 = 50_000
  private static let held = Frontier([Conversation.own: 20_000, other: 30_000])

  /// A connection in which the peer says what it holds, and how far it has come.
  private struct Visit {
    var it: Conversation
    private(set) var isServed: Bool

    init(
      holding frontier: Frontier = Frontier(), resume: Frontier = Frontier(), _ supply: Supply,
      at uptime: Int64, here: Frontier = SupplyTests.held
    ) {
      it = Conversation(holding: here)
      it.now.uptime += uptime
      it.feed(.connected)
      it.hear(.hello(it.peerHello()))
      it.feed(.owes(Toll(), supply))
      it.feed(.mayPull(resume: Frontier()))
      var have = it.have(frontier)
      have.resume = resume
      isServed = it.hear(.have(have)).contains { $0.isExport }
    }

    /// So many rows go; then the link is cut.
    mutating func take(_ rows: UInt64) -> Supply {
      it.feed(.exportOpened(covers: SupplyTests.held, rows: SupplyTests.rows))
      for _ in 0..<rows / 500 {
        it.feed(.exported(batch: [1], rows: 500, check: 5))
        it.feed(.drained)
      }
      return leave()
    }

    mutating func leave() -> Supply {
      it.feed(.disconnected("cut"))
      return it.session.supply
    }
  }

  @Test func `who comes back as one that holds nothing waits for what it was sent`() {
    var supply = Supply()
    for _ in 0..<4 {
      var visit = Visit(supply, at: 1_000)
      #expect(visit.isServed)
      supply = visit.take(Self.rows)
    }
    // A minute, whether it stays or comes again.
    for uptime in stride(from: 1_000, to: 60_000, by: 7_000) as StrideTo<Int64> {
      var visit = Visit(supply, at: uptime)
      #expect(!visit.isServed)
      supply = visit.leave()
    }
    var last = Visit(supply, at: 60_000)
    #expect(!last.isServed)
    #expect(!last.it.wait(999).contains { $0.isExport })
    #expect(last.it.wait(1).contains { $0.isExport })
  }

  @Test func `whose link is cut goes on at once, as far as it has come`() {
    var supply = Supply()
    for turn in 0..<20 as Range<UInt64> {
      let resume = Frontier([Self.other: turn * 250])
      var visit = Visit(resume: resume, supply, at: 1_000)
      #expect(visit.isServed)
      supply = visit.take(2_000)
    }
  }

  @Test func `three cuts in which nothing arrived are for nothing, and one more each minute`() {
    var supply = Supply()
    for _ in 0..<4 {
      var visit = Visit(supply, at: 1_000)
      #expect(visit.isServed)
      supply = visit.take(5_000)
    }
    #expect(!Visit(supply, at: 1_000).isServed)
    // 20,000 rows went, of which 1,000 are for nothing.
    #expect(!Visit(supply, at: 19_999).isServed)
    #expect(Visit(supply, at: 20_000).isServed)
    for isServed in [true, true, false] {
      var visit = Visit(supply, at: 61_000)
      #expect(visit.isServed == isServed)
      supply = isServed ? visit.take(Self.rows) : visit.leave()
    }
  }

  @Test func `what it has shown to hold counts once`() {
    var supply = Supply()
    var visit = Visit(supply, at: 1_000)
    supply = visit.take(Self.rows)
    visit = Visit(holding: Self.held, supply, at: 1_000)
    supply = visit.leave()
    // Three times by the cuts, and the first time because all that was sent had arrived.
    for turn in 0..<6 {
      visit = Visit(supply, at: 1_000)
      #expect(visit.isServed == (turn < 4), "\(turn)")
      supply = visit.isServed ? visit.take(Self.rows) : visit.leave()
      visit = Visit(holding: Self.held, supply, at: 1_000)
      supply = visit.leave()
    }
  }

  @Test func `its own edits, and numbers that are not here, pay for nothing`() {
    var supply = Supply()
    let own = Origin.of(Conversation.peerNode, life: 0, PlainNotary.notary)
    let claimed = Frontier([Origin(rawValue: 0xBAD): 1 << 50, own: 1 << 50])
    let here = Self.held.joined(Frontier([own: 1 << 50]))
    for turn in 0..<5 {
      var visit = Visit(holding: claimed, supply, at: 1_000, here: here)
      #expect(visit.isServed == (turn < 4), "\(turn)")
      supply = visit.isServed ? visit.take(Self.rows) : visit.leave()
    }
  }

  @Test func `what it has in the end it need not wait for`() {
    var supply = Supply()
    for _ in 0..<4 {
      var visit = Visit(supply, at: 1_000)
      supply = visit.take(Self.rows)
    }
    var visit = Visit(holding: Frontier([Self.other: 30_000]), supply, at: 1_000)
    #expect(visit.isServed)
    supply = visit.leave()
  }

  @Test func `rows of buckets go again after a while, in whatever connection`() {
    let theirs = RepairTests.digest(differingIn: [5])
    let buckets = Message.buckets(Buckets(frontierHash: RepairTests.held.hash, digest: theirs))
    var it = RepairTests.known()
    it.feed(.owes(Toll(), Supply()))
    #expect(it.hear(buckets).contains { $0.isExport })
    it.feed(.exportOpened(covers: Frontier(), rows: 3_000))
    it.feed(.exported(batch: [1], rows: 3_000, check: 5))
    it.feed(.disconnected("cut"))
    var next = RepairTests.known()
    next.feed(.owes(Toll(), it.session.supply))
    next.wait(1_999)
    #expect(!next.hear(buckets).contains { $0.isExport })
    next.wait(1)
    #expect(next.hear(buckets).contains { $0.isExport })
  }
}
