import Replication
import Testing

@Suite struct RepairTests {
  static let held = Frontier([Conversation.own: 1])

  /// Our digest, and one that differs from it in these buckets.
  static let ours = Samples.digest
  static func digest(differingIn buckets: [Int]) -> Digest {
    var sums = ours.buckets
    for bucket in buckets { sums[bucket] &+= 1 }
    return Digest(buckets: sums)!
  }

  static func known() -> Conversation { .known(holding: held, peer: held, digest: ours) }

  static func have(_ root: UInt64) -> Message {
    .have(Have(frontier: Frontier(), frontierHash: held.hash, rootDigest: root))
  }

  static let buckets = Message.buckets(Buckets(frontierHash: held.hash, digest: ours))

  @Test func `equal frontiers with different digests are compared, at most once a minute`() {
    var it = Self.known()
    #expect(it.hear(Self.have(Self.ours.root)).sent.isEmpty)
    #expect(it.hear(Self.have(1)).sent == [Self.buckets])
    #expect(it.hear(Self.have(1)).sent.isEmpty)
    for _ in 0..<10 {
      it.feed(.heard)
      #expect(!it.wait(5_999).sent.contains(Self.buckets))
    }
    #expect(it.hear(Self.have(1)).sent.isEmpty)
    // What is left is looked at again without another word.
    #expect(it.wait(10).sent.contains(Self.buckets))
    #expect(it.hear(Self.have(1)).sent.isEmpty)
  }

  @Test func `nothing is compared while the node cannot take rows`() {
    var it = Conversation.open(holding: Self.held, digest: Self.ours)
    #expect(it.hear(Self.have(1)).sent.isEmpty)
    let theirs = Buckets(frontierHash: Self.held.hash, digest: Self.digest(differingIn: [3]))
    #expect(it.hear(.buckets(theirs)).sent.isEmpty)
    // What the peer lacks it is given all the same.
    #expect(it.feed(.mayPull(resume: Frontier())).sent.count == 1)
    #expect(it.hear(Self.have(1)).sent == [Self.buckets])
  }

  /// What waits for its verdict stands in the tables of others, and not in those of the anchor: all
  /// that had come with an absence was sent again, in both directions.
  @Test func `nothing is compared while an anchor has yet to judge`() {
    var it = Self.known()
    let frontier = Frontier([Conversation.own: 2])
    var position = Position(
      frontier: frontier, digest: Self.ours, own: Conversation.own, age: 1)
    position.isJudging = true
    let said = it.feed(.advanced(position)) + it.wait(1_000)
    let told = said.sent.compactMap { message -> UInt64? in
      if case .have(let have) = message { have.frontierHash } else { nil }
    }
    #expect(told == [0])
    let have = Have(frontier: frontier, frontierHash: frontier.hash, rootDigest: 1)
    #expect(!it.hear(.have(have)).sent.contains { if case .buckets = $0 { true } else { false } })
    let theirs = Buckets(frontierHash: frontier.hash, digest: Self.digest(differingIn: [3]))
    let answer = it.hear(.buckets(theirs))
    #expect(answer.sent.isEmpty && !answer.contains { $0.isExport })
    // When it has judged all, they are.
    (position.isJudging, position.age) = (false, 2)
    it.feed(.advanced(position))
    #expect(it.hear(.have(have)).sent.contains { if case .buckets = $0 { true } else { false } })
  }

  @Test func `what no repair can mend is compared less and less often`() {
    var it = Self.known()
    var minutes: [Int] = []
    for minute in 0..<240 {
      var said = it.hear(Self.have(1)).sent
      for _ in 0..<10 {
        it.feed(.heard)
        said += it.wait(6_000).sent
      }
      // At once, and at the end of these minutes.
      if said.contains(Self.buckets) { minutes.append(minute) }
    }
    #expect(minutes == [0, 2, 6, 14, 30, 62, 122, 182])
    #expect(it.hear(Self.have(2)).sent == [Self.buckets])
  }

  @Test func `different frontiers are no reason to compare`() {
    var it = Self.known()
    let more = Frontier([Conversation.own: 1, Conversation.peerOrigin: 1])
    #expect(it.hear(.have(it.have(more, root: 1))).sent.isEmpty)
    let theirs = Buckets(frontierHash: more.hash, digest: Self.digest(differingIn: [3]))
    #expect(it.hear(.buckets(theirs)).isEmpty)
  }

  @Test func `buckets that differ are sent whole, and ours are shown once`() {
    var it = Self.known()
    let theirs = Buckets(
      frontierHash: Self.held.hash, digest: Self.digest(differingIn: [3, 200]))
    #expect(
      it.hear(.buckets(theirs)) == [.send(Self.buckets), .openExport(.buckets([3, 200]))])
    #expect(
      it.feed(.exportOpened(covers: Self.held, rows: 2)).sent == [.begin(Begin(.repair, rows: 2))])
    it.feed(.exported(batch: [1], rows: 2, check: 4))
    #expect(
      it.feed(.exportDone).sent == [
        .end(End(rows: 2, check: 4 &+ Begin.Kind.repair.check(number: 1)))
      ])
    #expect(it.hear(.buckets(theirs)) == [.openExport(.buckets([3, 200]))])
  }

  @Test func `a repair moves no frontier`() {
    var it = Self.known()
    let merge = it.hear(.repair, batches: [[1]], rows: 1).merges.first
    #expect(merge?.movesFrontier == false && merge?.held == Self.held)
    #expect(
      it.feed(.merged(MergeResult(rows: 1, check: 9))) == [.exchanged(sent: false, rows: 1)])
  }

  @Test func `buckets that come during an export are sent after it`() {
    var it = Self.known()
    it.feed(.ask)
    let theirs = Buckets(frontierHash: Self.held.hash, digest: Self.digest(differingIn: [7]))
    #expect(it.hear(.buckets(theirs)) == [.send(Self.buckets)])
    it.feed(.exportOpened(covers: Self.held, rows: 0))
    #expect(it.feed(.exportDone).last == .openExport(.buckets([7])))
  }

  @Test func `a paused repair goes on in halves and ends`() {
    var it = Self.known()
    let theirs = Buckets(
      frontierHash: Self.held.hash, digest: Self.digest(differingIn: [1, 2, 3]))
    it.hear(.buckets(theirs))
    var scopes: [[Int]] = []
    // Only a repair of one bucket gets through in time.
    while scopes.count < 10 {
      it.feed(.exportOpened(covers: Self.held, rows: 2))
      let isSmall = scopes.last?.count == 1
      let input = isSmall ? Session.Input.exportDone : .exportPaused(progress: Self.held)
      let next = it.feed(input).compactMap { directive -> [Int]? in
        if case .openExport(.buckets(let buckets)) = directive { buckets } else { nil }
      }
      if next.isEmpty { break }
      scopes += next
    }
    #expect(scopes == [[1], [2, 3], [2], [3]])
    #expect(it.session.isIdle)
  }

  @Test func `a bucket that takes several snapshots goes on until nothing comes of it`() {
    var it = Self.known()
    it.hear(
      .buckets(
        Buckets(frontierHash: Self.held.hash, digest: Self.digest(differingIn: [1]))))
    var progress = Frontier()
    for seq in [UInt64(4), 9] {
      it.feed(.exportOpened(covers: Self.held, rows: 2))
      progress = Frontier([Conversation.own: seq])
      #expect(
        it.feed(.exportPaused(progress: progress)).last == .openExport(.bucket(1, above: progress)))
    }
    it.feed(.exportOpened(covers: Self.held, rows: 2))
    #expect(it.feed(.exportPaused(progress: progress)).last == .closeExport)
    #expect(it.session.isIdle)
  }

  @Test func `the progress of a repair is not taken for that of a catch-up`() {
    let empty = Frontier()
    var it = Conversation.known(holding: empty, digest: Self.ours)
    let theirs = Buckets(frontierHash: empty.hash, digest: Self.digest(differingIn: [1]))
    it.hear(.buckets(theirs))
    it.feed(.exportOpened(covers: empty, rows: 2))
    let progress = Frontier([Conversation.own: 5])
    #expect(
      it.feed(.exportPaused(progress: progress)).last == .openExport(.bucket(1, above: progress)))
    it.feed(.exportOpened(covers: empty, rows: 1))
    it.feed(.exportDone)
    #expect(
      it.advance(Frontier([Conversation.own: 9]), digest: Self.ours) == [.openExport(.above(empty))]
    )
  }

  /// Another shape of a key leads in each of them, whose rows are the same.
  @Test(arguments: [(5, true), (6, false), (nil, false)] as [(UInt64?, Bool)])
  func `two whose tables have the same keys compare what these have`(
    told: UInt64?, isHere: Bool
  ) {
    var it = Conversation(holding: Self.held, digest: Self.ours) {
      $0.position.digestHere = Self.digest(differingIn: [3])
      $0.position.keys = [TableKey(table: 0, key: 5), TableKey(table: 7, key: 8)]
    }
    it.feed(.connected)
    var hello = it.peerHello()
    hello.keys = told.map { [TableKey(table: 0, key: $0)] } ?? []
    it.hear(.hello(hello))
    it.feed(.mayPull(resume: Frontier()))
    #expect(it.hear(Self.have(Self.ours.root)).sent.isEmpty != isHere)
  }
}
