import Replication
import Testing

@Suite struct GreetingTests {
  @Test func `both sides say Hello first, then are open and compare clocks`() {
    var it = Conversation()
    let hello = Samples.hello(node: Conversation.node, name: "here", clock: it.now.wall)
    #expect(it.feed(.connected) == [.send(.hello(hello))])
    #expect(it.session.state == .greeting)
    let peer = it.peerHello()
    #expect(
      it.hear(.hello(peer)) == [
        .opened(peer), .heardClock(peer.view), .send(it.ping),
      ])
    #expect(it.session.state == .open && it.session.peer == peer)
  }

  @Test func `a peer is called as the site calls it`() {
    var it = Conversation { $0.peerName = "reader" }
    it.feed(.connected)
    var peer = it.peerHello()
    peer.name = "desk was revoked; call 555"
    let directives = it.hear(.hello(peer))
    peer.name = "reader"
    #expect(directives.contains(.opened(peer)) && it.session.peer == peer)
  }

  @Test(
    arguments: [
      (Samples.hello(version: 0), .version), (Samples.hello(version: 1), .version),
      (Samples.hello(version: 3), .version), (Samples.hello(version: 7), .version),
      (Samples.hello(version: .max), .version),
      (Samples.hello(site: Identity(high: 9, low: 9)), .anotherSite),
      (Samples.hello(site: .none), .anotherSite),
      (Samples.hello(node: Conversation.node), .oneself),
      (Samples.hello(purpose: .join, node: Conversation.node), .oneself),
    ] as [(Hello, Bye.Code)])
  func `a peer that does not fit gets a reason`(hello: Hello, code: Bye.Code) {
    var it = Conversation()
    it.feed(.connected)
    let directives = it.hear(.hello(hello))
    #expect(directives.bye == code)
    #expect(it.session.state == .closed)
    #expect(it.session.deadline == .max)
    #expect(it.hear(.hello(it.peerHello())).isEmpty)
  }

  @Test(arguments: [4, 5, 6] as [UInt64])
  func `this version, the one before and the next one get on`(version: UInt64) {
    var it = Conversation()
    it.feed(.connected)
    #expect(it.hear(.hello(it.peerHello(version: version))).bye == nil)
    #expect(it.session.state == .open)
  }

  @Test func `clocks as far apart as the wire allows do not trap`() {
    for clock in [-Limits.clock, Limits.clock] {
      var it = Conversation()
      it.feed(.connected)
      var hello = it.peerHello()
      hello.view = ClockView(wall: clock)
      #expect(it.hear(.hello(hello)).contains(.heardClock(hello.view)))
      it.hear(.pong(echo: clock, ClockView(wall: -clock)))
      it.hear(.pong(echo: it.now.uptime, ClockView(wall: clock)))
      #expect(it.session.state == .open)
    }
  }

  @Test func `a joiner gets an offer with the schema, is judged and admitted`() {
    var it = Conversation()
    it.feed(.connected)
    let hello = it.peerHello(purpose: .join, site: .none)
    #expect(it.hear(.hello(hello)) == [.opened(hello)])
    #expect(it.session.state == .pairing)
    let offer = Offer(siteName: "clinic", rows: 7, objects: 1)
    let table = SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a PRIMARY KEY)")
    #expect(it.feed(.offer(offer, [table])) == [.send(.offer(offer)), .send(.schema(table))])
    #expect(it.hear(.join(Samples.join)) == [.judge(Samples.join)])
    #expect(it.feed(.admitted(Samples.admit)) == [.send(.admit(Samples.admit))])
    #expect(it.hear(.have(it.have(Frontier()))).bye == .badMessage)
  }

  @Test func `whoever says to be somebody else than the handshake has shown is let go`() {
    let (peer, other) = (Samples.site, Samples.node)
    for (shown, node, purpose, isGood) in [
      (Session.Shown.member(peer), peer, Hello.Purpose.member, true),
      (.member(peer), other, .member, false), (.member(peer), peer, .join, false),
      (.joiner, peer, .join, true), (.joiner, peer, .member, false),
    ] {
      var it = Conversation(shown: shown)
      it.feed(.connected)
      var hello = it.peerHello(purpose: purpose)
      hello.node = node
      #expect((it.hear(.hello(hello)).bye == nil) == isGood, "\(shown) \(purpose)")
    }
  }

  @Test func `signed statements are passed on in frames that fit, and heard`() {
    var it = Conversation.open()
    let many = Array(repeating: Samples.statement, count: 9_000)
    let frames = it.feed(.tell(many)).compactMap { directive -> Int? in
      guard case .send(let message) = directive, case .statements(let part) = message else {
        return nil
      }
      #expect(message.frame.count <= Limits.frame + 4)
      return part.count
    }
    #expect(frames.reduce(0, +) == many.count && frames.count > 1)
    #expect(it.hear(.statements([Samples.statement])) == [.statements([Samples.statement])])
    #expect(it.feed(.tell([])).isEmpty)
  }

  @Test func `a joiner that is turned away hears why`() {
    var it = Conversation()
    it.feed(.connected)
    it.hear(.hello(it.peerHello(purpose: .join, site: .none)))
    let bye = Bye(.invitationExpired, "the invitation has expired")
    #expect(it.feed(.close(bye)) == [.send(.bye(bye)), .closed(bye, byPeer: false)])
    #expect(it.feed(.close(bye)).isEmpty)
  }

  @Test func `nothing but Hello may come first, and only once`() {
    var early = Conversation()
    early.feed(.connected)
    #expect(early.hear(.ping(sent: 0, ClockView(wall: 0))).bye == .badMessage)
    var twice = Conversation.open()
    #expect(twice.hear(.hello(twice.peerHello())).bye == .badMessage)
  }

  @Test func `a Bye and a broken stream close without an answer`() {
    var it = Conversation.open()
    let bye = Bye(.leaving, "leaving")
    #expect(it.hear(.bye(bye)) == [.closed(bye, byPeer: true)])
    #expect(it.feed(.disconnected("reset")).isEmpty)
    var cut = Conversation.open()
    #expect(cut.feed(.disconnected("reset")) == [.closed(Bye(.other, "reset"), byPeer: true)])
  }

  @Test func `the first Have waits until the node lets us ask, and carries the progress`() {
    let held = Frontier([Conversation.own: 3])
    var it = Conversation.open(holding: held)
    #expect(it.hear(.have(it.have(held))).sent.isEmpty)
    #expect(it.wait(100).sent.isEmpty)
    let progress = Frontier([Conversation.peerOrigin: 5])
    let expected = Have(
      frontier: held, frontierHash: held.hash, rootDigest: 0, resume: progress)
    #expect(it.feed(.mayPull(resume: progress)) == [.send(.have(expected))])
    #expect(it.feed(.mayPull(resume: progress)).isEmpty)
  }

  @Test func `who is told to ask before the node allows it asks with the first Have`() {
    var it = Conversation.open()
    #expect(it.feed(.ask).isEmpty)
    let progress = Frontier([Conversation.peerOrigin: 5])
    let expected = Have(
      frontier: Frontier(), frontierHash: Frontier().hash, rootDigest: 0, resume: progress,
      asks: true)
    #expect(it.feed(.mayPull(resume: progress)) == [.send(.have(expected))])
  }
}
