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

  /// An anchor has rejected an edit over which another one was certified.
  private func rejected(
    hash: UInt64 = 8, logged: Bool? = nil, isOver: Bool = false, isTwice: Bool = false
  ) -> Int {
    let (anchor, term) = (Origin(rawValue: 9), Term(number: 1, incarnation: 1))
    func made(_ origin: Origin, _ seq: UInt64, _ stamp: Int64, _ hash: UInt64) -> Observation {
      let dot = Dot(origin, seq)
      let version = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: false)
      return Observation(versions: [0: version], office: OfficeView())
    }
    var history = History()
    let (edit, standing) = (made(own, 1, 1, hash), made(Origin(rawValue: 2), 1, 2, 7))
    history.lineage.note(Observation(office: OfficeView()), edit, own: own)
    history.lineage.note(Observation(office: OfficeView()), standing, own: Origin(rawValue: 2))
    if isOver { history.lineage.note(edit, made(own, 2, 3, 9), own: own) }
    var ruled = standing
    let certified = standing.versions[0]!.certified(
      Dot(anchor, 1), term: term, epoch: 1, at: Stamp(rawValue: 3))
    ruled.versions[0] = certified
    ruled.office?.rulings = [
      OfficeView.Ruled(
        dot: Dot(anchor, 2), kind: Reason.unseen.rawValue, edit: Dot(own, 1), term: term)
    ]
    history.lineage.note(standing, ruled, own: anchor)
    let log = logged.map {
      Observation.Logged(
        row: 0, reason: "unseen", loser: Dot(own, 1), winner: certified.dot, isWhole: $0)
    }
    let author = FinallyLogged.Author(
      name: "a", log: log.map { [$0] } ?? [],
      lives: RunLog().lives(now: isTwice ? Origin(rawValue: 5) : own))
    FinallyRejected.check(ruled, [author], &history)
    return history.faults.count
  }

  @Test func `an edit that was rejected is whole in the log of its author`() {
    #expect(rejected() == 1)
    #expect(rejected(logged: true) == 0)
    #expect(rejected(logged: false) == 1)
    // It says what stands, its author has gone on from it, or its life is over.
    #expect(rejected(hash: 7) == 0)
    #expect(rejected(isOver: true) == 0)
    #expect(rejected(isTwice: true) == 0)
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
