import Glibc
import Network
import Testing

@testable import Flotilla
@testable import Store

/// The share of the write lock that others get while a catch-up goes on.
@Suite struct CourtesyTests {
  /// Holds of a length one after the other; gives the free moments between them.
  private func pauses(holds: Int64, count: Int, isWanted: Bool = true) -> [Int64] {
    var courtesy = Courtesy()
    var now: Int64 = 5_000
    return (0..<count).map { _ in
      courtesy.held(from: now, to: now + holds, isWanted: isWanted)
      let end = now + holds
      now = max(end, courtesy.nextHold)
      return now - end
    }
  }

  @Test(arguments: [1, 7, 20, 50, 400] as [Int64])
  func `leaves the lock free at least as long as it was held`(_ holds: Int64) {
    #expect(pauses(holds: holds, count: 200).allSatisfy { $0 >= holds })
  }

  @Test(arguments: [0, 1, 7, 20, 50] as [Int64])
  func `once a second leaves it for longer than a busy handler sleeps`(_ holds: Int64) {
    var sinceLong: Int64 = 0
    for pause in pauses(holds: holds, count: 3_000) {
      sinceLong += holds
      if pause >= Courtesy.longPause { sinceLong = 0 } else { sinceLong += pause }
      #expect(sinceLong <= Courtesy.period + 2 * holds + 2)
    }
  }

  /// SQLite's busy handler sleeps 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100, 100 … ms.
  @Test(arguments: [1, 7, 20, 50, 300, 900] as [Int64])
  func `who comes while nobody has written gets the lock before it sleeps for long`(
    _ holds: Int64
  ) {
    let delays: [Int64] =
      [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50] + Array(repeating: 100, count: 50)
    var held: [Range<Int64>] = []
    var now: Int64 = 0
    for pause in pauses(holds: holds, count: 400, isWanted: false) {
      held.append(now..<now + holds)
      now += holds + pause
    }
    for start in Int64(200)..<600 {
      var moment = start
      var sleeps = 0
      while held.contains(where: { $0.contains(moment) }) {
        moment += delays[sleeps]
        sleeps += 1
      }
      #expect(moment - start <= Courtesy.series + holds + (holds > 50 ? 100 : 50))
    }
  }

  @Test func `holds follow one another while nobody writes`() {
    let pauses = pauses(holds: 10, count: 100, isWanted: false)
    #expect(pauses.prefix(8).allSatisfy { $0 == 0 })
    let whole = pauses.reduce(0, +)
    #expect(whole < 100 * 10 / 2)
  }

  @Test func `does not begin a new series with the long pause`() {
    var courtesy = Courtesy()
    courtesy.held(from: 100_000, to: 100_010, isWanted: true)
    #expect(courtesy.nextHold == 100_020)
  }

  @Test func `is left for no longer than somebody sleeps after a hold that no other follows`() {
    var courtesy = Courtesy()
    courtesy.held(from: 100_000, to: 116_000, isWanted: true, isAlone: true)
    #expect(courtesy.nextHold == 116_000 + Courtesy.longPause)
    courtesy.held(from: 117_000, to: 117_040, isWanted: true, isAlone: true)
    #expect(courtesy.nextHold == 117_080)
  }

  /// An actor goes on with the next one who waits before the first one hears that it is done.
  @Test func `is left by several who take the lock at the same time, too`() async throws {
    try await TestSite.with { site in
      let actor = try await StoreActor(path: site.replica("a").path)
      let holds = try await withThrowingTaskGroup { group in
        for _ in 0..<6 {
          group.addTask {
            try await actor.patiently { (store) throws(StoreError) in
              let start = Uptime.now
              _ = try store.file.transaction { usleep(50_000) }
              return start...Uptime.now
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      await actor.close()
      let sorted = holds.sorted { $0.lowerBound < $1.lowerBound }
      let pauses = zip(sorted, sorted.dropFirst()).map { $1.lowerBound - $0.upperBound }
      #expect(pauses.count { $0 >= Courtesy.shortPause - 1 } >= 2)
    }
  }

  /// Else nobody who waits for that would get the file beside a program that never pauses.
  @Test func `a backlog is folded as far as it had come when that was asked for`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let actor = try StoreActor(path: a.path)
      let rows = Locked(0)
      @Sendable func write() throws {
        let last = rows.withLock {
          $0 += 4_000
          return $0
        }
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT \(last - 3_999) UNION ALL SELECT i + 1 FROM n LIMIT 4000)
          INSERT INTO item SELECT i, 'x' FROM n
          """)
      }
      for _ in 0..<3 { try write() }
      let folds = Locked(0)
      try await actor.foldBacklog { _, _ in
        let count = folds.withLock {
          $0 += 1
          return $0
        }
        #expect(throws: Never.self) { if count < 200 { try write() } }
      }
      let left = try await actor.run { (store) throws(StoreError) in
        try store.journal.waitingEntries()
      }
      let (folded, written) = (folds.withLock { $0 }, rows.withLock { $0 })
      #expect((1..<60).contains(folded) && left > 0 && left < written, "\(folded) \(left)")
      await actor.close()
    }
  }

  @Test func `programs write if the file shows a commit within a second after another one`() {
    var others = OtherWriters()
    others.looked(version: 7, cuts: 0, at: 0)
    #expect(!others.write(at: 0))
    // One alone may have been the last.
    others.looked(version: 8, cuts: 0, at: 10)
    #expect(!others.write(at: 10))
    others.looked(version: 9, cuts: 0, at: 500)
    #expect(others.write(at: 500) && others.write(at: 500 + OtherWriters.memory - 1))
    #expect(!others.write(at: 500 + OtherWriters.memory))
    // The log was made empty.
    others.looked(version: 10, cuts: 2, at: 5_000)
    others.looked(version: 11, cuts: 3, at: 5_001)
    #expect(!others.write(at: 5_001))
  }
}

struct HoldSizeTests {
  @Test func `a commit grows until it takes as long as it may`() {
    var size = HoldSize()
    for _ in 0..<20 { size.held(for: Int64(size.rows) / 50) }
    #expect((900...1_100).contains(size.rows))
    // A slow disk, or long rows.
    size.held(for: 2_000)
    #expect((450...550).contains(size.rows))
    for _ in 0..<20 { size.held(for: 2_000) }
    #expect(size.rows == HoldSize.range.lowerBound)
    for _ in 0..<20 { size.held(for: 0) }
    #expect(size.rows == HoldSize.range.upperBound)
    // Verdicts on a machine that needs a millisecond for each.
    size = HoldSize(HoldSize.verdicts)
    for _ in 0..<20 { size.held(for: Int64(size.rows)) }
    #expect(size.rows == HoldSize.verdicts.lowerBound)
  }
}
