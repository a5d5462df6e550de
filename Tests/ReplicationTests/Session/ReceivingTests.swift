import Replication
import Testing

@Suite struct ReceivingTests {
  static let origin = Conversation.peerOrigin
  static let covers = Frontier([origin: 3])
  static let full = Begin.Kind.full(covers: covers)

  static func merge(
    _ batches: [[UInt8]], of kind: Begin.Kind = full, before: UInt64 = 0, check: UInt64 = 0,
    end: End?, moves: Bool = true
  ) -> Session.Directive {
    var merge = Merge(
      sender: Conversation.peerNode, kind: kind, batches: batches, rowsBefore: before,
      checkBefore: check &+ kind.check(number: 1), end: end, movesFrontier: moves)
    merge.edition = 77
    merge.reader = .all
    return .merge(merge)
  }

  @Test func `how far an exchange has come counts for one run of the sender in one life of it`() {
    let known = Samples.hello()
    var (later, reborn) = (known, known)
    (later.run, reborn.life) = (78, 5)
    #expect(known.edition == 77 && Set([known, later, reborn].map(\.edition)).count == 3)
  }

  @Test func `a small exchange is merged once, at End`() {
    var it = Conversation.known()
    #expect(it.hear(.begin(Begin(Self.full, rows: 3))).isEmpty)
    #expect(it.hear(rows: [1]).isEmpty)
    #expect(it.hear(rows: [2]).isEmpty)
    #expect(it.session.isReceiving && !it.session.isMerging)
    let end = End(rows: 3, check: 9)
    #expect(it.hear(.end(end)) == [Self.merge([[1], [2]], end: end)])
    #expect(it.session.isMerging)
    #expect(
      it.feed(.merged(MergeResult(rows: 3, check: 9))) == [
        .peerHolds(Self.covers), .exchanged(sent: false, rows: 3),
      ])
    #expect(it.session.isIdle)
  }

  @Test func `a long exchange is merged in slices, the frontier moves at End only`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(Self.full, rows: 2_000)))
    #expect(it.hear(rows: [1]) == [Self.merge([[1]], end: nil, moves: false)])
    #expect(
      it.feed(.merged(MergeResult(rows: 1_200, check: .max))) == [
        .catchingUp(Passage(rows: 1_200, total: 2_000, covers: Self.covers))
      ])
    #expect(
      it.hear(rows: [2]) == [Self.merge([[2]], before: 1_200, check: .max, end: nil, moves: false)]
    )
    it.feed(.merged(MergeResult(rows: 800, check: 3)))
    let end = End(rows: 2_000, check: 2)
    #expect(it.hear(.end(end)) == [Self.merge([], before: 2_000, check: 2, end: end)])
    #expect(
      it.feed(.merged(MergeResult(rows: 0, check: 0))) == [
        .peerHolds(Self.covers), .exchanged(sent: false, rows: 2_000),
      ])
  }

  @Test func `rows of a long exchange gather while more of them is here`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(Self.full, rows: 2_000)))
    #expect(it.hear(rows: [1], isFollowed: true).isEmpty)
    #expect(it.hear(rows: [2], isFollowed: true).isEmpty && !it.session.isMerging)
    #expect(it.hear(rows: [3]) == [Self.merge([[1], [2], [3]], end: nil, moves: false)])
    #expect(
      it.feed(.merging(rows: 500)) == [
        .catchingUp(Passage(rows: 500, total: 2_000, covers: Self.covers))
      ])
    it.feed(.merged(MergeResult(rows: 900, check: .max)))
    #expect(it.feed(.merging(rows: 1)).isEmpty)
    // Whatever follows ends the gathering: no row waits for one that does not come.
    #expect(it.hear(rows: [4], isFollowed: true).isEmpty)
    let merges = it.hear(.members([])).merges
    #expect(merges.map(\.batches) == [[[4]]] && merges.map(\.rowsBefore) == [900])
    it.feed(.merged(MergeResult(rows: 100, check: 0)))
    #expect(it.hear(rows: [5], isFollowed: true).isEmpty)
    let end = End(rows: 1_200, check: 2)
    #expect(it.hear(.end(end)).merges.map(\.end) == [end])
  }

  @Test func `no more gathers than is merged in one go`() {
    var bytes = Conversation.known()
    bytes.hear(.begin(Begin(Self.full, rows: 2_000)))
    let part = Array(repeating: 1, count: Limits.gatheredBytes / 8) as [UInt8]
    for _ in 1..<8 { #expect(bytes.hear(rows: part, isFollowed: true).isEmpty) }
    #expect(bytes.hear(rows: part, isFollowed: true).merges.first?.batches.count == 8)
    var batches = Conversation.known()
    batches.hear(.begin(Begin(Self.full, rows: 2_000)))
    for _ in 1..<Limits.gatheredBatches {
      #expect(batches.hear(rows: [], isFollowed: true).isEmpty)
    }
    #expect(batches.hear(rows: [], isFollowed: true).merges.count == 1)
  }

  @Test func `an exchange that turns out long is merged in slices from there`() {
    var bytes = Conversation.known()
    bytes.hear(.begin(Begin(Self.full, rows: 1)))
    let half = Array(repeating: 1, count: Limits.wholeBytes / 2) as [UInt8]
    #expect(bytes.hear(rows: half).isEmpty)
    #expect(bytes.hear(rows: half).isEmpty)
    #expect(bytes.hear(rows: [1]) == [Self.merge([half, half, [1]], end: nil, moves: false)])
    var batches = Conversation.known()
    batches.hear(.begin(Begin(Self.full, rows: 1)))
    // Batches without a byte take memory as well.
    for _ in 0..<Limits.wholeRows { #expect(batches.hear(rows: []).isEmpty) }
    #expect(batches.hear(rows: []).merges.first?.batches.count == Limits.wholeRows + 1)
  }

  @Test func `a pause merges what came and moves nothing`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(Self.full, rows: 3)))
    it.hear(rows: [1])
    let end = End(rows: 1, check: 9)
    #expect(it.hear(.pause(end)) == [Self.merge([[1]], end: end, moves: false)])
    #expect(it.feed(.merged(MergeResult(rows: 1, check: 9))).isEmpty)
    #expect(it.session.isIdle)
    #expect(it.hear(Self.full, batches: [[2]], rows: 2).merges.first?.movesFrontier == true)
  }

  @Test func `pieces are put together`() {
    var it = Conversation.known()
    it.hear(.begin(Begin(Self.full, rows: 1)))
    #expect(it.hear(part: [1, 2]).isEmpty && it.hear(part: [3]).isEmpty)
    it.hear(rows: [4])
    it.hear(rows: [5])
    let end = End(rows: 2, check: 0)
    #expect(it.hear(.end(end)) == [Self.merge([[1, 2, 3, 4], [5]], end: end)])
  }

  @Test func `rows come and go at once`() {
    var it = Conversation.known(holding: Frontier([Conversation.own: 1]))
    let held = Frontier([Conversation.own: 1])
    it.feed(.exportOpened(covers: held, rows: 1))
    it.hear(.begin(Begin(Self.full, rows: 1)))
    #expect(it.feed(.exported(batch: [8], rows: 1, check: 1)).sent == [.rows(number: 1, [8])])
    it.hear(rows: [1])
    #expect(it.hear(.end(End(rows: 1, check: 0))).merges.count == 1)
    #expect(
      it.feed(.exportDone).sent == [
        .end(End(rows: 1, check: 1 &+ Begin.Kind.full(covers: held).check(number: 1)))
      ])
    it.feed(.merged(MergeResult(rows: 1, check: 0)))
    #expect(it.session.isIdle)
  }

  @Test func `a push moves the frontier of its author`() {
    var it = Conversation.known()
    let kind = Begin.Kind.push(origin: Self.origin, from: 0, to: 2)
    let end = End(rows: 2, check: 9)
    #expect(it.hear(kind, batches: [[1]], rows: 2) == [Self.merge([[1]], of: kind, end: end)])
    #expect(
      it.feed(.merged(MergeResult(rows: 2, check: 9))).first
        == .peerHolds(Frontier([Self.origin: 2])))
  }

  @Test func `the next push is taken even before the node tells the new position`() {
    var it = Conversation.known()
    for seq in 0..<3 as Range<UInt64> {
      let kind = Begin.Kind.push(origin: Self.origin, from: seq, to: seq + 1)
      #expect(it.hear(kind, batches: [[1]], rows: 1).merges.count == 1)
      it.feed(.merged(MergeResult(rows: 1, check: 9)))
    }
  }

  @Test func `a push with a gap is dropped and answered by an asking Have`() {
    let held = Frontier([Self.origin: 1])
    var it = Conversation.known(holding: held, peer: held)
    let kind = Begin.Kind.push(origin: Self.origin, from: 2, to: 3)
    it.hear(.begin(Begin(kind, rows: 1)))
    #expect(it.hear(part: [1]).isEmpty && it.hear(rows: [1]).isEmpty)
    #expect(
      it.hear(.end(End(rows: 1, check: 9))) == [.send(.have(it.have(held, asks: true)))])
    #expect(it.session.isIdle)
  }

  @Test(arguments: [(0, 1), (1, 2)] as [(UInt64, UInt64)])
  func `a push of what is held already is dropped`(from: UInt64, to: UInt64) {
    let held = Frontier([Self.origin: 2])
    var it = Conversation.known(holding: held, peer: held)
    let kind = Begin.Kind.push(origin: Self.origin, from: from, to: to)
    #expect(it.hear(kind, batches: [[1]], rows: 1).merges.isEmpty)
    #expect(it.hear(.push(origin: Self.origin, from: 1, to: 3), batches: [[1]], rows: 2).count == 1)
  }

  @Test func `a push that others were faster with still tells what its author holds`() {
    let held = Frontier([Self.origin: 2])
    var it = Conversation.known(holding: held, peer: Frontier([Self.origin: 1]))
    let kind = Begin.Kind.push(origin: Self.origin, from: 1, to: 2)
    #expect(it.hear(kind, batches: [[1]], rows: 1) == [.peerHolds(held)])
  }

  static let begin = Message.begin(Begin(full, rows: 1))
  static let end = Message.end(End(rows: 1, check: 0))
  static func rows(_ number: UInt64) -> Message { .rows(number: number, [1]) }
  static func part(_ number: UInt64) -> Message { .part(number: number, [1]) }

  @Test(
    arguments: [
      [rows(0)], [part(0)], [end], [.pause(End(rows: 0, check: 0))], [begin, begin],
      [begin, part(1), begin], [begin, part(1), end],
      [begin, part(1), .pause(End(rows: 0, check: 0))],
      [.join(Samples.join)], [begin, rows(1), .hello(Samples.hello())],
      [begin, rows(1), .schema(SchemaObject(kind: .table, name: "t", sql: ""))],
    ] as [[Message]])
  func `messages out of order end the session and merge nothing`(messages: [Message]) {
    var it = Conversation.known()
    var all: [Session.Directive] = []
    for message in messages { all = it.hear(message) }
    #expect(all.bye == .badMessage)
    #expect(all.merges.isEmpty)
    #expect(it.hear(Self.full, batches: [[1]], rows: 1).isEmpty)
  }

  /// Whether merged whole or in slices, where what is lost would be skipped for ever.
  @Test(
    arguments: [
      [rows(0)], [rows(2)], [part(2)], [rows(1), rows(1)], [rows(1), rows(3)],
      [part(1), part(1)], [part(1), rows(3)],
      // The end of this one and the beginning of the next are missing.
      [rows(1), rows(4)],
      [rows(1), end, begin, rows(3)], [rows(1), end, begin, rows(5)],
      [rows(1), end, begin, rows(1)],
    ] as [[Message]])
  func `a frame that is missing or comes twice ends the session`(messages: [Message]) {
    for rows in [1, 2_000] as [UInt64] {
      var it = Conversation.known()
      it.hear(.begin(Begin(Self.full, rows: rows)))
      for message in messages.dropLast() {
        let merges = it.hear(message).merges
        if !merges.isEmpty { it.feed(.merged(MergeResult(rows: 1, check: 0))) }
      }
      let last = it.hear(messages[messages.count - 1])
      #expect(last.bye == .badMessage && last.merges.isEmpty)
    }
  }

  @Test func `frames are counted on through all exchanges, also those that are dropped`() {
    let held = Frontier([Self.origin: 2])
    var it = Conversation.known(holding: held, peer: held)
    let known = Begin.Kind.push(origin: Self.origin, from: 0, to: 1)
    #expect(it.hear(.begin(Begin(known, rows: 1))).isEmpty)
    #expect(it.hear(Self.rows(1)).isEmpty && it.hear(Self.end).merges.isEmpty)
    #expect(it.hear(Self.begin).isEmpty)
    #expect(it.hear(Self.rows(4)).isEmpty && it.hear(Self.part(5)).isEmpty)
    #expect(it.hear(Self.rows(7)).bye == .badMessage)
  }

  /// Rows would follow a Begin that came too late by their number alone.
  @Test func `a Begin that does not come in its turn ends the session`() {
    for number in [0, 1, 3] as [UInt64] {
      var it = Conversation.known()
      #expect(it.hear(.begin(Begin(.repair, rows: 1))).isEmpty)
      #expect(!it.hear(Self.end).merges.isEmpty)
      it.feed(.merged(MergeResult(rows: 0, check: 0)))
      let late = Message.begin(Begin(Self.full, rows: 1, number: number))
      #expect(it.feed(.received(late)).bye == .badMessage)
    }
  }

  @Test func `pieces beyond the longest row end the session`() {
    var it = Conversation.known()
    it.hear(Self.begin)
    let piece = Array(repeating: 0, count: Limits.frame) as [UInt8]
    for _ in 0..<65 { #expect(it.hear(part: piece).isEmpty) }
    #expect(it.hear(part: [0]).bye == .badMessage)
  }

  @Test func `a merge that fails ends the session with its reason`() {
    var it = Conversation.known()
    _ = it.hear(Self.full, batches: [[1]], rows: 1)
    #expect(it.feed(.mergeFailed(Bye(.storage, "disk full"))).bye == .storage)
    #expect(it.feed(.merged(MergeResult(rows: 1, check: 0))).isEmpty)
  }
}
