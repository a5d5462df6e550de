import Replication
import Testing

@testable import Simulator

/// Each checker finds what it is there for.
@Suite struct `Checkers` {
  private let origin = Origin(rawValue: 1)

  private func version(_ seq: UInt64, stamp: Int64, hash: UInt64 = 7) -> Version {
    let dot = Dot(origin, seq)
    return Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: false)
  }

  private func shown(
    _ versions: [RowNumber: Version], _ contents: [RowNumber: UInt64], seq: UInt64
  ) -> Observation {
    Observation(
      frontier: Frontier([origin: seq]), versions: versions,
      rows: contents.mapValues { Observation.Content(whole: $0, common: $0) })
  }

  private var history: History {
    var history = History()
    history.add(History.Made(row: 0, version: version(1, stamp: 10), content: 5))
    history.add(History.Made(row: 1, version: version(2, stamp: 20), content: 6))
    return history
  }

  @Test func `a frontier that claims too much`() {
    var history = history
    let after = shown([0: version(1, stamp: 10)], [0: 5], seq: 1)
    AnytimeFrontier.check(Observation(), after, &history, at: "n")
    #expect(history.faults == [])
    AnytimeFrontier.check(
      after, shown([0: version(1, stamp: 10)], [0: 5], seq: 2), &history, at: "n")
    #expect(history.faults.count == 1)
  }

  @Test func `rows and frontiers that go back`() {
    var history = History()
    let (old, new) = (version(1, stamp: 10), version(2, stamp: 20))
    AnytimeForward.check(
      shown([0: old], [:], seq: 1), shown([0: new], [:], seq: 2), &history, at: "")
    #expect(history.faults == [])
    AnytimeForward.check(
      shown([0: new], [:], seq: 2), shown([0: old], [:], seq: 1), &history, at: "")
    #expect(history.faults.count == 2)
    AnytimeForward.check(shown([0: new], [:], seq: 2), shown([:], [:], seq: 2), &history, at: "")
    #expect(history.faults.count == 3)
  }

  @Test func `other content under a dot`() {
    var history = history
    let wrong = shown([0: version(1, stamp: 10)], [0: 99], seq: 1)
    AnytimeContent.check(Observation(), wrong, &history, at: "n", [0])
    #expect(history.faults == [])
    AnytimeContent.check(Observation(), wrong, &history, at: "n", [])
    #expect(history.faults.count == 1)
  }

  @Test func `replicas that differ, and rows that wait`() {
    var history = History()
    let one = shown([0: version(1, stamp: 10)], [0: 5], seq: 1)
    EventuallyEqual.check([("a", one), ("b", one)], &history)
    #expect(history.faults == [])
    var other = shown([0: version(1, stamp: 10)], [0: 6], seq: 1)
    EventuallyEqual.check([("a", one), ("b", other)], &history)
    #expect(history.faults.count == 1)
    other = one
    other.shelved = [0]
    EventuallyEqual.check([("a", one), ("b", other)], &history)
    #expect(history.faults.count == 2)
  }

  @Test func `rows that end below the newest version`() {
    var history = history
    let end = shown([0: version(1, stamp: 10)], [0: 5], seq: 2)
    FinallyNewest.check([("a", end)], &history)
    #expect(history.faults.count == 1)
  }

  @Test func `edits that vanish`() {
    var history = History()
    var witness = Witness()
    let content = Observation.Content(whole: 1, common: 1)
    witness.begin(Observation())
    witness.written([0: content], at: 1_900_000_000_000)
    witness.check(
      Observation(), own: origin, isFolded: true, at: "n", wall: 1_900_000_000_000, &history)
    #expect(history.faults.count == 1)
  }
}
