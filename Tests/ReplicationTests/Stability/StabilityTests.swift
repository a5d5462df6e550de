import Testing

@testable import Replication

/// When deleted versions can go, and who has missed that they did.
@Suite struct `What everybody holds` {
  private let nodes = (1...3).map { Identity(high: 0, low: $0) }
  private let frontier = Frontier(
    [Samples.origin(1): 5, Samples.origin(2): 3, Samples.origin(3): 1])

  private func acknowledged(
    _ stability: Stability, _ node: Int, _ seq: UInt64 = 1, at frontier: Frontier? = nil
  ) -> Stability {
    var stability = stability
    let said = stability.acknowledgement(
      as: nodes[node], own: Dot(Samples.origin(UInt64(node + 1)), seq),
      frontier: frontier ?? self.frontier)
    said.map { stability.acknowledge($0) }
    return stability
  }

  private let now: Int64 = 1_800_000_000_000

  private func tell(
    _ news: StabilityNews, of teller: Int, to hearer: inout Stability, _ number: Int,
    isLeaf: Bool = false
  ) {
    hearer.hear(news, from: nodes[teller], isLeaf: isLeaf, as: nodes[number], at: now)
  }

  /// Everybody tells everybody.
  private func meet(_ all: inout [Stability]) {
    for _ in 0..<2 {
      for (teller, one) in all.enumerated() {
        for hearer in all.indices where hearer != teller {
          one.news.map { tell($0, of: teller, to: &all[hearer], hearer) }
        }
      }
    }
  }

  /// All three after a whole cut, and `more` of the next one.
  private func round(_ all: inout [Stability], id: UInt64, at frontier: Frontier) {
    all[0].propose(id: id, frontier: frontier, members: nodes, at: now)
    meet(&all)
    for node in all.indices { all[node] = acknowledged(all[node], node, at: frontier) }
    meet(&all)
  }

  @Test func `a cut that nobody can hold gives way`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 1, at: frontier)
    round(&all, id: 2, at: frontier)
    let mark = Mark(number: 9, id: .max)
    let cut = Cut(
      mark: mark, previous: Mark(number: 8, id: 1), frontier: Frontier([Samples.origin(99): 1]))
    tell(StabilityNews(standing: CutStanding(), cut: cut), of: 0, to: &all[1], 1)
    meet(&all)
    #expect(all.allSatisfy { $0.cut?.mark == mark && $0.releasable(members: nodes) == nil })
    all[2].propose(id: 5, frontier: frontier, members: nodes, at: now + Cut.patience - 1)
    #expect(all[2].cut?.mark == mark)
    // Who may have missed that rows went would hold one of its own, and lack them.
    var doubtful = all[2]
    doubtful.miss()
    doubtful.propose(id: 5, frontier: frontier, members: nodes, at: now + Cut.patience)
    #expect(doubtful.cut?.mark == mark)
    all[2].propose(id: 5, frontier: frontier, members: nodes, at: now + Cut.patience)
    #expect(all[2].cut?.mark == Mark(number: 10, id: 5))
    meet(&all)
    for node in all.indices { all[node] = acknowledged(all[node], node) }
    meet(&all)
    // Nobody held the one before: what it covers is not known to be everywhere.
    #expect(all.allSatisfy { $0.whole.number == 10 && $0.releasable(members: nodes) == nil })
    round(&all, id: 6, at: frontier)
    #expect(all.allSatisfy { $0.releasable(members: nodes) == frontier })
  }

  @Test func `nobody is behind by the word of others alone`() {
    let mark = Mark(number: 4, id: 1)
    let there = CutStanding(whole: mark, cleared: mark)
    func said(_ node: Int) -> Acknowledgement {
      Acknowledgement(node: nodes[node], mark: mark, last: Dot(Samples.origin(1), 1))
    }
    var here = Stability()
    #expect(here.mustRenew(for: there) && here.renewal(for: mark, held: []) == nil)
    // Nothing comes from it, so that nothing of it counts.
    #expect(!here.mayMerge(there) && !here.mayMerge(CutStanding(cleared: mark)))
    let both = [nodes[1]: said(1), nodes[2]: said(2)]
    let cut = Cut(
      mark: mark, previous: Mark(number: 3, id: 1), frontier: Frontier([Samples.origin(7): 9]))
    tell(StabilityNews(standing: there, cut: cut, acknowledgements: both), of: 1, to: &here, 0)
    #expect(here.renewal(for: mark, held: nodes[1...]) == nil)
    // What it has signed itself, before its file was put back.
    tell(StabilityNews(standing: there, acknowledgements: [nodes[0]: said(0)]), of: 1, to: &here, 0)
    #expect(here.renewal(for: mark, held: nodes[1...]) == mark)
    #expect(here.renewal(for: Mark(number: 5, id: 0), held: nodes[1...]) == nil)
    // Who makes up a mark just below the one that all have signed gets everybody to that one.
    #expect(here.renewal(for: Mark(number: 4, id: 0), held: nodes[1...]) == mark)
    var other = here
    other.cut?.mark.id = Identity(high: 0, low: 9)
    #expect(other.renewal(for: mark, held: nodes[1...]) == mark)
    // A later cut that one does not hold yet, and one of whose kind nobody has signed.
    for (previous, agreed) in [(mark, mark), (Mark(number: 4, id: 0), nil)] {
      var later = here
      later.cut = Cut(mark: Mark(number: 5, id: 5), previous: previous, frontier: Frontier())
      later.acknowledgements[nodes[2]]?.mark = Mark(number: 5, id: 5)
      #expect(later.renewal(for: mark, held: nodes[1...]) == agreed)
    }
    var forgotten = Stability()
    forgotten.miss()
    #expect(forgotten.renewal(for: mark, held: []) == mark)
    #expect(forgotten.renewal(for: mark, held: nodes[1...]) == nil)
    let own = Samples.origin(1)
    for (frontier, hasRejoined) in [(Frontier(), false), (Frontier([own: 1]), true)] {
      var back = forgotten
      back.cut = Cut(mark: mark, previous: .none, frontier: frontier)
      back = acknowledged(back, 0, at: Frontier([own: 1]))
      // What it alone holds tells nothing, nor does a cut from before it was back.
      back.rejoin(nodes[..<2], as: own)
      #expect(back.mayHaveMissed)
      tell(StabilityNews(standing: there, acknowledgements: both), of: 1, to: &back, 0)
      back.rejoin(nodes[..<2], as: own)
      #expect(back.mayHaveMissed == !hasRejoined)
    }
  }

  @Test func `only what is signed is heard, and one forgery spoils all`() {
    let mark = Mark(number: 4, id: 1)
    func said(_ node: Int, _ signature: UInt8?, seq: UInt64 = 1) -> Acknowledgement {
      Acknowledgement(
        node: nodes[node], mark: mark, last: Dot(Samples.origin(1), seq),
        signature: signature.map { [$0] } ?? [])
    }
    func heard(_ all: [Acknowledgement], beside known: [Acknowledgement] = []) -> [Identity]? {
      let list = { (all: [Acknowledgement]) in
        Dictionary(uniqueKeysWithValues: all.map { ($0.node, $0) })
      }
      let news = StabilityNews(standing: CutStanding(), acknowledgements: list(all))
      return news.signed(beside: list(known)) { $0.node == nodes[2] ? nil : $0.signature == [1] }?
        .acknowledgements.keys.sorted()
    }
    #expect(heard([said(0, 1), said(1, nil), said(2, 1)]) == [nodes[0]])
    #expect(heard([said(0, 1), said(1, 2)]) == nil)
    // What is older than what is known, or the same, is not looked at.
    #expect(heard([said(0, 2)], beside: [said(0, 1, seq: 2)]) == [])
    #expect(heard([said(0, 2)], beside: [said(0, 2)]) == [nodes[0]])
  }

  @Test func `nothing can go after one cut, and after two what the first one covers`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    #expect(all.allSatisfy { $0.releasable(members: nodes) == nil })
    let later = frontier.joined(Frontier([Samples.origin(3): 9]))
    round(&all, id: 8, at: later)
    #expect(all.allSatisfy { $0.releasable(members: nodes) == frontier })
    #expect(all[0].cleared == .none)
    all[0].clear()
    #expect(all[0].cleared == Mark(number: 2, id: 8))
    #expect(!all[0].standing.isBehind)
  }

  @Test func `a cut waits for every member, and for what each had written`() {
    var all = [Stability(), Stability(), Stability()]
    all[0].propose(id: 7, frontier: frontier, members: nodes, at: now)
    meet(&all)
    all[0] = acknowledged(all[0], 0)
    all[1] = acknowledged(all[1], 1, 40)
    meet(&all)
    all[0].propose(id: 8, frontier: frontier, members: nodes, at: now)
    #expect(all[0].cut?.mark.number == 1)
    // Without the third it is done, but what the second has written is not here.
    all[0].propose(id: 8, frontier: frontier, members: nodes[..<2], at: now)
    #expect(all[0].cut?.mark.number == 1)
    all[0].propose(
      id: 8, frontier: Frontier([Samples.origin(1): 5, Samples.origin(2): 40]),
      members: nodes[..<2], at: now)
    #expect(all[0].cut?.mark == Mark(number: 2, id: 8))
  }

  @Test func `who is not waited for holds no cut up by what it says that it wrote`() {
    var all = [Stability(), Stability(), Stability()]
    all[0].propose(id: 7, frontier: frontier, members: nodes, at: now)
    meet(&all)
    for node in 0..<2 { all[node] = acknowledged(all[node], node) }
    all[2] = acknowledged(all[2], 2, 1 << 62)
    meet(&all)
    all[0].propose(id: 8, frontier: frontier, members: nodes, at: now)
    #expect(all[0].cut?.mark.number == 1)
    all[0].propose(id: 8, frontier: frontier, members: nodes[..<2], at: now)
    #expect(all[0].cut?.mark == Mark(number: 2, id: 8))
  }

  @Test func `a cut that leaves out what everybody holds is not taken`() {
    var all = [Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    let held = all[0].cut
    let cut = Cut(
      mark: Mark(number: 2, id: 9), previous: Mark(number: 1, id: 7), frontier: Frontier())
    tell(StabilityNews(standing: CutStanding(), cut: cut), of: 0, to: &all[1], 1)
    #expect(all[1].cut == held)
  }

  @Test func `who lacks something of a cut does not acknowledge it`() {
    var stability = Stability()
    stability.propose(id: 7, frontier: frontier, members: nodes, at: now)
    let lacking = acknowledged(stability, 0, at: Frontier([Samples.origin(1): 5]))
    #expect(lacking.whole == .none && !nodes.contains { lacking.isHeld(by: $0) })
    #expect(acknowledged(stability, 0).whole == Mark(number: 1, id: 7))
  }

  /// Its owner has signed that it holds the cut, in the life that the file has forgotten.
  @Test func `who was put back holds a cut again that it has held before`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    var restored = Stability()
    all[0].news.map { tell($0, of: 0, to: &restored, 1) }
    #expect(restored.isHeld(by: nodes[1]) && restored.whole == .none && restored.mayHaveMissed)
    let lacking = acknowledged(restored, 1, at: Frontier([Samples.origin(1): 5]))
    #expect(lacking.whole == .none)
    restored = acknowledged(restored, 1)
    #expect(restored.whole == Mark(number: 1, id: 7) && restored.mayHaveMissed)
    let again = restored.acknowledgement(
      as: nodes[1], own: Dot(Samples.origin(2), 1), frontier: frontier)
    #expect(again == nil)
  }

  /// Its pages were on their way while all others held the next cuts, and deleted rows went.
  @Test func `who is made of another one's pages may have missed what went meanwhile`() throws {
    var all = [Stability(), Stability(), Stability()]
    let surety = Surety(holdsCut: { _ in true }, isNamed: { _ in true }) { _ in true }
    #expect(Stability().handedOn(by: surety, at: now) == Stability())
    round(&all, id: 1, at: frontier)
    var made = try #require(all[0].handedOn(by: surety, at: now))
    round(&all, id: 2, at: frontier)
    all[0].clear()
    let joiner = Identity(high: 0, low: 4)
    all[0].news.map { made.hear($0, from: nodes[0], isLeaf: false, as: joiner, at: now) }
    #expect(made.mustRenew(for: all[0].standing))
    #expect(made.renewal(for: all[0].cleared, held: nodes) == all[0].cleared)
  }

  @Test func `of two cuts made at one time one counts, and what was stable stays known`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    all[0].propose(id: 20, frontier: frontier, members: nodes, at: now)
    all[1].propose(id: 10, frontier: frontier, members: nodes, at: now)
    meet(&all)
    #expect(all.allSatisfy { $0.cut?.mark == Mark(number: 2, id: 20) })
    for node in all.indices { all[node] = acknowledged(all[node], node) }
    meet(&all)
    #expect(all.allSatisfy { $0.releasable(members: nodes) == frontier })
  }

  @Test func `who did not see the cut before cannot tell what is stable`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    all[0].propose(id: 8, frontier: frontier, members: nodes, at: now)
    var late = Stability()
    all[0].news.map { tell($0, of: 0, to: &late, 2) }
    #expect(late.cut?.mark.number == 2 && late.stable == nil)
  }

  @Test func `a leaf speaks for itself alone`() {
    var stability = Stability()
    stability.propose(id: 7, frontier: frontier, members: nodes, at: now)
    var leaf = acknowledged(stability, 2)
    acknowledged(stability, 1).news.map { tell($0, of: 1, to: &leaf, 2) }
    leaf.floors = Floors([3: Floor(term: .none, epoch: 9, stamp: .zero)])
    leaf.news.map { tell($0, of: 2, to: &stability, 0, isLeaf: true) }
    #expect(nodes.filter { stability.isHeld(by: $0) } == [nodes[2]])
    #expect(stability.floors == Floors())
    var other = Stability()
    leaf.news.map { tell($0, of: 2, to: &other, 0, isLeaf: true) }
    #expect(other.cut == nil)
  }

  @Test func `who was away is behind, asks who was there, and gives nothing`() {
    let mark = Mark(number: 4, id: 1)
    let there = CutStanding(whole: mark, cleared: mark)
    var away = Stability()
    #expect(away.mustRenew(for: there) && !away.mayGive(there))
    // Somebody who is behind, too, cannot tell.
    let other = CutStanding(whole: .none, cleared: mark)
    #expect(!away.mustRenew(for: other) && away.mayGive(other))
    away.beginRenewal(at: mark)
    #expect(away.mayAsk(there) && !away.mayAsk(other) && !away.mustRenew(for: there))
    #expect(!away.mayMerge(other, asked: mark) && away.mayMerge(there, asked: mark))
    // What was asked for before has left out what was held then.
    #expect(!away.mayMerge(there) && !away.mayMerge(there, asked: Mark(number: 3, id: 1)))
    away.received(from: other)
    #expect(away.renewal == .fetching(mark))
    away.received(from: there)
    #expect(away.renewal == .sweeping(mark))
    away.endRenewal()
    #expect(away.standing == there)
    // It counts again for the cut that it was renewed to.
    away.cut = Cut(mark: mark, previous: .none, frontier: Frontier())
    away = acknowledged(away, 0, at: Frontier())
    #expect(away.isHeld(by: nodes[..<1]))
    // What comes from who was away is refused by who was there.
    #expect(!away.mayMerge(CutStanding()))
  }

  @Test func `parts of a site that did not wait for each other are behind each other's deletes`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    // The first two go on without the third, and it without them: the numbers are alike.
    var (here, there) = ([all[0], all[1]], [all[2]])
    for step in 1...2 as ClosedRange<UInt64> {
      here[0].propose(id: 20 + step, frontier: frontier, members: nodes[..<2], at: now)
      meet(&here)
      for node in here.indices { here[node] = acknowledged(here[node], node) }
      meet(&here)
      there[0].propose(id: 10 + step, frontier: frontier, members: nodes[2...], at: now)
      there[0] = acknowledged(there[0], 2)
    }
    #expect(!here[0].isBehind(there[0].standing))
    there[0].clear()
    #expect(here.allSatisfy { $0.mustRenew(for: there[0].standing) })
    #expect(!there[0].isBehind(here[0].standing))
    here[0].beginRenewal(at: there[0].cleared)
    here[0].endRenewal()
    #expect(!here[0].isBehind(there[0].standing))
    // If both have, one of the two gives way: the later mark counts.
    here[1].clear()
    #expect(!here[1].isBehind(there[0].standing))
    #expect(there[0].mustRenew(for: here[1].standing))
  }

  @Test func `who holds a cut has what went at it, and passes on nothing that others say`() {
    let mark = Mark(number: 2, id: 2)
    var stability = Stability()
    stability.learn(mark)
    stability.received(from: CutStanding(whole: mark, cleared: mark))
    #expect(stability.standing == CutStanding(whole: mark))
    stability.beginRenewal(at: Mark(number: 3, id: 2))
    var waiting = stability
    waiting.propose(id: 5, frontier: frontier, members: nodes[..<1], at: now)
    #expect(waiting.cut == nil)
  }

  @Test func `who is left alone goes on with what it has`() {
    let mark = Mark(number: 2, id: 2)
    var stability = Stability()
    stability.cleared = mark
    #expect(!stability.isHelped(by: [CutStanding(cleared: mark), CutStanding()]))
    #expect(stability.isHelped(by: [CutStanding(whole: mark, cleared: mark)]))
    stability.giveUp()
    #expect(stability.standing == CutStanding(whole: mark, cleared: mark))
  }

  @Test func `is read as it was written`() throws {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    round(&all, id: 8, at: frontier)
    all[0].clear()
    all[0].floors = Floors([0: Floor(term: Term(number: 1, incarnation: 2), epoch: 3, stamp: .zero)]
    )
    all[1].beginRenewal(at: Mark(number: 5, id: 5))
    for stability in all + [Stability()] {
      #expect(try Stability(stability.bytes) == stability)
    }
    all[1].miss()
    #expect(try Stability(all[1].bytes).mayHaveMissed)
  }

  /// All of it but the cut and who holds it: its mark did not say what was in it.
  @Test(arguments: [false, true]) func `of a version before is read`(isSigned: Bool) throws {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    round(&all, id: 8, at: frontier)
    all[2].clear()
    var writer = ByteWriter()
    func mark(_ mark: Mark) {
      writer.uint(mark.number)
      writer.word(mark.id.low)
    }
    if isSigned { writer.byte(0x82) }
    writer.byte(3)
    mark(all[2].whole)
    mark(all[2].cleared)
    let cut = try #require(all[2].cut)
    mark(cut.mark)
    mark(cut.previous)
    writer.frontier(cut.frontier)
    writer.uint(1)
    writer.identity(nodes[0])
    if isSigned { mark(cut.mark) }
    writer.word(7)
    writer.uint(UInt64(1))
    if isSigned { writer.blob([1, 2]) }
    writer.uint(UInt64(0))
    writer.byte(1)
    writer.frontier(frontier)
    writer.byte(0)
    if isSigned {
      writer.uint(2)
      all[2].known.forEach(mark)
      for byte in [0, 1] as [UInt8] { writer.byte(byte) }
      writer.word(77)
    }
    let read = try Stability(writer.bytes)
    (all[2].acknowledgements, all[2].cut, all[2].cutHeard, all[2].stable) = ([:], nil, nil, nil)
    if !isSigned { all[2].known = [] }
    #expect(read == all[2])
    // The next cut is one of the same site: what went before is not forgotten.
    var next = read
    next.propose(id: 9, frontier: frontier, members: nodes, at: now)
    #expect(next.cut?.mark.number == 3 && next.cut?.previous.id == Identity.none)
    #expect(next.stable == nil)
  }

  @Test func `a mark is that of one cut alone`() {
    let digest: ([UInt8]) -> Identity = { Identity(high: hash64($0, seed: 1), low: 5) }
    let before = Mark(number: 3, id: 9)
    let cut = Cut(after: before, frontier, digest)
    #expect(cut.mark.number == 4 && cut.isNamed(by: digest))
    var others = [cut, cut, cut, cut]
    others[0].frontier = Frontier([Samples.origin(1): 4])
    others[1].previous.id = .none
    others[2].previous.number = 2
    others[3].mark.number = 5
    #expect(others.allSatisfy { !$0.isNamed(by: digest) })
  }

  @Test func `a later cut does not tell what was here at one before`() {
    var all = [Stability(), Stability(), Stability()]
    for id in 1...5 as ClosedRange<UInt64> { round(&all, id: id, at: frontier) }
    all[0].clear()
    // It was away after the third one, and signs for a cut that a liar has made for it.
    var away = Stability()
    for id in 1...3 as ClosedRange<UInt64> { away.learn(Mark(number: id, id: id)) }
    #expect(away.isBehind(all[0].standing))
    away.learn(Mark(number: 6, id: 66))
    #expect(away.isBehind(all[0].standing) && !away.mayGive(all[0].standing))
    // What was long before counts as held, for not all marks are remembered.
    var one = all[1]
    one.known.removeFirst(3)
    #expect(one.knows(Mark(number: 1, id: 1)) && !one.isBehind(all[0].standing))
    #expect(!one.knows(Mark(number: 5, id: 1)) && !one.knows(Mark(number: 6, id: 1)))
  }
}

/// What becomes of a version after everything has come anew.
@Suite struct `A version that did not come again` {
  private let own = Samples.origin(9)
  private let known = Frontier([Samples.origin(1): 5])
  private let floor = Floor(term: .none, epoch: 0, stamp: Stamp(rawValue: 100))

  private func version(
    _ dot: Dot, created: Dot? = nil, stamp: Int64 = 50, isDeleted: Bool = false
  ) -> Version {
    Version(
      dot: dot, created: created ?? dot, stamp: Stamp(rawValue: stamp), hash: isDeleted ? 0 : 7,
      isDeleted: isDeleted)
  }

  private func fate(
    _ version: Version, cameAs: Dot? = nil, isJudged: Bool = false
  ) -> Stability.Fate {
    Stability().fate(
      of: version, cameAs: cameAs, known: known, own: own, floor: floor, isJudged: isJudged)
  }

  @Test func `was deleted if others know it`() {
    #expect(fate(version(Dot(Samples.origin(1), 5))) == .isGone(isLost: false))
  }

  @Test func `goes if all had it, whatever a peer says that it holds`() {
    let (old, new) = (Dot(Samples.origin(1), 3), Dot(Samples.origin(1), 5))
    var stability = Stability()
    stability.cut = Cut(
      mark: Mark(number: 4, id: 1), previous: Mark(number: 3, id: 1),
      frontier: Frontier([Samples.origin(1): 4]))
    stability.beginRenewal(at: Mark(number: 4, id: 1))
    func fate(_ version: Version, cameAs: Dot? = nil) -> Stability.Fate {
      stability.fate(
        of: version, cameAs: cameAs, known: known, own: own, floor: nil, isJudged: false)
    }
    #expect(fate(version(old)) == .isGone(isLost: false))
    #expect(fate(version(new)) == .isAdopted(version(new)))
    // It has come, or what has replaced it.
    #expect(fate(version(new), cameAs: new) == .stays)
    #expect(fate(version(new), cameAs: Dot(Samples.origin(2), 1)) == .stays)
    // An edit of a row that all had, and that did not come, is later than nothing.
    #expect(fate(version(new, created: old)) == .isGone(isLost: true))
    stability.endRenewal()
    #expect(fate(version(new)) == .isGone(isLost: false))
  }

  @Test func `is handed on if nobody knows it, above the floor`() {
    let lone = version(Dot(Samples.origin(2), 1))
    #expect(fate(lone) == .isAdopted(lone.raised(above: floor)))
    #expect(lone.raised(above: floor).stamp > floor.stamp)
    let later = version(Dot(Samples.origin(2), 1), stamp: 200)
    #expect(fate(later) == .isAdopted(later))
  }

  @Test func `stays if it came, and is handed on if it stands above what came`() {
    let dot = Dot(Samples.origin(2), 1)
    #expect(fate(version(dot), cameAs: dot) == .stays)
    #expect(fate(version(dot), cameAs: Dot(Samples.origin(1), 1)) == .isAdopted(version(dot)))
    #expect(fate(version(Dot(own, 3)), cameAs: Dot(Samples.origin(1), 1)) == .stays)
  }

  @Test func `loses as an edit of a row that others have deleted, unless it is later`() {
    let created = Dot(Samples.origin(1), 2)
    let dot = Dot(Samples.origin(2), 1)
    #expect(fate(version(dot, created: created)) == .isGone(isLost: true))
    let later = version(dot, created: created, stamp: 200)
    #expect(fate(later) == .isAdopted(later.madeAnew))
    // What refers to a row of a number of its own names it: it goes on as the same.
    var numbered = later
    numbered.numbering.turn = .zero
    #expect(fate(numbered) == .isAdopted(numbered) && numbered.created == created)
    #expect(fate(later, isJudged: true) == .isGone(isLost: true))
    // So is a delete: somebody who is away may have edited the row in between.
    let deleted = version(dot, created: created, stamp: 200, isDeleted: true)
    #expect(fate(deleted) == .isAdopted(deleted))
    #expect(fate(version(dot, created: created, isDeleted: true)) == .isGone(isLost: false))
  }

  @Test func `of this life stands above the floor`() {
    let mine = version(Dot(own, 3))
    #expect(fate(mine) == .isAdopted(mine.raised(above: floor)))
    #expect(fate(version(Dot(own, 3), stamp: 200)) == .stays)
    // What was here before its table became the site's ranks lowest.
    #expect(fate(version(Dot(own, 3), stamp: 1)) == .stays)
  }

  @Test func `ranks just above itself when it is handed on`() {
    let lone = version(Dot(Samples.origin(2), 1))
    let adopted = lone.adopted(as: Dot(Samples.origin(0), 1))
    #expect(adopted.rank > lone.rank && adopted.hasSeen(lone.dot))
    #expect(adopted.created == adopted.dot)
  }
}
