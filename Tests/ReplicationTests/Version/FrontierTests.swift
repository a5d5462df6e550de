import Replication
import Testing

@Suite struct FrontierTests {
  @Test(arguments: 0..<200)
  func `joining is commutative, associative and idempotent`(seed: UInt64) {
    var random = Seeded(seed)
    let (a, b, c) = (random.frontier(), random.frontier(), random.frontier())
    #expect(a.joined(b) == b.joined(a))
    #expect(a.joined(b).joined(c) == a.joined(b.joined(c)))
    #expect(a.joined(a) == a)
    #expect(a.joined(b).covers(a) && a.joined(b).covers(b))
    #expect(a.covers(b) == (a.joined(b) == a))
  }

  @Test(arguments: 0..<200)
  func `what lies beyond brings the other up to the join`(seed: UInt64) {
    var random = Seeded(seed)
    let (a, b) = (random.frontier(), random.frontier())
    #expect(b.joined(a.beyond(b)) == a.joined(b))
    #expect(a.beyond(b).isEmpty == b.covers(a))
    #expect(a.beyond(b).entries.allSatisfy { $0.value > b[$0.key] })
  }

  @Test(arguments: 0..<200)
  func `the distance counts the dots between`(seed: UInt64) {
    var random = Seeded(seed)
    let (a, b) = (random.frontier(), random.frontier())
    var dots: UInt64 = 0
    for (origin, seq) in a.entries where seq > b[origin] {
      dots += UInt64(((b[origin] + 1)...seq).filter { !b.covers(Dot(origin, $0)) }.count)
    }
    #expect(a.distance(above: b) == dots)
    #expect(a.distance(above: a) == 0)
  }

  @Test func `a distance beyond counting stops at the highest number`() {
    let origins = (1...8).map { Origin(rawValue: $0) }
    let far = Frontier(Dictionary(uniqueKeysWithValues: origins.map { ($0, 1 << 62) }))
    #expect(far.distance(above: Frontier()) == .max)
  }

  @Test(arguments: 0..<200)
  func `equal frontiers have equal hashes, others differ`(seed: UInt64) {
    var random = Seeded(seed)
    let (a, b) = (random.frontier(), random.frontier())
    var rebuilt = Frontier()
    for (origin, seq) in a.sorted.reversed() {
      rebuilt.raise(origin, to: 1)
      rebuilt.raise(origin, to: seq)
    }
    #expect(rebuilt == a && rebuilt.hash == a.hash)
    #expect((a.hash == b.hash) == (a == b))
  }

  @Test func `an entry of 0 is no entry, and nothing is ever lowered`() {
    let origin = Origin(rawValue: 7)
    var frontier = Frontier([origin: 0])
    #expect(frontier.isEmpty && frontier == Frontier())
    frontier.raise(origin, to: 5)
    frontier.raise(origin, to: 3)
    #expect(frontier[origin] == 5)
    #expect(frontier.covers(Dot(origin, 5)) && !frontier.covers(Dot(origin, 6)))
    #expect(frontier[Origin(rawValue: 8)] == 0)
  }

  @Test func `entries travel in ascending order of origin`() {
    var random = Seeded(1)
    let origins = (0..<50).map { _ in Origin(rawValue: random.next()) }
    let frontier = Frontier(Dictionary(uniqueKeysWithValues: origins.map { ($0, 1) }))
    #expect(frontier.sorted.map(\.origin) == origins.sorted())
  }
}
