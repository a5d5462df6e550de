import Testing

@testable import Replication

/// What a member may make a session keep is bounded in bytes, however it is cut into messages.
@Suite("A peer that sends without end") struct HostileAmountTests {
  @Test func `has no more rows to be sent than fit a few MiB of keys`() {
    var it = Conversation.known()
    it.hear(.have(it.have(Frontier(), asks: true)))
    for round in 0..<40 as Range<UInt8> {
      let key = [round] + [UInt8](repeating: 7, count: 1_000_000)
      #expect(it.hear(.want([RowName(table: "t", key: key)])).bye == nil)
    }
    #expect(it.session.outgoing.wanted.count == 4)
    #expect(it.session.outgoing.wantedBytes <= Limits.wantedBytes)
    // There is room again once they were sent.
    it.feed(.exportOpened(covers: Frontier(), rows: 0, judged: nil))
    it.feed(.exportDone)
    #expect(it.session.outgoing.wanted.isEmpty && it.session.outgoing.wantedBytes == 0)
    it.hear(.want([RowName(table: "t", key: [1])]))
    #expect(it.session.outgoing.wantedBytes == 2)
  }

  @Test func `takes no more room by pieces of one byte than by long ones`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(.full(covers: Frontier()), rows: 1)))
    for _ in 0..<400_000 { it.hear(part: [7]) }
    #expect(it.session.incoming.pieceBytes == 400_000)
    #expect(it.session.incoming.pieces.count == 4)
    it.hear(rows: [8])
    #expect(it.session.incoming.staged == [[UInt8](repeating: 7, count: 400_000) + [8]])
  }

  @Test func `is let go when it sends pieces of nothing`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(.full(covers: Frontier()), rows: 1)))
    #expect(it.hear(part: []).bye == .badMessage)
  }

  @Test func `hears nothing that is too long for a frame`() {
    var it = Conversation.known()
    let names = [[1], [UInt8](repeating: 7, count: Limits.wantedKey), [2]].map {
      RowName(table: "t", key: $0)
    }
    let tooLong = RowName(table: "t", key: [UInt8](repeating: 7, count: 2 << 20))
    let sent = it.feed(.want(names + [tooLong]))
    for message in sent.sent {
      #expect(Message.isSendable(message.frame))
      #expect((try? Message(frame: Array(message.frame.dropFirst(4)))) == message)
    }
    #expect(!Message.isSendable(Message.part(number: 1, .init(repeating: 0, count: 1 << 20)).frame))
  }
}

/// What others say of names, floors and members is no longer, and no higher, than can be told on.
@Suite struct HostileWordTests {
  @Test func `a longest name that is taken gets a number, and is told on`() throws {
    let long = String(repeating: "n", count: 510) + "é"
    let free = JoinerName.free(long, beside: [long])
    #expect(free == String(repeating: "n", count: 510) + "-2")
    for name in [long, free] {
      #expect(
        SiteStatement.isReadable(.introduce(node: Samples.node, name: name, words: "a b c d")))
    }
    #expect(
      !SiteStatement.isReadable(.introduce(node: Samples.node, name: long + "-2", words: "")))
    let again = JoinerName.free(long, beside: [long, free])
    #expect(again == String(repeating: "n", count: 510) + "-3")
  }

  @Test func `floors that nobody could write above are not taken`() {
    let floor = Floor(term: Term(number: 3, incarnation: 1), epoch: 9, stamp: Stamp(rawValue: 50))
    var late = floor
    late.stamp = .highest
    var unknown = floor
    unknown.term = Term(number: 1 << 62, incarnation: 1)
    let news = StabilityNews(
      standing: CutStanding(), floors: Floors([1: floor, 2: late, 3: unknown]))
    let moment: Int64 = 1_800_000_000_000
    #expect(StabilityNews.latestFloor(at: moment) < .highest)
    let appointees = Appointees([
      Appointment(term: floor.term, node: Samples.node, isForced: false)
    ])
    let possible = news.possible(knowing: appointees, at: moment)
    #expect(possible == StabilityNews(standing: CutStanding(), floors: Floors([1: floor])))
  }

  @Test func `a site makes a cut a minute at most, so that numbers are not used up`() {
    let year: Int64 = 365 * 86_400_000
    func said(_ number: UInt64) -> StabilityNews {
      let mark = Mark(number: number, id: 1)
      return StabilityNews(
        standing: CutStanding(),
        cut: Cut(mark: mark, previous: Mark(number: number - 1, id: 1), frontier: Frontier()),
        acknowledgements: [
          Samples.node: Acknowledgement(
            node: Samples.node, mark: mark, last: Dot(Samples.origin(1), 1))
        ])
    }
    #expect(said(365 * 1_440).possible(knowing: Appointees([]), at: year) == said(365 * 1_440))
    // The times of two members may differ by a month.
    let far = said(397 * 1_440).possible(knowing: Appointees([]), at: year)
    #expect(far == StabilityNews(standing: CutStanding()))
    // Nor does anybody else go further: the others would not hear it.
    let last = Mark.most(at: year + SiteClock.farthest)
    var stability = Stability()
    stability.cut = said(last - 1).cut
    for _ in 1...3 {
      let said = stability.acknowledgement(
        as: Samples.node, own: Dot(Samples.origin(1), 0), frontier: Frontier())
      said.map { stability.acknowledge($0) }
      stability.propose(id: 1, frontier: Frontier(), members: [Samples.node], at: year)
    }
    #expect(stability.cut?.mark.number == last && stability.whole == stability.cut?.mark)
  }
}
