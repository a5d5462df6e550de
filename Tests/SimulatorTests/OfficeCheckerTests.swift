import Replication
import Testing

@testable import Simulator

/// Checkers of who holds the office of the anchor, and what it certifies.
@Suite struct `Checkers of the office` {
  private let own = Origin(rawValue: 1)

  private func shown(part: UInt8, term: UInt64 = 2, versions: [UInt64] = []) -> Observation {
    var shown = Observation()
    var office = OfficeView()
    (office.term, office.part) = (Term(number: term, incarnation: 1), part)
    shown.office = office
    for (row, number) in versions.enumerated() {
      let dot = Dot(own, UInt64(row) + 1)
      var version = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: 1), hash: 7, isDeleted: false)
      version.term = Term(number: number, incarnation: 1)
      shown.versions[row] = version
    }
    return shown
  }

  @Test(arguments: [(3, [2, 2], 0), (3, [2, 1], 1), (3, [0, 1], 2), (1, [1, 1], 0)])
  func `what stands by an earlier term after a take-over by force`(
    part: UInt8, terms: [UInt64], faults: Int
  ) {
    var history = History()
    FinallyCertified.check(shown(part: part, versions: terms), named: "n", &history)
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(0, 2, 0), (3, 2, 1), (1, 2, 1), (3, 3, 0)])
  func `an office that is held in a new life`(part: UInt8, term: UInt64, faults: Int) {
    var history = History()
    let now = shown(part: part, term: term)
    AnytimeResigned(since: shown(part: 0)).check(now, &history, at: "n")
    #expect(history.faults.count == faults)
    // No life has begun since the file was made, or put back.
    AnytimeResigned().check(now, &history, at: "n")
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(true, 1), (false, 0)])
  func `a witness looks at the office from the beginning of a life on`(
    hasLife: Bool, faults: Int
  ) {
    var history = History()
    var witness = Witness()
    witness.beginAnew(shown(part: 3), own: own, keepsEdits: hasLife)
    witness.check(
      shown(part: 3), own: own, isFolded: true, at: "n",
      Instant(uptime: 0, wall: 1_900_000_000_000), &history)
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [true, false])
  func `two copies judge apart only while one does not know of the other`(hasHeard: Bool) {
    var history = History()
    history.copies = ["node-1", "node-3"]
    let lives = [Templates.origin(of: 1), Templates.origin(of: 1, life: 1)]
    let other = Templates.origin(of: 2)
    for (life, node) in zip(lives + [other], ["node-1", "node-3", "node-2"]) {
      // The first is off by now, and still has the office in its file.
      history.note(office: Term(number: 2, incarnation: 1), in: life, at: node) { _, _ in
        hasHeard
      }
    }
    #expect(history.doubles == (hasHeard ? [] : Set(lives)))
  }
}
