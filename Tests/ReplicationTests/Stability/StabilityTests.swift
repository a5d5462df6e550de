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
    stability.acknowledge(
      as: nodes[node], own: Dot(Samples.origin(UInt64(node + 1)), seq),
      frontier: frontier ?? self.frontier)
    return stability
  }

  /// Everybody tells everybody.
  private func meet(_ all: inout [Stability]) {
    for _ in 0..<2 {
      for (teller, one) in all.enumerated() {
        for hearer in all.indices where hearer != teller {
          one.news.map { all[hearer].hear($0, from: nodes[teller], isLeaf: false) }
        }
      }
    }
  }

  /// All three after a whole cut, and `more` of the next one.
  private func round(_ all: inout [Stability], id: UInt64, at frontier: Frontier) {
    all[0].propose(id: id, frontier: frontier, members: nodes)
    meet(&all)
    for node in all.indices { all[node] = acknowledged(all[node], node, at: frontier) }
    meet(&all)
  }

  @Test func `a cut that nobody can have made holds nobody up`() {
    var all = Array(repeating: Stability(), count: 3)
    round(&all, id: 1, at: frontier)
    let far = Mark(number: Mark.highest, id: 9)
    let liar = CutStanding(whole: far, cleared: far)
    #expect(!all[1].mustRenew(for: liar))
    let cut = Cut(
      mark: far, previous: Mark(number: far.number - 1, id: 9), frontier: Frontier())
    all[1].hear(StabilityNews(standing: liar, cut: cut), from: nodes[0], isLeaf: false)
    all[1].received(from: liar)
    #expect(!all[1].standing.isBehind && all[1].cut?.mark.number == 1)
    round(&all, id: 2, at: frontier)
    #expect(all.map { $0.cut?.mark.number } == [2, 2, 2])
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
    all[0].propose(id: 7, frontier: frontier, members: nodes)
    meet(&all)
    all[0] = acknowledged(all[0], 0)
    all[1] = acknowledged(all[1], 1, 40)
    meet(&all)
    all[0].propose(id: 8, frontier: frontier, members: nodes)
    #expect(all[0].cut?.mark.number == 1)
    // Without the third it is done, but what the second has written is not here.
    all[0].propose(id: 8, frontier: frontier, members: nodes[..<2])
    #expect(all[0].cut?.mark.number == 1)
    all[0].propose(
      id: 8, frontier: Frontier([Samples.origin(1): 5, Samples.origin(2): 40]),
      members: nodes[..<2])
    #expect(all[0].cut?.mark == Mark(number: 2, id: 8))
  }

  @Test func `who lacks something of a cut does not acknowledge it`() {
    var stability = Stability()
    stability.propose(id: 7, frontier: frontier, members: nodes)
    let lacking = acknowledged(stability, 0, at: Frontier([Samples.origin(1): 5]))
    #expect(lacking.whole == .none && lacking.cut?.acknowledged == [:])
    #expect(acknowledged(stability, 0).whole == Mark(number: 1, id: 7))
  }

  @Test func `of two cuts made at one time one counts, and what was stable stays known`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    all[0].propose(id: 20, frontier: frontier, members: nodes)
    all[1].propose(id: 10, frontier: frontier, members: nodes)
    meet(&all)
    #expect(all.allSatisfy { $0.cut?.mark == Mark(number: 2, id: 20) })
    for node in all.indices { all[node] = acknowledged(all[node], node) }
    meet(&all)
    #expect(all.allSatisfy { $0.releasable(members: nodes) == frontier })
  }

  @Test func `who did not see the cut before cannot tell what is stable`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    all[0].propose(id: 8, frontier: frontier, members: nodes)
    var late = Stability()
    all[0].news.map { late.hear($0, from: nodes[0], isLeaf: false) }
    #expect(late.cut?.mark.number == 2 && late.stable == nil)
  }

  @Test func `a leaf speaks for itself alone`() {
    var stability = Stability()
    stability.propose(id: 7, frontier: frontier, members: nodes)
    var leaf = acknowledged(stability, 2)
    acknowledged(stability, 1).news.map { leaf.hear($0, from: nodes[1], isLeaf: false) }
    leaf.floors = Floors([3: Floor(term: .none, epoch: 9, stamp: .zero)])
    leaf.news.map { stability.hear($0, from: nodes[2], isLeaf: true) }
    #expect(stability.cut.map { Set($0.acknowledged.keys) } == [nodes[2]])
    #expect(stability.floors == Floors())
    var other = Stability()
    leaf.news.map { other.hear($0, from: nodes[2], isLeaf: true) }
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
    away.acknowledge(as: nodes[0], own: Dot(Samples.origin(1), 1), frontier: Frontier())
    #expect(away.cut?.isHeld(by: nodes[..<1]) == true)
    // What comes from who was away is refused by who was there.
    #expect(!away.mayMerge(CutStanding()))
  }

  @Test func `parts of a site that did not wait for each other are behind each other's deletes`() {
    var all = [Stability(), Stability(), Stability()]
    round(&all, id: 7, at: frontier)
    // The first two go on without the third, and it without them: the numbers are alike.
    var (here, there) = ([all[0], all[1]], [all[2]])
    for step in 1...2 as ClosedRange<UInt64> {
      here[0].propose(id: 20 + step, frontier: frontier, members: nodes[..<2])
      meet(&here)
      for node in here.indices { here[node] = acknowledged(here[node], node) }
      meet(&here)
      there[0].propose(id: 10 + step, frontier: frontier, members: nodes[2...])
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

  @Test func `what comes from somebody passes on that things were cleared`() {
    var stability = Stability()
    stability.received(from: CutStanding(whole: .none, cleared: Mark(number: 2, id: 2)))
    #expect(stability.standing.isBehind)
    var waiting = stability
    waiting.propose(id: 5, frontier: frontier, members: nodes[..<1])
    #expect(waiting.cut == nil)
  }

  @Test func `who is left alone goes on with what it has`() {
    let mark = Mark(number: 2, id: 2)
    var stability = Stability()
    stability.received(from: CutStanding(cleared: mark))
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
    // Files of before end without the marks that are known.
    var before = all[2]
    before.known = []
    #expect(try Stability(before.bytes.dropLast()) == before)
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
