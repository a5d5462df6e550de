import Replication
import Testing

/// Which program a peer runs, and whether it reaches where this node listens.
@Suite struct KnockingTests {
  /// A session with a peer of that version that says it listens on that port.
  private func open(
    with version: UInt64 = Session.versions.upperBound, port: UInt16 = 7_000,
    program: String = ""
  ) -> (Conversation, [Session.Directive]) {
    var it = Conversation { $0.program = program }
    it.feed(.connected)
    var hello = it.peerHello(version: version)
    hello.port = port
    let directives = it.hear(.hello(hello))
    return (it, directives)
  }

  @Test(
    arguments: [
      (4, "0.1.0", true), (4, String(repeating: "v", count: 32), true), (5, "0.1.0", true),
      (4, "", false), (4, String(repeating: "v", count: 33), false),
      (4, "0 1", false), (4, "0.1.0\u{1B}[2J", false), (4, "é", false),
    ] as [(UInt64, String, Bool)])
  func `the program is told to who can read it`(version: UInt64, program: String, isTold: Bool) {
    let (it, directives) = open(with: version, program: program)
    #expect(directives.sent.contains(.program(program)) == isTold)
    #expect(it.session.state == .open)
  }

  @Test func `the program of the peer is heard once`() {
    var (it, _) = open()
    #expect(it.hear(.program("0.2.0")) == [.program("0.2.0")])
    #expect(it.hear(.program("0.2.0")).bye == .badMessage)
  }

  @Test(arguments: Knocked.allCases)
  func `a peer that is asked answers once`(answer: Knocked) {
    var (it, _) = open()
    #expect(it.feed(.knock).sent == [.knock])
    #expect(it.feed(.knock).isEmpty)
    #expect(it.hear(.knocked(answer)) == [.knocked(answer)])
    #expect(it.feed(.knock).sent == [.knock])
    it.hear(.knocked(answer))
    #expect(it.hear(.knocked(answer)).bye == .badMessage)
  }

  @Test func `a peer that asks is dialled once a minute`() {
    var (it, _) = open()
    #expect(it.hear(.knock) == [.dialBack])
    #expect(it.hear(.knock).sent == [.knocked(.untried)])
    #expect(it.feed(.dialledBack(.refused)).sent == [.knocked(.refused)])
    #expect(it.feed(.dialledBack(.refused)).isEmpty)
    for _ in 0..<100 { #expect(it.hear(.knock) == [.send(.knocked(.untried))]) }
    it.now.uptime += Session.knockPause - 1
    #expect(it.hear(.knock).sent == [.knocked(.untried)])
    it.now.uptime += 1
    #expect(it.hear(.knock) == [.dialBack])
    // As long as that takes, whatever the time is.
    it.now.uptime += Session.knockPause
    #expect(it.hear(.knock).sent == [.knocked(.untried)])
  }

  @Test func `a peer that does not listen is not dialled`() {
    var (it, _) = open(port: 0)
    #expect(it.hear(.knock).sent == [.knocked(.untried)])
    #expect(it.feed(.dialledBack(.reached)).isEmpty)
  }

  @Test func `a question waits its turn with others`() {
    var (it, _) = open()
    for _ in 0..<256 {
      let pause = it.session.pause(before: .knock, at: it.now)
      #expect(pause == 0)
    }
    let last = it.session.pause(before: .knock, at: it.now)
    #expect(last > 0)
  }

  @Test(
    arguments: [
      [24, 0], [24, 33] + Array(repeating: 0x61, count: 33), [24, 2, 0x61, 0x20], [24, 1, 0x7F],
      [24, 2, 0xC3, 0xA9], [24, 1, 0], [25, 0], [26], [26, 5], [26, 255], [26, 0, 0],
    ] as [[UInt8]])
  func `what is no such message is refused`(body: [UInt8]) {
    #expect(throws: WireError.self) { try Message(frame: body) }
  }
}
