import Replication
import Testing

@Suite struct TimerTests {
  @Test func `a quiet side pings, a ping is answered, clocks are compared`() {
    var it = Conversation.open()
    #expect(it.wait(2_999).isEmpty)
    let mine = ClockStanding().view(at: it.now)
    let theirs = ClockView(wall: 7)
    #expect(it.wait(1) == [.send(it.ping)])
    let answer = Session.Directive.send(.pong(echo: 5, ClockStanding().view(at: it.now)))
    #expect(it.hear(.ping(sent: 5, theirs)) == [answer, .heardClock(theirs)])
    let asked = it.now.uptime
    it.wait(100)
    #expect(
      it.hear(.pong(echo: asked, mine)) == [
        .measuredClock(mine, roundTrip: 100, at: it.now.uptime)
      ])
    // What took too long says too little.
    it.wait(2_900)
    let askedAgain = it.now.uptime
    it.wait(1_001)
    #expect(it.hear(.pong(echo: askedAgain, mine)).isEmpty)
  }

  @Test func `an answer that was not asked for, or was given, says nothing of time`() {
    var it = Conversation.open()
    it.wait(3_000)
    let (asked, view) = (it.now.uptime, ClockView(wall: 7))
    #expect(it.hear(.pong(echo: asked - 100, view)).isEmpty)
    #expect(it.hear(.pong(echo: asked + 1, view)).isEmpty)
    #expect(it.hear(.pong(echo: asked, view)).count == 1)
    #expect(it.hear(.pong(echo: asked, view)).isEmpty)
  }

  @Test func `clocks are compared when that is wanted, but not all the time`() {
    var it = Conversation.open()
    it.wait(1_000)
    #expect(it.feed(.compareClocks) == [.send(it.ping)])
    #expect(it.feed(.compareClocks).isEmpty)
    #expect(it.wait(499).isEmpty)
    #expect(it.wait(1) == [.send(it.ping)])
    #expect(it.wait(500).isEmpty)
  }

  @Test func `clocks are compared every minute on a busy link too`() {
    var it = Conversation.open()
    var pings = 0
    for _ in 0..<130 {
      it.hear(.ping(sent: 0, ClockView(wall: 0)))
      pings += it.wait(1_000).sent.count
    }
    #expect(pings == 2)
  }

  @Test func `a link is dead after ten seconds of silence`() {
    var it = Conversation.open()
    it.wait(9_999)
    #expect(it.session.state == .open)
    #expect(it.wait(1).bye == .silent)
  }

  @Test func `a large frame that comes slowly keeps the link`() {
    var it = Conversation.open()
    for _ in 0..<5 {
      it.wait(9_000)
      #expect(it.feed(.heard).isEmpty)
    }
    #expect(it.session.state == .open)
  }

  @Test func `a merge that takes long is no silence while the peer is heard`() {
    var it = Conversation.known()
    _ = it.hear(ReceivingTests.full, batches: [[1]], rows: 1)
    for _ in 0..<10 {
      #expect(!it.wait(3_000).sent.isEmpty)
      it.feed(.heard)
    }
    #expect(it.session.isMerging && it.session.state == .open)
    it.wait(9_999)
    #expect(it.session.state == .open)
    #expect(it.wait(1).bye == .silent)
  }

  @Test func `silence means nothing while nothing is read`() {
    var it = Conversation.known()
    _ = it.hear(ReceivingTests.full, batches: [[1]], rows: 1)
    it.feed(.stoppedReading)
    for _ in 0..<20 { #expect(!it.wait(3_000).sent.isEmpty) }
    #expect(it.session.deadline > it.now.uptime)
    // What arrived before, and is looked at now, does not show that the link is alive.
    it.feed(.merged(MergeResult(rows: 1, check: 0)))
    it.feed(.received(.ping(sent: 0, ClockView(wall: 0))))
    #expect(it.wait(60_000).bye == nil)
    it.feed(.heard)
    it.wait(9_999)
    #expect(it.session.state == .open)
    #expect(it.wait(1).bye == .silent)
  }

  @Test func `a stranger does not keep its place by a byte now and then`() {
    var greeting = Conversation()
    greeting.feed(.connected)
    greeting.wait(6_000)
    greeting.feed(.heard)
    #expect(greeting.wait(3_999).isEmpty && greeting.wait(1).bye == .silent)
    var pairing = Conversation()
    pairing.feed(.connected)
    pairing.hear(.hello(pairing.peerHello(purpose: .join, site: .none)))
    for _ in 0..<9 {
      #expect(pairing.wait(6_000).isEmpty)
      pairing.feed(.heard)
    }
    #expect(pairing.wait(5_999).isEmpty && pairing.wait(1).bye == .silent)
  }

  @Test func `who does not say Hello, or joins and says nothing, is let go`() {
    var greeting = Conversation()
    greeting.feed(.connected)
    #expect(greeting.wait(9_999).isEmpty && greeting.wait(1).bye == .silent)
    var pairing = Conversation()
    pairing.feed(.connected)
    pairing.hear(.hello(pairing.peerHello(purpose: .join, site: .none)))
    #expect(pairing.wait(9_999).isEmpty && pairing.wait(1).bye == .silent)
  }

  /// A deadline in the past would make the shell spin.
  @Test(arguments: 0..<300)
  func `a tick always moves the deadline on`(seed: UInt64) {
    var random = Seeded(seed)
    var it = Conversation()
    let held = Frontier([Conversation.own: 1])
    let inputs: [Session.Input] = [
      .connected, .received(.hello(it.peerHello())), .mayPull(resume: Frontier()), .ask,
      .received(.have(it.have(Frontier()))), .received(.have(it.have(Frontier(), asks: true))),
      .advanced(Position(frontier: held, digest: Digest(), own: Conversation.own)),
      .advanced(
        Position(
          frontier: held.joined(random.frontier()), digest: Digest(), own: Conversation.own)),
      .exportOpened(covers: held, rows: 1), .exported(batch: [1], rows: 1, check: 1), .exportDone,
      .exportPaused(progress: held), .received(ReceivingTests.begin),
      .received(ReceivingTests.rows(1)),
      .received(ReceivingTests.end), .merged(MergeResult(rows: 1, check: 1)), .heard, .drained,
      .stoppedReading, .exportedPart([1]), .crowded,
      .received(.buckets(Buckets(frontierHash: held.hash, digest: Samples.digest))), .tick,
      .received(.bye(Bye(.stopping, ""))),
    ]
    for step in 0..<80 {
      _ = it.feed(step < 3 && seed % 4 > 0 ? inputs[step] : inputs.randomElement(using: &random)!)
      if random.chance(50) { it.wait(Int64.random(in: 0...4_000, using: &random)) }
      let wait = max(0, min(it.session.deadline - it.now.uptime, 60_000))
      it.wait(wait)
      #expect(it.session.deadline > it.now.uptime, "step \(step), \(it.session.state)")
    }
  }
}
