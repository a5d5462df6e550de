import Replication
import Testing

@testable import Flotilla

/// The life of a node, as it and its peers know it.
@Suite struct OwnLifeTests {
  private let peer = Identity(high: 1, low: 1)
  private func moment(_ uptime: Int64) -> Instant { Instant(uptime: uptime, wall: 0) }

  @Test func `another life is not sure of anything, and runs are noted once`() {
    var it = OwnLife(1, RunLog(), isRunNoted: false)
    let runs = RunLog([RunLog.Entry(first: 1, origin: Origin(rawValue: 3), run: 5)])
    it.noteRun(runs)
    #expect(it.isRunNoted && it.runs == runs && !it.isSure)
    it.becomeSure()
    it.beginAnother()
    #expect(it.isSure && it.isBeginning && it.number == 1)
    it.go(on: 2, RunLog())
    it.endBeginning()
    #expect(!it.isSure && !it.isBeginning && it.number == 2 && it.runs == RunLog())
  }

  @Test func `one peer is believed twice`() {
    var it = OwnLife(1, RunLog(), isRunNoted: true)
    let isBelieved = (0..<3).map { it.mayBegin(by: peer, at: moment($0)) }
    #expect(isBelieved == [true, true, false] && it.byWord.count == 2)
  }

  @Test func `another copy is spoken of for ten minutes`() {
    var it = OwnLife(1, RunLog(), isRunNoted: true)
    #expect(it.twinTeller(at: 0) == nil)
    let isFirst = [it.meetTwin(by: "desk", at: 10), it.meetTwin(by: "hall", at: 20)]
    #expect(isFirst == [true, false])
    #expect(it.twinTeller(at: 600_019) == "hall")
    #expect(it.twinTeller(at: 600_020) == nil)
    let isFirstAgain = it.meetTwin(by: "desk", at: 700_000)
    #expect(!isFirstAgain)
  }
}
