import Testing

@testable import Replication

/// A session of a replica that fetches everything anew, and of one that is asked for it.
@Suite struct RenewalTests {
  private static let mark = Mark(number: 2, id: 7)
  private static let there = CutStanding(whole: mark, cleared: mark)
  private static let held = Frontier([Conversation.own: 4])

  /// What this replica knows of the cuts.
  private static func stability(renewing mark: Mark? = mark) -> Stability {
    var stability = Stability()
    if let mark { stability.beginRenewal(at: mark) }
    return stability
  }

  private static func position(_ stability: Stability, _ frontier: Frontier = held) -> Position {
    var position = Position(frontier: frontier, digest: Digest(), own: Conversation.own)
    position.stability = stability
    return position
  }

  /// A session with a peer that lacks nothing, and has told what goes with that.
  private static func open(_ stability: Stability) -> Conversation {
    var it = Conversation()
    it.feed(.connected)
    it.feed(.advanced(position(stability)))
    var hello = it.peerHello()
    hello.standing = there
    it.hear(.hello(hello))
    it.hear(.stability(StabilityNews(standing: there)))
    return it
  }

  private static func haves(_ directives: [Session.Directive]) -> [Have] {
    directives.sent.compactMap { if case .have(let have) = $0 { have } else { nil } }
  }

  @Test func `a cut under the mark of another one ends the connection`() {
    let digest: @Sendable ([UInt8]) -> Identity = { Identity(high: 1, low: hash64($0)) }
    let cut = Cut(after: .none, Self.held, digest)
    var forged = cut
    forged.frontier = Frontier()
    for (said, isTaken) in [(cut, true), (forged, false)] {
      var it = Conversation { configuration in
        configuration.surety = Surety(isNamed: { $0.isNamed(by: digest) }, isSigned: { _ in true })
      }
      it.feed(.connected)
      it.hear(.hello(it.peerHello()))
      let heard = it.hear(.stability(StabilityNews(standing: CutStanding(), cut: said)))
      let byes = heard.sent.compactMap { if case .bye(let bye) = $0 { bye } else { nil } }
      #expect(byes.isEmpty == isTaken)
      #expect(isTaken || byes.first?.code == .badMessage)
    }
  }

  @Test func `everything is asked for, for a peer that holds nothing sends nothing by itself`() {
    var it = Self.open(Self.stability())
    let haves = Self.haves(it.feed(.mayPull(resume: Frontier())))
    #expect(haves.map(\.asks) == [true])
    // The peer holds nothing at all: its answer ends the wait.
    #expect(it.hear(.have(it.have(Frontier()))).contains(.peerHolds(Frontier())))
    let merges = it.hear(.full(covers: Frontier()), batches: [], rows: 0).merges
    #expect(merges.map(\.asked) == [Self.mark])
    #expect(merges.map(\.movesFrontier) == [true])
    var stability = it.session.position.stability
    stability.received(from: merges[0].standing)
    #expect(stability.renewal == .sweeping(Self.mark))
  }

  @Test func `who holds nothing answers who asks with an exchange`() {
    var stability = Stability()
    stability.beginRenewal(at: Self.mark)
    stability.giveUp()
    stability.endRenewal()
    var it = Conversation()
    it.feed(.connected)
    it.feed(.advanced(Self.position(stability, Frontier())))
    var hello = it.peerHello()
    hello.standing = CutStanding(isRenewing: true)
    it.hear(.hello(hello))
    it.hear(.stability(StabilityNews(standing: hello.standing)))
    let theirs = Frontier([Conversation.peerOrigin: 4])
    #expect(!it.hear(.have(it.have(theirs))).contains(.openExport(.above(theirs))))
    let answer = it.hear(.have(it.have(theirs, asks: true)))
    #expect(answer.contains(.openExport(.above(theirs))))
  }

  @Test func `nothing is asked for before it is known that everything is to be fetched`() {
    var it = Self.open(Self.stability(renewing: nil))
    #expect(it.feed(.mayPull(resume: Frontier([Conversation.peerOrigin: 3]))).isEmpty)
    let directives = it.feed(.advanced(Self.position(Self.stability())))
    #expect(Self.haves(directives).map(\.asks) == [true])
    #expect(it.session.state == .open)
  }

  @Test func `a session that had told what was held ends when everything is fetched anew`() {
    var it = Conversation.known(holding: Self.held)
    #expect(it.feed(.advanced(Self.position(Self.stability()))).bye == .other)
    // While it goes on the session stays.
    var other = Self.open(Self.stability())
    other.feed(.mayPull(resume: Frontier()))
    other.feed(.advanced(Self.position(Self.stability(), Frontier())))
    #expect(other.session.state == .open)
    let higher = Mark(number: 3, id: 1)
    let again = other.feed(.advanced(Self.position(Self.stability(renewing: higher))))
    #expect(again.bye == .other)
  }

  @Test func `without a renewal only what differs is asked for`() {
    var it = Conversation.open(holding: Self.held)
    #expect(Self.haves(it.feed(.mayPull(resume: Frontier()))).map(\.asks) == [false])
  }
}
