import Testing

@testable import Replication

/// What a peer says for nothing is counted, whatever it is, and the peer waits for it.
@Suite struct TollTests {
  private static let signed = Surety(exempt: { [] }) { $0.signature.first == 1 }

  private static func reach(_ seq: UInt64) -> Reach {
    Reach(
      origin: Conversation.peerOrigin, node: Conversation.peerNode, life: 0, seq: seq, run: 1,
      signature: [1] + Array(repeating: 0, count: 63))
  }

  private static func open(owing toll: Toll = Toll()) -> Conversation {
    var it = Conversation(holding: Frontier([Conversation.peerOrigin: 5])) {
      $0.surety = signed
    }
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    it.feed(.owes(toll, Supply()))
    it.feed(.mayPull(resume: Frontier()))
    it.hear(.have(it.have(Frontier())))
    return it
  }

  /// Says a message as soon as its turn is, and gives for how many ms it has waited.
  @discardableResult
  private static func say(_ message: Message, to it: inout Conversation) -> Int64 {
    var waited: Int64 = 0
    while true {
      let pause = it.session.pause(before: message, at: it.now)
      guard pause > 0 else { break }
      it.now.uptime += pause
      waited += pause
    }
    if case .reaches(_, let reaches) = message {
      it.hear(reaches: reaches)
    } else if case .part(_, let bytes) = message {
      it.hear(part: bytes)
    } else if case .rows(_, let bytes) = message {
      it.hear(rows: bytes)
    } else {
      it.hear(message)
    }
    return waited
  }

  /// An exchange of so many rows, all of which were known but for some.
  @discardableResult
  private static func exchange(
    rows: UInt64, known: UInt64, _ kind: Begin.Kind = .full(covers: Frontier()),
    _ reaches: [Reach] = [], with it: inout Conversation
  ) -> Int64 {
    var waited = say(.begin(Begin(kind, rows: rows)), to: &it)
    if !reaches.isEmpty { waited += say(.reaches(number: 0, reaches), to: &it) }
    if rows > 0 { waited += say(.rows(number: 0, [1]), to: &it) }
    waited += say(.end(End(rows: rows, check: 0)), to: &it)
    it.feed(.merged(MergeResult(rows: rows, check: 0, known: known)))
    return waited
  }

  /// How often something has its turn in a minute.
  private static func turns(
    _ it: Conversation = open(), _ say: (inout Conversation, Int) -> Void
  ) -> Int {
    var (it, count) = (it, 0)
    let end = it.now.uptime + 60_000
    while it.now.uptime < end, count < 1_000_000 {
      count += 1
      say(&it, count)
      guard it.session.state == .open else { return count }
    }
    return count
  }

  @Test func `a frame of statements that are known costs what it takes to look for them`() {
    let statement = SignedStatement(
      SiteStatement(site: Samples.site, issuer: .none, previous: .none, time: 0, kind: .leave),
      signature: Array(repeating: 0, count: 64))
    let frame = Message.statements(
      Array(repeating: statement, count: Limits.statementsPerFrame))
    let turns = Self.turns { it, _ in Self.say(frame, to: &it) }
    // A million a minute, which is 5 s of a core.
    #expect(250...300 ~= turns)
  }

  @Test func `exchanges that bring nothing are as many as a peer may make in vain`() {
    let empty = Self.turns { it, _ in Self.exchange(rows: 0, known: 0, with: &it) }
    #expect(6_000...6_300 ~= empty)
    let known = Self.turns { it, _ in Self.exchange(rows: 500, known: 500, with: &it) }
    #expect(3_000...3_200 ~= known)
    for (from, to, wanted) in [(3, 5, 60_000...63_000), (8, 9, 6_000...6_300)]
      as [(UInt64, UInt64, ClosedRange<Int>)]
    {
      let left = Self.turns { it, _ in
        let kind = Begin.Kind.push(origin: Conversation.peerOrigin, from: from, to: to)
        Self.exchange(rows: 1, known: 0, kind, with: &it)
      }
      #expect(wanted ~= left)
    }
  }

  @Test func `rows that are dropped are paid for by their bytes`() {
    let bytes = [UInt8](repeating: 1, count: 1_000_000)
    var it = Self.open()
    let kind = Begin.Kind.push(origin: Conversation.peerOrigin, from: 3, to: 5)
    Self.say(.begin(Begin(kind, rows: 1)), to: &it)
    let turns = Self.turns(it) { it, _ in Self.say(.rows(number: 0, bytes), to: &it) }
    #expect(6_000...6_400 ~= turns)
  }

  @Test func `rows that are left out are paid for before their exchange ends`() {
    var it = Self.open()
    Self.say(.begin(Begin(.full(covers: Frontier()), rows: 1 << 40)), to: &it)
    let turns = Self.turns(it) { it, _ in
      Self.say(.rows(number: 0, [1]), to: &it)
      it.feed(.merged(MergeResult(rows: 100, check: 0, known: 100)))
    }
    #expect(5_000...5_300 ~= turns)
  }

  @Test func `pieces of one byte are paid for, and long ones are not`() {
    for (count, wanted) in [(1, 600_000...640_000), (Limits.piece, 65...70)] {
      var it = Self.open()
      Self.say(.begin(Begin(.full(covers: Frontier()), rows: 1)), to: &it)
      let bytes = [UInt8](repeating: 1, count: count)
      // Of the long ones only so many make a row; then the session ends.
      let turns = Self.turns(it) { it, _ in
        Self.say(.part(number: 0, bytes), to: &it)
      }
      #expect(wanted ~= turns)
    }
  }

  @Test func `reaches that rise one by one are checked a thousand times a second`() {
    var it = Self.open()
    Self.say(.begin(Begin(.repair, rows: 0)), to: &it)
    let turns = Self.turns(it) { it, count in
      Self.say(.reaches(number: 0, [Self.reach(5 + UInt64(count))]), to: &it)
    }
    // The session does not end over it, for it waits.
    #expect(61_000...63_000 ~= turns)
  }

  @Test func `frontiers and judged frontiers are paid for by their length`() {
    let many = Frontier(
      Dictionary(uniqueKeysWithValues: (1...8_000).map { (Samples.origin($0), 1 as UInt64) }))
    let judged = Judged(term: Term(number: 1, incarnation: 1), frontier: many)
    let begin = Begin(.full(covers: many), rows: 0, judged: judged)
    #expect(Toll.cost(of: .begin(begin)) == 80_000)
    let have = Have(frontier: many, frontierHash: 0, rootDigest: 0, resume: many, asks: true)
    #expect(Toll.cost(of: .have(have)) == 90_000)
    var it = Self.open()
    var count = 0
    while it.session.pause(before: .begin(begin), at: it.now) == 0 { count += 1 }
    #expect(count == 32)
  }

  @Test func `what was owed when a connection ended is owed in the next one`() {
    var it = Self.open()
    for _ in 0..<256 { #expect(Self.say(it.ping, to: &it) == 0) }
    let next = Self.open(owing: it.session.toll)
    #expect(it.now == next.now)
    var (fresh, after) = (Self.open(), next)
    #expect(Self.say(fresh.ping, to: &fresh) == 0)
    #expect(Self.say(after.ping, to: &after) > 0)
    #expect(Toll().joined(it.session.toll) == it.session.toll)
    #expect(it.session.toll.joined(Toll()) == it.session.toll)
  }

  @Test func `nobody waits for more than a minute`() {
    var it = Self.open()
    for _ in 0..<1_000 { it.session.chargeForNothing(rows: .max, it.now) }
    #expect(50_000...60_000 ~= Self.say(it.ping, to: &it))
  }

  @Test func `a catch-up of a hundred thousand rows waits for nothing`() {
    var it = Self.open()
    let covers = Frontier([Conversation.peerOrigin: 100_005])
    #expect(Self.say(.begin(Begin(.full(covers: covers), rows: 100_000)), to: &it) == 0)
    #expect(Self.say(.reaches(number: 0, [Self.reach(100_005)]), to: &it) == 0)
    for _ in 0..<200 {
      #expect(Self.say(.rows(number: 0, [UInt8](repeating: 1, count: 500_000)), to: &it) == 0)
      if it.session.isMerging { it.feed(.merged(MergeResult(rows: 500, check: 0))) }
    }
    #expect(Self.say(.end(End(rows: 100_000, check: 0)), to: &it) == 0)
    it.feed(.merged(MergeResult(rows: 0, check: 0)))
    #expect(Self.say(it.ping, to: &it) == 0)
  }

  @Test(arguments: [false, true])
  func `sixty commits a second for minutes wait for nothing, though others are faster`(
    areFaster: Bool
  ) {
    // A peer in a mesh: it pushes, tells fifty times a second what it holds, and brings again what
    // others have brought.
    var it = Self.open()
    var seq: UInt64 = 5
    for step in 0..<(180 * 60) {
      seq += 1
      let kind = Begin.Kind.push(origin: Conversation.peerOrigin, from: seq - 1, to: seq)
      let position = Position(
        frontier: Frontier([Conversation.peerOrigin: seq]), digest: Digest(), own: Conversation.own)
      if areFaster { it.feed(.advanced(position)) }
      #expect(Self.exchange(rows: 1, known: 0, kind, [Self.reach(seq)], with: &it) == 0)
      it.feed(.advanced(position))
      if step % 4 == 0 { #expect(Self.exchange(rows: 5, known: 5, with: &it) == 0) }
      if step % 6 != 0 {
        let have = it.have(Frontier([Conversation.peerOrigin: seq]))
        #expect(Self.say(.have(have), to: &it) == 0)
      }
      it.now.uptime += step % 3 == 0 ? 16 : 17
    }
  }

  @Test func `who fetches everything anew is brought rows that it has`() {
    var it = Self.open()
    var position = Position(
      frontier: Frontier([Conversation.peerOrigin: 5]), digest: Digest(), own: Conversation.own)
    position.stability.renewal = .fetching(Mark(number: 1, id: 1))
    it.feed(.advanced(position))
    for _ in 0..<1_000 { it.session.chargeForNothing(rows: 1_000_000, it.now) }
    #expect(Self.say(it.ping, to: &it) == 0)
  }
}
