import Replication
import Testing

@Suite("Rows that go out while more are folded") struct EarlyRowsTests {
  private static let own = Conversation.own
  private static let held = Frontier([own: 3])

  private static func stretch(_ from: UInt64, _ to: UInt64, waiting: UInt64 = 5_000) -> Stretch {
    Stretch(
      origin: own, from: from, to: to,
      batches: [
        Stretch.Batch(bytes: [1], rows: 1, check: 5),
        Stretch.Batch(bytes: [2], rows: to - from - 1, check: 6),
      ], waiting: waiting)
  }

  /// A session that is about to export what its peer lacks.
  private static func opening(peer: Rights = .all) -> Conversation {
    var it = Conversation(holding: held, peer: peer)
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    it.feed(.mayPull(resume: Frontier()))
    it.hear(.have(it.have(held)))
    _ = it.advance(Frontier([own: 13]))
    return it
  }

  @Test func `begin an exchange that pauses before the one that covers them`() {
    var it = Self.opening()
    let first = it.feed(.foldedStretch(Self.stretch(3, 13)))
    #expect(
      first == [
        .send(.begin(Begin(.full(covers: Self.held), rows: 5_000))),
        .send(.rows(number: 1, [1])), .send(.rows(number: 2, [2])),
        .narrowExport(.above(Frontier([Self.own: 13]))),
      ])
    let second = it.feed(.foldedStretch(Self.stretch(13, 20)))
    #expect(second.sent == [.rows(number: 3, [1]), .rows(number: 4, [2])])
    #expect(second.last == .narrowExport(.above(Frontier([Self.own: 20]))))
    let all = Frontier([Self.own: 25])
    let check = 22 &+ SendingTests.check(Self.held)
    #expect(
      it.feed(.exportOpened(covers: all, rows: 5)) == [
        .send(.pause(End(rows: 17, check: check))),
        .send(.begin(Begin(.full(covers: all), rows: 5, number: 6))), .readExport,
      ])
    let end = End(rows: 0, check: SendingTests.check(all, number: 2))
    #expect(it.feed(.exportDone).sent == [.end(end)])
    #expect(it.session.isIdle)
  }

  @Test func `stay back if they do not follow on what was sent`() {
    var it = Self.opening()
    #expect(it.feed(.foldedStretch(Self.stretch(4, 13))).isEmpty)
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).sent.count == 3)
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).isEmpty)
    #expect(it.feed(.foldedStretch(Self.stretch(14, 20))).isEmpty)
  }

  @Test func `stay back if nothing is to be exported, or the snapshot is open`() {
    var it = Conversation.known(holding: Self.held, peer: Self.held)
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).isEmpty)
    it = Self.opening()
    it.feed(.exportOpened(covers: Frontier([Self.own: 13]), rows: 10))
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).isEmpty)
  }

  @Test func `stay back if the stream is full, or the peer may not read everything`() {
    var it = Self.opening()
    it.feed(.crowded)
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).isEmpty)
    it = Self.opening(peer: Rights(tables: ["ward": .none]))
    #expect(it.feed(.foldedStretch(Self.stretch(3, 13))).isEmpty)
  }
}
