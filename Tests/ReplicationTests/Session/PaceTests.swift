import Testing

@testable import Replication

/// A peer that says very much costs its own stream time, and nobody else's.
@Suite struct PaceTests {
  private static func news(_ stamp: Int64, whole: UInt64 = 0) -> StabilityNews {
    let floors = Floors([3: Floor(term: .none, epoch: 0, stamp: Stamp(rawValue: stamp))])
    return StabilityNews(
      standing: CutStanding(whole: whole == 0 ? .none : Mark(number: whole, id: 1)), floors: floors)
  }

  private static func taken(_ directives: [Session.Directive]) -> [StabilityNews] {
    directives.compactMap { if case .stability(let news) = $0 { news } else { nil } }
  }

  private static func told(_ directives: [Session.Directive]) -> [StabilityNews] {
    directives.sent.compactMap { if case .stability(let news) = $0 { news } else { nil } }
  }

  @Test func `of what everybody holds the last word of a second is taken`() {
    var it = Conversation.open()
    var taken: [StabilityNews] = []
    for stamp in 1...1_000 as ClosedRange<Int64> {
      taken += Self.taken(it.hear(.stability(Self.news(stamp))))
    }
    #expect(taken == [Self.news(1)])
    #expect(Self.taken(it.wait(999)) == [])
    #expect(Self.taken(it.wait(1)) == [Self.news(1_000)])
    #expect(Self.taken(it.wait(2_000)) == [])
    #expect(Self.taken(it.hear(.stability(Self.news(1_001)))) == [Self.news(1_001)])
  }

  @Test func `what waits is taken before an exchange`() {
    var it = Conversation.open()
    _ = it.hear(.stability(Self.news(1)))
    #expect(Self.taken(it.hear(.stability(Self.news(2)))) == [])
    let begin = Begin(.full(covers: Frontier()), rows: 0, number: 0, judged: nil)
    #expect(Self.taken(it.hear(.begin(begin))) == [Self.news(2)])
    #expect(Self.taken(it.hear(.stability(Self.news(3)))) == [])
    #expect(Self.taken(it.hear(.end(End(rows: 0, check: begin.check(1))))) == [Self.news(3)])
    #expect(Self.taken(it.wait(5_000)) == [])
  }

  @Test func `what is heard is told on once a second`() {
    var it = Conversation.open()
    func position(_ stamp: Int64) -> Position {
      var position = Position(frontier: Frontier(), digest: Digest(), own: Conversation.own)
      position.stability.floors = Self.news(stamp).floors
      return position
    }
    var told: [StabilityNews] = []
    for stamp in 1...1_000 as ClosedRange<Int64> {
      told += Self.told(it.feed(.advanced(position(stamp))))
    }
    #expect(told == [Self.news(1)])
    #expect(Self.told(it.wait(1_000)) == [Self.news(1_000)])
    #expect(Self.told(it.feed(.advanced(position(1_001)))) == [])
  }

  @Test func `what waits to be told is told before an exchange begins`() {
    func position(_ stamp: Int64) -> Session.Input {
      var position = Position(frontier: Frontier(), digest: Digest(), own: Conversation.own)
      position.stability.floors = Self.news(stamp).floors
      return .advanced(position)
    }
    var it = Conversation.known()
    #expect(Self.told(it.feed(position(1))) == [Self.news(1)])
    #expect(Self.told(it.feed(position(2))) == [])
    let push = Push(origin: Conversation.own, from: 0, to: 1, batch: [1], rows: 1, check: 1)
    let sent = it.feed(.folded(push)).sent
    #expect(sent.first == .stability(Self.news(2)))
    #expect(sent.dropFirst().first?.bordersExchange == true)
    #expect(Self.told(it.wait(5_000)) == [])
  }

  @Test func `who asks again for what it was sent waits for 1 ms a row beyond 1,000`() {
    let held = Frontier([Conversation.own: 5_000])
    var it = Conversation.open(holding: held)
    it.feed(.mayPull(resume: Frontier()))
    func ask(holding frontier: Frontier = Frontier()) -> [Session.Directive] {
      it.hear(.have(it.have(frontier, asks: true)))
    }
    func answer() {
      it.feed(.exportOpened(covers: held, rows: 5_000))
      it.feed(.exported(batch: [1], rows: 5_000, check: 5))
      it.feed(.exportDone)
    }
    #expect(ask().contains { $0.isExport })
    answer()
    #expect(!ask().contains { $0.isExport })
    #expect(!ask().contains { $0.isExport })
    #expect(!it.wait(3_999).contains { $0.isExport })
    #expect(it.wait(1).contains { $0.isExport })
    answer()
    // Who has taken it in may ask at once.
    #expect(ask(holding: held).contains { $0.isExport })
  }

  @Test func `who shows buckets again waits for 1 ms a row beyond 1,000`() {
    var it = RepairTests.known()
    let theirs = RepairTests.digest(differingIn: [5])
    let buckets = Message.buckets(Buckets(frontierHash: RepairTests.held.hash, digest: theirs))
    #expect(it.hear(buckets).contains { $0.isExport })
    it.feed(.exportOpened(covers: Frontier(), rows: 3_000))
    it.feed(.exported(batch: [1], rows: 3_000, check: 5))
    it.feed(.exportDone)
    #expect(!it.hear(buckets).contains { $0.isExport })
    it.wait(1_999)
    #expect(!it.hear(buckets).contains { $0.isExport })
    it.wait(1)
    #expect(it.hear(buckets).contains { $0.isExport })
  }

  @Test func `who asks and asks has its turn a hundred times a second`() {
    var it = Conversation.open()
    let question = Message.have(it.have(Frontier()))
    for _ in 0..<256 { #expect(it.session.pause(before: question, at: it.now) == 0) }
    #expect(it.session.pause(before: question, at: it.now) == 10)
    // Rows are bounded by what they bring.
    #expect(it.session.pause(before: .rows(number: 0, []), at: it.now) == 0)
    it.now.uptime += 10
    #expect(it.session.pause(before: .describe, at: it.now) == 0)
    #expect(it.session.pause(before: .ping(sent: 0, ClockView(wall: 0)), at: it.now) == 10)
    it.now.uptime += 10_000
    #expect(it.session.pause(before: question, at: it.now) == 0)
  }
}
