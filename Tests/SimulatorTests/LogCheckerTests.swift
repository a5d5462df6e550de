import Replication
import Testing

@testable import Simulator

/// Checkers of what is logged, dated and summed up.
@Suite struct `Checkers of logs, times and digests` {
  private static let own = Origin(rawValue: 1)
  private let own = Self.own
  private let other = Origin(rawValue: 2)

  private func version(_ origin: Origin, stamp: Int64, hash: UInt64) -> Version {
    let dot = Dot(origin, 1)
    return Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: false)
  }

  private func shown(_ version: Version, _ log: [Observation.Logged] = []) -> Observation {
    Observation(
      frontier: Frontier([own: 1, other: 1]), versions: [0: version], log: log)
  }

  /// Two nodes have written one row, of which `other` wins.
  private func faults(
    hash: UInt64 = 7, logs: [String: Dot] = [:], isAuthorThere: Bool = true,
    isUnlogged: Bool = false
  ) -> Int {
    var history = History()
    let (lost, won) = (version(own, stamp: 1, hash: hash), version(other, stamp: 2, hash: 8))
    history.lineage.note(Observation(), shown(lost), own: own)
    history.lineage.note(Observation(), shown(won), own: other)
    if isUnlogged { history.hide([0: lost], of: own) }
    let authors = [("a", own), ("b", other)].filter { isAuthorThere || $0.0 == "b" }
      .map { (name, origin) -> FinallyLogged.Author in
        let log = logs[name].map {
          Observation.Logged(row: 0, reason: "older", loser: $0, winner: won.dot, isWhole: true)
        }
        return FinallyLogged.Author(
          name: name, log: log.map { [$0] } ?? [], lives: RunLog().lives(now: origin))
      }
    FinallyLogged.check(shown(won), known: Frontier([own: 1, other: 1]), authors, &history)
    return history.faults.count
  }

  @Test func `an edit that lost is in the log of its author`() {
    #expect(faults() == 1)
    #expect(faults(logs: ["a": Dot(own, 1)]) == 0)
    // In that of another one, and in none of its own.
    #expect(faults(logs: ["b": Dot(own, 1)]) == 1)
  }

  @Test func `what need not be in a log`() {
    #expect(faults(hash: 8) == 0)
    #expect(faults(isAuthorThere: false) == 0)
    #expect(faults(isUnlogged: true) == 0)
  }

  private func deleted(_ origin: Origin, _ seq: UInt64 = 1, stamp: Int64) -> Version {
    var version = version(origin, stamp: stamp, hash: 0)
    (version.dot, version.created, version.isDeleted) = (Dot(origin, seq), Dot(origin, seq), true)
    return version
  }

  /// One node deletes a row, and an edit of the other, which had not seen that, stands.
  private func deleteFaults(
    isLogged: Bool = false, isLetGo: Bool = false, isSeen: Bool = false, isTold: Bool = false,
    isSecond: Bool = false
  ) -> Int {
    var history = History()
    history.collects = isLetGo
    let gone = deleted(own, isSecond ? 3 : 1, stamp: 1)
    let won = version(other, stamp: 3, hash: 8)
    var base = Observation()
    if isSecond {
      // Both have seen an earlier one.
      base = shown(deleted(own, stamp: 0))
      var again = version(own, stamp: 1, hash: 6)
      again.dot = Dot(own, 2)
      history.lineage.note(Observation(), base, own: own)
      history.lineage.note(base, shown(again), own: own)
      history.lineage.note(shown(again), shown(gone), own: own)
    }
    if isSeen { base = shown(gone) }
    if isTold {
      base = shown(deleted(Origin(rawValue: 3), stamp: 2))
      history.lineage.note(Observation(), base, own: Origin(rawValue: 3))
    }
    history.lineage.note(Observation(), shown(gone), own: own)
    history.lineage.note(base, shown(won), own: other)
    history.noteLetGo(shown(gone), Observation())
    let entry = Observation.Logged(
      row: 0, reason: "older", loser: gone.dot, winner: won.dot, isWhole: true)
    let authors = [("a", own), ("b", other)].map { name, origin in
      FinallyLogged.Author(
        name: name, log: isLogged && name == "a" ? [entry] : [],
        lives: RunLog().lives(now: origin))
    }
    FinallyLogged.check(shown(won), known: Frontier([own: 3, other: 1]), authors, &history)
    return history.faults.count
  }

  @Test func `a delete that lost is in the log of its author`() {
    #expect(deleteFaults() == 1)
    #expect(deleteFaults(isLogged: true) == 0)
    #expect(deleteFaults(isSecond: true) == 1)
    // What stands was made over it, or over another delete, or where it was forgotten.
    #expect(deleteFaults(isSeen: true) == 0)
    #expect(deleteFaults(isTold: true) == 0)
    #expect(deleteFaults(isLetGo: true) == 0)
  }

  @Test(arguments: [(nil, 1), (own, 0)] as [(Origin?, Int)])
  func `a delete that was outranked before it became a version`(loser: Origin?, faults: Int) {
    var history = History()
    let moment: Int64 = 1_900_000_000_000
    let stamp = Stamp(millisecondsSince1970: moment + 1).rawValue
    var now = shown(version(other, stamp: stamp, hash: 8))
    now.rows = [0: Observation.Content(8)]
    now.log =
      loser.map {
        [
          Observation.Logged(
            row: 0, reason: "older", loser: Dot($0, 1), winner: Dot(other, 1), isWhole: true)
        ]
      } ?? []
    let edits = [0: Witness.Edit(content: nil, moment: moment, above: 0)]
    FinallyKept.check(edits, now, own: own, &history, at: "a")
    #expect(history.faults.count == faults)
  }

  @Test func `an edit that was outranked before it became a version`() {
    var history = History()
    let (content, moment) = (Observation.Content(5), Int64(1_900_000_000_000))
    let edits = [0: Witness.Edit(content: content, moment: moment, above: 0)]
    let stamp = Stamp(millisecondsSince1970: moment + 1).rawValue
    var now = shown(version(other, stamp: stamp, hash: 8))
    FinallyKept.check(edits, now, own: own, &history, at: "a")
    #expect(history.faults.count == 1)
    now.log = [
      Observation.Logged(
        row: 0, reason: "older", loser: Dot(own, 1), winner: Dot(other, 1), isWhole: true)
    ]
    FinallyKept.check(edits, now, own: own, &history, at: "a")
    #expect(history.faults.count == 1)
  }

  @Test(arguments: [(0, 0), (1, 1)])
  func `a stamp after the last write of its row`(late: Int64, faults: Int) {
    var history = History()
    let moment: Int64 = 1_900_000_000_000
    let stamp = Stamp(millisecondsSince1970: moment + late).rawValue
    AnytimeDated.check(
      0, version(own, stamp: stamp, hash: 7), writtenAt: moment, over: nil, &history, at: "a")
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [([0], 0), ([], 1)] as [(Set<RowNumber>, Int)])
  func `a row is written again as it was`(touched: Set<RowNumber>, faults: Int) {
    var history = History()
    history.hasSteadyClocks = true
    var witness = Witness()
    let moment: Int64 = 1_900_000_000_000
    let rows = [0: Observation.Content(7)]
    witness.written(rows, before: [:], touching: [0], own: own, at: moment)
    witness.written(rows, before: rows, touching: touched, own: own, at: moment + 1)
    let stamp = Stamp(millisecondsSince1970: moment + 1).rawValue
    var now = shown(version(own, stamp: stamp, hash: 7))
    (now.frontier, now.rows, now.log) = (Frontier([own: 1]), rows, nil)
    witness.check(
      now, own: own, isFolded: true, at: "a", Instant(uptime: 0, wall: moment + 1), &history)
    #expect(history.faults.count == faults)
  }

  @Test func `a digest that is another one where the same is held`() {
    var history = History()
    let same = version(own, stamp: 1, hash: 7)
    var digest = Digest()
    let all = [("a", shown(same)), ("b", shown(same))]
    EventuallyEqual.check(digests: [digest, digest], all, &history)
    #expect(history.faults == [])
    let before = digest
    let key = Key([.integer(1)], collations: [])!
    digest.replace(table: 1, key: key, old: nil, new: same)
    EventuallyEqual.check(digests: [before, digest], all, &history)
    #expect(history.faults.count == 1)
  }

  @Test(arguments: [(1, 0), (3, 1)])
  func `of two rows with one value the earlier stands`(standing: Int64, faults: Int) {
    var history = History()
    let (first, parked) = (
      version(own, stamp: standing, hash: 7), version(other, stamp: 2, hash: 8)
    )
    let shown = Observation(
      versions: [0: first, 1: parked], standing: [0: Badge(code: 5)], parked: [1: Badge(code: 5)])
    EventuallyStanding.check([("a", shown)], &history)
    #expect(history.faults.count == faults)
  }

  /// The anchor has rejected it under its first number, and accepts what it was made over later.
  @Test(arguments: [(1, 0), (3, 1)])
  func `an edit that was made again is logged under its ancestor`(ruling: UInt64, faults: Int) {
    var history = History()
    let (anchor, term) = (Origin(rawValue: 3), Term(number: 1, incarnation: 1))
    let ancestor = version(other, stamp: 1, hash: 6)
    let edit = version(own, stamp: 2, hash: 7)
    var again = edit
    again.dot = Dot(own, 2)
    history.lineage.note(Observation(), shown(ancestor), own: other)
    history.lineage.note(shown(ancestor), shown(edit), own: own)
    history.lineage.note(shown(edit), shown(again), own: own)
    var certified = shown(
      ancestor.certified(Dot(anchor, 2), term: term, epoch: 1, at: Stamp(rawValue: 3)))
    certified.office = OfficeView()
    certified.office?.rulings = [
      OfficeView.Ruled(
        dot: Dot(anchor, ruling), kind: Reason.keyCollision.rawValue, edit: edit.dot, term: term)
    ]
    history.lineage.note(shown(again), certified, own: anchor)
    certified.log = [
      Observation.Logged(
        row: 0, reason: Reason.keyCollision.name, loser: again.dot, winner: ancestor.dot,
        isWhole: true)
    ]
    AnytimeConcurrent.check(shown(again), certified, &history, at: "a")
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(nil, 1), (1, 1), (0, 0)] as [(UInt64?, Int)])
  func `an edit is not lost to itself, unless two machines have made one of that number`(
    above seq: UInt64?, faults: Int
  ) {
    var history = History()
    let standing = version(own, stamp: 2, hash: 7)
    let entry = Observation.Logged(
      row: 0, reason: "older", loser: standing.dot, winner: standing.dot, isWhole: true)
    seq.map { history.fork(own, above: $0) }
    AnytimeConcurrent.check(shown(standing), shown(standing, [entry]), &history, at: "c")
    #expect(history.faults.count == faults)
  }
}
