import Replication
import Testing

@testable import Flotilla

/// How far a long exchange has come, for `status`.
@Suite struct CatchUpTests {
  private static let (mine, theirs) = (Origin(rawValue: 1), Origin(rawValue: 2))

  private func passage(_ rows: UInt64, of total: UInt64 = 1_000) -> Passage {
    Passage(rows: rows, total: total, covers: Frontier([Self.theirs: 1_200]))
  }

  @Test func `what has come counts before the frontier moves, and what came to be since is late`() {
    let here = Frontier([Self.mine: 9])
    let there = Frontier([Self.theirs: 1_250, Self.mine: 9])
    #expect(there.distance(above: here) == 1_250)
    var it = CatchUp(nil, passage(0), at: 0)
    #expect(it.rows(of: there, above: here) == 1_050)
    it = CatchUp(it, passage(600), at: 2_000)
    #expect(it.rows(of: there, above: here) == 450)
    it.end()
    #expect(it.rows(of: there, above: here) == 50)
  }

  @Test func `the time left follows from the pace, and another exchange begins anew`() {
    var it = CatchUp(nil, passage(100), at: 5_000)
    #expect(it.secondsLeft == nil)
    it = CatchUp(it, passage(300), at: 6_000)
    #expect(it.secondsLeft == 3.5)
    it = CatchUp(it, passage(700), at: 8_000)
    #expect(it.secondsLeft == 1.5)
    // After a pause.
    it = CatchUp(it, passage(10, of: 300), at: 9_000)
    #expect(it.secondsLeft == nil)
  }
}
