import Replication
import Testing

/// Whether a database and what stands beside it belong together.
@Suite struct LifeRecordTests {
  private static let own = Origin(rawValue: 1)
  private static let noted = LifeRecord(
    mark: LifeMark(origin: own, run: 7, seq: 100), previousRun: 6)

  private static func doubt(
    _ origin: UInt64 = 1, run: UInt64 = 7, seq: UInt64 = 100, record: LifeRecord? = noted,
    isSameMachine: Bool = true, isSameFile: Bool = true
  ) -> Doubt? {
    LifeRecord.doubt(
      record, database: LifeMark(origin: Origin(rawValue: origin), run: run, seq: seq),
      isSameMachine: isSameMachine, isSameFile: isSameFile)
  }

  @Test func `a file that is as it was left is not in doubt`() {
    #expect(Self.doubt() == nil)
    // Killed between the commit and the note; killed before the file heard of its run.
    #expect(Self.doubt(seq: 101) == nil)
    #expect(Self.doubt(run: 6) == nil)
  }

  @Test func `an older file is one that was restored`() {
    #expect(Self.doubt(seq: 99) == .restored)
    #expect(Self.doubt(run: 5) == .restored)
    #expect(Self.doubt(run: 0, seq: 0) == .restored)
    // It began another life elsewhere and was brought back without what stood beside it.
    #expect(Self.doubt(2, seq: 200) == .restored)
  }

  @Test func `what is missing, on another machine or another file is in doubt`() {
    #expect(Self.doubt(record: nil) == .unrecorded)
    #expect(Self.doubt(isSameMachine: false) == .moved)
    #expect(Self.doubt(isSameFile: false) == .replaced)
    // Of a file in which no node has run yet nothing was noted.
    #expect(Self.doubt(run: 0, seq: 3, record: nil) == nil)
  }
}

/// What others have got from this node, compared with the runs of its file.
@Suite struct RunLogTests {
  private static let (first, second) = (Origin(rawValue: 1), Origin(rawValue: 2))
  private static let log = RunLog([
    RunLog.Entry(first: 1, origin: first, run: 10), RunLog.Entry(first: 6, origin: first, run: 11),
    RunLog.Entry(first: 6, origin: first, run: 12), RunLog.Entry(first: 9, origin: second, run: 13),
  ])

  @Test func `what was told in a run of this file up to its end is no contradiction`() {
    // Told in run 10, and again by the later runs.
    for (seq, run) in [(5, 10), (5, 11), (5, 12), (8, 12), (3, 12)] as [(UInt64, UInt64)] {
      let told = Testimony(origin: Self.first, seq: seq, run: run)
      #expect(!RunLog(Self.log.entries.dropLast()).contradicts(told, origin: Self.first, last: 8))
    }
  }

  @Test(
    arguments: [
      // Beyond the last edit; in a run that the file has not had; beyond the end of a run.
      (9, 12), (5, 99), (6, 10), (6, 11),
    ] as [(UInt64, UInt64)])
  func `what this file never told is a contradiction`(seq: UInt64, run: UInt64) {
    let told = Testimony(origin: Self.first, seq: seq, run: run)
    #expect(RunLog(Self.log.entries.dropLast()).contradicts(told, origin: Self.first, last: 8))
  }

  @Test func `what was told of an earlier life does not concern the present one`() {
    let told = Testimony(origin: Self.first, seq: 99, run: 99)
    #expect(!Self.log.contradicts(told, origin: Self.second, last: 12))
  }

  @Test func `a log that was shortened does not speak of runs before it`() {
    let entries = (1...UInt64(RunLog.limit)).map {
      RunLog.Entry(first: $0, origin: Self.first, run: 1_000 + $0)
    }
    let told = Testimony(origin: Self.first, seq: 1, run: 5)
    #expect(!RunLog(entries).contradicts(told, origin: Self.first, last: 2_000))
  }

  @Test func `lives follow each other without a gap`() {
    let lives = Self.log.lives(now: Self.second)
    #expect(lives.map(\.origin) == [Self.first, Self.second])
    #expect(lives.map(\.first) == [1, 9])
    #expect(lives.map(\.last) == [8, .max])
    #expect(RunLog().lives(now: Self.first).map(\.first) == [1])
  }
}
