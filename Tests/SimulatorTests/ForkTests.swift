import Replication
import Testing

@testable import Simulator

/// A machine that was put back may give one number to two edits: the checkers say nothing of these,
/// and of all others what they always say.
@Suite struct `Checkers beside a machine that was put back` {
  private static let (put, other) = (Origin(rawValue: 1), Origin(rawValue: 2))

  private func version(_ dot: Dot, stamp: Int64, hash: UInt64 = 7) -> Version {
    Version(dot: dot, created: dot, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: false)
  }

  private func shown(_ versions: [RowNumber: Version], _ seqs: [Origin: UInt64]) -> Observation {
    Observation(
      frontier: Frontier(seqs), versions: versions,
      rows: versions.mapValues { Observation.Content($0.hash) })
  }

  /// Two rows, one of them by the machine that was put back to before that.
  private var history: History {
    var history = History()
    let (one, two) = (version(Dot(Self.put, 1), stamp: 10), version(Dot(Self.other, 1), stamp: 20))
    history.add(History.Made(row: 0, version: one, content: 7))
    history.add(History.Made(row: 1, version: two, content: 7))
    history.fork(Self.put, above: 0)
    return history
  }

  @Test(arguments: [(put, 0), (other, 1)])
  func `a row that goes back`(origin: Origin, faults: Int) {
    var history = history
    let before = shown([0: version(Dot(origin, 2), stamp: 20)], [:])
    let after = shown([0: version(Dot(origin, 1), stamp: 10)], [:])
    AnytimeForward.check(before, after, &history, at: "n")
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(put, 0, 0), (other, 1, 1)])
  func `other content under a dot`(origin: Origin, row: RowNumber, faults: Int) {
    var history = history
    var now = shown([row: history[Dot(origin, 1)]!.version], [:])
    now.rows[row] = Observation.Content(8)
    AnytimeContent.check(now.news(since: Observation()), now, &history, at: "n", [])
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(put, 0), (other, 1)])
  func `a frontier that claims too much, and a row below its newest version`(
    origin: Origin, faults: Int
  ) {
    var history = history
    let empty = shown([:], [origin: 1])
    AnytimeFrontier.check(Observation(), empty, &history, at: "n")
    #expect(history.faults.count == faults)
    FinallyNewest.check([("n", empty)], &history)
    #expect(history.faults.count == 2 * faults)
  }

  /// Who holds the other edit of that number is not sent what this one has replaced.
  @Test(arguments: [(30, 0), (15, 1)])
  func `what an edit of such a number has replaced`(stamp: Int64, faults: Int) {
    var history = history
    history.noteDoubtful(1, version(Dot(Self.put, 2), stamp: stamp, hash: 8))
    let end = shown([:], [Self.other: 1])
    AnytimeFrontier.check(Observation(), end, &history, at: "n")
    #expect(history.faults.count == faults)
    // It may have been a delete that all have let go of.
    history.collects = true
    FinallyNewest.check([("n", end)], &history)
    #expect(history.faults.count == 2 * faults)
    let below = shown([1: version(Dot(Self.other, 1), stamp: 19)], [Self.other: 1])
    FinallyNewest.check([("n", below)], &history)
    #expect(history.faults.count == 3 * faults)
  }

  @Test(arguments: [(put, 0), (other, 1)])
  func `an edit that vanishes, a frontier beyond its owner's, a stamp of the future`(
    origin: Origin, faults: Int
  ) {
    var history = history
    let edits = [5: Witness.Edit(content: Observation.Content(1), moment: 1)]
    FinallyKept.check(edits, Observation(), own: origin, &history, at: "n")
    #expect(history.faults.count == faults)
    let frontier = Frontier([origin: 3])
    FinallySigned.check(
      [("a", origin, Frontier()), ("b", Origin(rawValue: 3), frontier)], invented: [], &history)
    #expect(history.faults.count == 2 * faults)
    let site: Int64 = 1_900_000_000_000
    let late = version(Dot(origin, 3), stamp: Stamp(millisecondsSince1970: site + 1).rawValue)
    AnytimeDated.check(0, late, site, isRecalled: false, &history, at: "n")
    #expect(history.faults.count == 3 * faults)
  }

  /// What an edit of the machine is made over the second time is not lost, though the first edit
  /// of that number was made over nothing.
  @Test(arguments: [true, false])
  func `an edit that lost, and one that somebody wrote over`(isWrittenOver: Bool) {
    var history = History()
    history.fork(Self.put, above: 0)
    let own = version(Dot(Self.other, 1), stamp: 1)
    let (first, second) = (
      version(Dot(Self.put, 1), stamp: 2, hash: 8), version(Dot(Self.put, 1), stamp: 3, hash: 9)
    )
    let before = shown([0: own], [:])
    history.lineage.note(Observation(), before, own: Self.other)
    history.lineage.note(Observation(), shown([0: first], [:]), own: Self.put)
    if isWrittenOver { history.lineage.note(before, shown([0: second], [:]), own: Self.put) }
    let end = shown([0: second], [Self.put: 1, Self.other: 1])
    let authors = [Self.put, Self.other].map {
      FinallyLogged.Author(name: "\($0)", log: [], lives: RunLog().lives(now: $0))
    }
    FinallyLogged.check(end, known: end.frontier, authors, &history)
    #expect(history.faults.count == (isWrittenOver ? 0 : 1))
  }
}
