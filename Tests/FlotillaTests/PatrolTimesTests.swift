import Replication
import Store
import Testing

@testable import Flotilla

/// What a patrol finds due.
@Suite struct PatrolTimesTests {
  @Test func `logs, replaced rows and the time of the site have their turns`() {
    var it = PatrolTimes(asleep: 0)
    let trims = [3_600_000, 3_600_001, 7_200_001, 7_200_002].map { it.takeTrim(at: $0) }
    #expect(trims == [false, true, false, true])
    let looks = [0, UndoBook.interval - 1, UndoBook.interval].map { it.takeUndoLook(at: $0) }
    #expect(looks == [true, false, true])
    it.saveClock(at: 5)
    #expect(!it.isClockDue(at: 60_004) && it.isClockDue(at: 60_005))
  }

  @Test func `a second of sleep is nothing, and more is told once`() {
    var it = PatrolTimes(asleep: 400)
    let slept = [1_400, 2_401, 2_401].map { it.slept($0) }
    #expect(slept == [nil, 1_001, nil])
  }

  @Test func `rows are asked for when there are others, or after a minute`() {
    var it = PatrolTimes(asleep: 0)
    #expect(it.isAskingDue(for: 1, at: 1))
    it.ask(for: 1, at: 1)
    #expect(!it.isAskingDue(for: 1, at: 60_000) && it.isAskingDue(for: 2, at: 60_000))
    #expect(it.isAskingDue(for: 1, at: 60_001))
  }

  @Test func `rows that nobody knows are asked for ever less often`() {
    var it = PatrolTimes(asleep: 0)
    let nodes = (1...2).map { Identity(high: $0, low: 0) }
    var (now, pauses): (Int64, [Int64]) = (1, [])
    func ask(for wanted: UInt64, isAnew: Bool = true) {
      let before = now
      while !it.isAskingDue(for: wanted, at: now) { now += 1_000 }
      pauses.append((now - before) / 60_000)
      it.ask(for: wanted, at: now)
      _ = it.helper(of: nodes, isAnew: isAnew)
    }
    ask(for: 1)
    // What comes in turn is asked for each minute, until each of the two was asked for all.
    for isAnew in [false, false, true, true, true, true, true] { ask(for: 1, isAnew: isAnew) }
    #expect(pauses == [0, 1, 1, 1, 1, 2, 2, 4])
    for _ in 0..<20 { ask(for: 1) }
    #expect(pauses.last == 60)
    // Something has come, or more is wanted.
    ask(for: 2)
    ask(for: 2)
    #expect(pauses.suffix(2).first == 0 && pauses.last.map { $0 <= 2 } == true)
  }

  @Test func `rows are asked for of one after the other, each for all of them`() {
    var it = PatrolTimes(asleep: 0)
    let nodes = (1...3).map { Identity(high: $0, low: 0) }
    func next(of those: [Identity], _ isAnew: Bool) -> UInt64? {
      it.helper(of: those, isAnew: isAnew)?.high
    }
    #expect([true, false, true].map { next(of: nodes, $0) } == [1, 1, 2])
    // One that has gone is not waited for.
    #expect(next(of: [nodes[0], nodes[2]], false) == 3)
    #expect([true, true].map { next(of: [nodes[1], nodes[0]], $0) } == [1, 2])
    #expect(next(of: [], true) == nil)
  }

  @Test func `who was without help for a minute on end goes on alone`() {
    var it = PatrolTimes(asleep: 0)
    let looks: [(isHelpless: Bool, at: Int64)] = [
      (true, 10), (false, 20), (true, 30), (true, 60_029), (true, 60_030), (true, 60_031),
    ]
    let isLong = looks.map { it.isHelpless($0.isHelpless, at: $0.at) }
    #expect(isLong == [false, false, false, false, true, false])
  }
}
