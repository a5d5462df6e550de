import Replication
import Testing

@Suite struct SendingTests {
  static let own = Conversation.own
  static let other = Samples.origin(30)

  /// What the check of an exchange begins with.
  static func check(_ covers: Frontier, number: UInt64 = 1) -> UInt64 {
    Begin.Kind.full(covers: covers).check(number: number)
  }

  static func push(_ from: UInt64, _ to: UInt64, bytes: Int = 2) -> Push {
    Push(
      origin: own, from: from, to: to, batch: Array(repeating: 7, count: bytes), rows: to - from,
      check: 5)
  }

  @Test func `what the peer lacks goes out: snapshot, batches, End`() {
    let held = Frontier([Self.own: 3])
    var it = Conversation.open(holding: held)
    it.feed(.mayPull(resume: Frontier()))
    #expect(it.hear(.have(it.have(Frontier()))).last == .openExport(.above(Frontier())))
    #expect(
      it.feed(.exportOpened(covers: held, rows: 3)) == [
        .send(.begin(Begin(.full(covers: held), rows: 3))), .readExport,
      ])
    #expect(it.feed(.exported(batch: [1], rows: 2, check: 5)) == [.send(.rows(number: 1, [1]))])
    #expect(it.feed(.drained) == [.readExport])
    #expect(it.feed(.drained).isEmpty)
    #expect(it.feed(.exported(batch: [2], rows: 1, check: .max)) == [.send(.rows(number: 2, [2]))])
    #expect(
      it.feed(.exportDone) == [
        .send(.end(End(rows: 3, check: 4 &+ Self.check(held)))), .closeExport,
        .exchanged(sent: true, rows: 3),
      ])
    #expect(it.session.isIdle)
  }

  @Test func `an export starts from where an interrupted one got to`() {
    let held = Frontier([Self.own: 9, Self.other: 4])
    var it = Conversation.open(holding: held)
    var have = it.have(Frontier([Self.other: 2]))
    have.resume = Frontier([Self.own: 5])
    let scope = Session.ExportScope.above(Frontier([Self.own: 5, Self.other: 2]))
    #expect(it.hear(.have(have)).last == .openExport(scope))
  }

  @Test func `a batch longer than a frame goes piece by piece, as there is room`() {
    var it = Conversation.known(holding: Frontier([Self.own: 1]))
    it.feed(.exportOpened(covers: Frontier([Self.own: 1]), rows: 1))
    for piece in 0..<3 as Range<UInt8> {
      let number = UInt64(piece) + 1
      #expect(it.feed(.exportedPart([piece])) == [.send(.part(number: number, [piece]))])
      #expect(it.feed(.drained) == [.readExport])
      #expect(it.feed(.drained).isEmpty)
    }
    #expect(it.feed(.exported(batch: [3], rows: 1, check: 7)) == [.send(.rows(number: 4, [3]))])
    #expect(it.feed(.drained) == [.readExport])
    let done = it.feed(.exportDone)
    #expect(done.sent.count == 1 && done.contains(.exchanged(sent: true, rows: 1)))
  }

  @Test func `fresh edits are pushed at once, one after the other`() {
    var it = Conversation.known()
    for seq in 0..<3 as Range<UInt64> {
      let kind = Begin.Kind.push(origin: Self.own, from: seq, to: seq + 1)
      #expect(
        it.feed(.folded(Self.push(seq, seq + 1))) == [
          .send(.begin(Begin(kind, rows: 1, number: 3 * seq))),
          .send(.rows(number: 3 * seq + 1, [7, 7])),
          .send(.end(End(rows: 1, check: 5 &+ kind.check(number: seq + 1)))),
          .exchanged(sent: true, rows: 1),
        ])
      #expect(it.advance(Frontier([Self.own: seq + 1])).isEmpty)
    }
    #expect(it.wait(100).isEmpty)
  }

  @Test func `nothing is pushed over a gap, it goes in a full exchange`() {
    var it = Conversation.known()
    #expect(it.feed(.folded(Self.push(1, 2))).isEmpty)
    #expect(it.advance(Frontier([Self.own: 2])) == [.openExport(.above(Frontier()))])
  }

  @Test func `nothing is pushed before the peer is known, while an export runs, or too long`() {
    var unknown = Conversation.open()
    #expect(unknown.feed(.folded(Self.push(0, 1))).isEmpty)
    var busy = Conversation.known(holding: Frontier([Self.other: 1]))
    #expect(busy.feed(.folded(Self.push(0, 1))).isEmpty)
    var long = Conversation.known()
    #expect(long.feed(.folded(Self.push(0, 1, bytes: Limits.piece + 1))).isEmpty)
    #expect(long.feed(.folded(Self.push(0, 1, bytes: Limits.piece))).sent.count == 3)
  }

  @Test func `a slow peer gets no pushes meanwhile, and one exchange when there is room`() {
    var it = Conversation.known()
    #expect(it.feed(.crowded).isEmpty)
    for seq in 0..<3 as Range<UInt64> {
      #expect(it.feed(.folded(Self.push(seq, seq + 1))).isEmpty)
      #expect(it.advance(Frontier([Self.own: seq + 1])).allSatisfy { !$0.isExport })
    }
    #expect(it.feed(.drained) == [.openExport(.above(Frontier()))])
    it.feed(.exportOpened(covers: Frontier([Self.own: 3]), rows: 3))
    it.feed(.exportDone)
    #expect(it.feed(.drained).isEmpty)
    #expect(it.feed(.folded(Self.push(3, 4))).sent.count == 3)
  }

  @Test func `an export that a crowded stream holds up goes on when there is room`() {
    let held = Frontier([Self.own: 3])
    var it = Conversation.known(holding: held)
    it.feed(.exportOpened(covers: held, rows: 3))
    it.feed(.exported(batch: [1], rows: 2, check: 5))
    #expect(it.feed(.crowded).isEmpty)
    #expect(it.feed(.drained) == [.readExport])
  }

  /// A session in which one exchange has been sent already.
  static func warm() -> Conversation {
    var it = Conversation.known(holding: Frontier([own: 1]))
    it.feed(.exportOpened(covers: Frontier([own: 1]), rows: 1))
    it.feed(.exportDone)
    return it
  }

  @Test func `what others wrote is passed on only after the delay`() {
    var it = Self.warm()
    let held = Frontier([Self.own: 1, Self.other: 1])
    #expect(it.advance(held).isEmpty)
    #expect(it.wait(Conversation.relayDelay - 1).allSatisfy { !$0.isExport })
    #expect(it.wait(1).contains(.openExport(.above(Frontier([Self.own: 1])))))
  }

  @Test func `what the peer got from its author meanwhile is not passed on`() {
    var it = Self.warm()
    _ = it.advance(Frontier([Self.own: 1, Self.other: 1]))
    it.hear(.have(it.have(Frontier([Self.other: 1]))))
    #expect(it.wait(Conversation.relayDelay).allSatisfy { !$0.isExport })
    #expect(it.session.deadline > it.now.uptime)
  }

  @Test func `own edits do not wait for the delay`() {
    var it = Self.warm()
    _ = it.advance(Frontier([Self.own: 1, Self.other: 1]))
    let directives = it.advance(Frontier([Self.own: 2, Self.other: 1]))
    #expect(directives.contains(.openExport(.above(Frontier([Self.own: 1])))))
  }

  @Test func `an ask is answered by an exchange, even an empty one`() {
    var it = Self.warm()
    let held = Frontier([Self.own: 1])
    let directives = it.hear(.have(it.have(held, asks: true)))
    #expect(directives.contains(.openExport(.above(held))))
    it.feed(.exportOpened(covers: held, rows: 0))
    #expect(it.feed(.exportDone).sent == [.end(End(rows: 0, check: Self.check(held, number: 2)))])
    #expect(it.hear(.have(it.have(Frontier()))).allSatisfy { !$0.isExport })
  }

  @Test func `asking sends both an asking Have and an exchange`() {
    let held = Frontier([Self.own: 1])
    var it = Self.warm()
    #expect(
      it.feed(.ask) == [.send(.have(it.have(held, asks: true))), .openExport(.above(held))])
  }

  @Test func `a pause ends the exchange and opens the next from there`() {
    let held = Frontier([Self.own: 9])
    var it = Conversation.known(holding: held)
    it.feed(.exportOpened(covers: held, rows: 9))
    it.feed(.exported(batch: [1], rows: 4, check: 3))
    let progress = Frontier([Self.own: 4])
    #expect(
      it.feed(.exportPaused(progress: progress)) == [
        .send(.pause(End(rows: 4, check: 3 &+ Self.check(held)))), .closeExport,
        .openExport(.above(progress)),
      ])
    it.feed(.exportOpened(covers: held, rows: 5))
    #expect(it.feed(.exportDone).sent == [.end(End(rows: 0, check: Self.check(held, number: 2)))])
  }

  @Test func `what does not count for the peer is sent once, until more can be given`() {
    let held = Frontier([Self.own: 9])
    let covered = Frontier([Self.own: 4])
    var it = Conversation.known(holding: held)
    #expect(it.advance(held, lost: 2).isEmpty)
    it.feed(.exportOpened(covers: covered, rows: 9))
    it.feed(.exported(batch: [1], rows: 2, check: 3))
    let progress = Frontier([Self.own: 6])
    #expect(
      it.feed(.exportPaused(progress: progress)).last
        == .openExport(.unsent(above: progress, holds: covered)))
    it.feed(.exportOpened(covers: covered, rows: 7))
    #expect(!it.feed(.exportDone).contains { $0.isExport })
    #expect(it.session.isIdle)
    let more = Frontier([Self.own: 10])
    #expect(
      it.advance(more, lost: 2).last == .openExport(.unsent(above: held, holds: covered)))
    it.feed(.exportOpened(covers: covered, rows: 1))
    #expect(!it.feed(.exportDone).contains { $0.isExport })
    #expect(it.advance(more, lost: 0).last == .openExport(.above(covered)))
    it.feed(.exportOpened(covers: more, rows: 10))
    #expect(!it.feed(.exportDone).contains { $0.isExport })
  }

  @Test func `changes of the frontier are gathered before the peer is told`() {
    var it = Self.warm()
    _ = it.advance(Frontier([Self.own: 1, Self.other: 1]))
    _ = it.advance(Frontier([Self.own: 1, Self.other: 2]))
    #expect(it.wait(19).isEmpty)
    var news = it.have(Frontier([Self.other: 2]))
    news.frontierHash = Frontier([Self.own: 1, Self.other: 2]).hash
    #expect(it.wait(1) == [.send(.have(news))])
  }

  @Test func `a failed export and a lost session close the snapshot`() {
    var failed = Conversation.known(holding: Frontier([Self.own: 1]))
    let directives = failed.feed(.exportFailed("disk full"))
    #expect(directives.contains(.closeExport) && directives.bye == .storage)
    var lost = Conversation.known(holding: Frontier([Self.own: 1]))
    #expect(lost.feed(.disconnected("reset")).contains(.closeExport))
    #expect(lost.feed(.exportOpened(covers: Frontier(), rows: 0)).isEmpty)
  }
}

extension Session.Directive {
  var isExport: Bool { if case .openExport = self { true } else { false } }
}
