import Replication
import SQLite
import Testing

@testable import Store

@Suite("While the time of the site is not known") struct TimeTests {
  private static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"
  private static let start: Int64 = 1_795_000_000_000

  /// A moment in seconds after the start, by a wall clock that is ahead by so much.
  private func moment(_ seconds: Int64, ahead: Int64 = 0, knows: Bool = true) -> Instant {
    Instant(
      uptime: seconds * 1_000, wall: Self.start + (seconds + ahead) * 1_000,
      site: knows ? Self.start + seconds * 1_000 : nil)
  }

  private func replica(_ number: UInt64) throws -> TestReplica {
    let replica = try TestReplica(number, schema: Self.schema, tracking: ["note"])
    replica.clock = Self.start
    _ = try replica.store.begin(boot: Identity(high: 1, low: 1))
    try replica.store.journal.settleIfEmpty(at: moment(0))
    return replica
  }

  /// An edit whose trigger notes this wall clock.
  private func write(_ replica: TestReplica, _ id: String, _ wall: Instant) throws {
    let last = try replica.value("SELECT coalesce(max(id), 0) FROM _flotilla_journal").integer ?? 0
    try replica.write("INSERT OR REPLACE INTO note VALUES ('\(id)', 'at \(wall.wall)')")
    try replica.write("UPDATE _flotilla_journal SET at = \(wall.wall) WHERE id > \(last)")
  }

  private func journal(_ replica: TestReplica) throws -> Int {
    Int(try replica.value("SELECT count(*) FROM _flotilla_journal").integer ?? 0)
  }

  @Test func `what is written waits, and nothing goes in or out`() throws {
    let (a, b) = (try replica(1), try replica(2))
    try b.write("INSERT INTO note VALUES ('b', 'x')")
    try b.foldAll()
    let (covers, batches, _) = try b.wholeExport(.above(Frontier()))
    try write(a, "a", moment(5))
    let unknown = moment(10, knows: false)
    let result = try a.store.fold(at: unknown)
    #expect(result.versions == 0 && !result.hasMore && result.push == nil)
    #expect(try journal(a) == 1)
    #expect(throws: StoreError.self) { try a.store.openExport(.above(Frontier()), at: unknown) }
    let merge = Merge(
      sender: b.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: true)
    #expect(throws: StoreError.self) { try a.store.merge(merge, at: unknown) }
    #expect(throws: StoreError.self) { try a.store.goOnline(7, at: unknown) }
    #expect(try a.store.futureCount(at: unknown) == 0)
    // At the first contact it is placed, before what came with it.
    _ = try a.store.merge(merge, at: moment(20))
    #expect(try journal(a) == 0)
    #expect(try a.version("a")?.stamp == moment(5).stamp)
    #expect(try a.text("b") == "x")
  }

  @Test func `tables can be chosen, and are the site's when it is known`() throws {
    let a = try TestReplica(1, schema: Self.schema + "; CREATE TABLE more(id TEXT PRIMARY KEY)")
    try a.write("INSERT INTO note VALUES ('r', 'x')")
    try a.store.track(["note"], rule: nil, at: moment(1, knows: false))
    try a.write("INSERT INTO note VALUES ('s', 'y')")
    #expect(try a.store.trackedTables().map(\.name) == ["note"])
    #expect(try a.version("s") == nil)
    while try a.store.fold(at: moment(10)).hasMore {}
    #expect(try a.version("s") != nil && a.version("r") != nil)
    let b = try TestReplica(2, schema: Self.schema)
    try b.pull(from: a)
    #expect(try b.text("r") == "x" && b.store.trackedTables().map(\.name) == ["note"])
  }

  @Test func `a clock at 1970, one that steps, and one a year ahead are all placed in order`()
    throws
  {
    let a = try replica(1)
    let clocks: [Int64] = [0, 31_536_000, -31_536_000, -Self.start / 1_000]
    for (index, ahead) in clocks.enumerated() {
      let time = Int64(10 * index + 10)
      _ = try a.store.fold(at: moment(time - 5, ahead: ahead, knows: false))
      try write(a, "r\(index)", moment(time, ahead: ahead))
    }
    let bytes = a.store.journal.keptTime
    try a.store.save(clock: [], at: moment(41, ahead: -Self.start / 1_000, knows: false))
    try a.reopen()
    _ = try a.store.begin(boot: Identity(high: 1, low: 1))
    #expect(!bytes.isEmpty)
    while try a.store.fold(at: moment(60, ahead: -Self.start / 1_000)).hasMore {}
    for index in clocks.indices {
      let version = try a.version("r\(index)")
      #expect(version?.stamp == moment(Int64(10 * index + 10)).stamp, "\(index)")
      #expect(version?.isUndated == false)
    }
  }

  @Test func `an edit that cannot be dated loses, and the log says so`() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.write("INSERT INTO note VALUES ('r', 'base')")
    _ = try a.store.fold(at: moment(1))
    try b.exchange(with: a)
    try a.store.save(clock: [], at: moment(2))
    try a.reopen()
    _ = try a.store.begin(boot: Identity(high: 1, low: 1))
    // While no node runs somebody sets the clock ahead, writes, and sets it back.
    try write(a, "r", moment(500, ahead: 31_536_000))
    try b.write("UPDATE note SET text = 'other' WHERE id = 'r'", at: 4_000_100)
    _ = try a.store.fold(at: moment(1_000))
    let version = try a.version("r")
    #expect(version?.isUndated == true && version?.stamp == moment(2).stamp)
    b.clock = moment(2_000).wall
    try a.pull(from: b)
    #expect(try a.text() == "other")
    let conflict = try #require(try a.store.conflictLog.list(all: true).first)
    #expect(conflict.loser?.isUndated == true && conflict.winner?.isUndated == false)
    // The flag travels.
    try write(a, "s", moment(3_000, ahead: -31_536_000))
    a.clock = moment(9_000).wall
    try a.reopen()
    _ = try a.store.begin(boot: Identity(high: 1, low: 1))
    try a.foldAll()
    try b.pull(from: a)
    #expect(try a.version("s")?.isUndated == true && b.version("s")?.isUndated == true)
  }

  @Test func `a journal that waits long is shortened to the last touch of each row`() throws {
    let a = try replica(1)
    for round in 0..<3 {
      for row in 0..<8 { try write(a, "r\(row)", moment(Int64(100 * round + row + 1))) }
    }
    #expect(try !a.store.compactJournal(beyond: 100))
    #expect(try journal(a) > 20)
    #expect(try !a.store.compactJournal(beyond: 10))
    #expect(try journal(a) == 8)
    while try a.store.fold(at: moment(1_000)).hasMore {}
    for row in 0..<8 {
      #expect(try a.version("r\(row)")?.stamp == moment(Int64(201 + row)).stamp)
    }
  }

  @Test func `a long journal is placed in slices, and what comes meanwhile with it`() throws {
    var pace = Pace()
    pace.journalEntries = 4
    let a = try TestReplica(1, schema: Self.schema, tracking: ["note"], pace: pace)
    try a.store.journal.settleIfEmpty(at: moment(0))
    try a.store.save(clock: [], at: moment(0))
    try a.reopen()
    _ = try a.store.begin(boot: Identity(high: 1, low: 1))
    for row in 0..<30 {
      let ahead: Int64 = row % 7 == 3 ? 31_536_000 : 0
      try write(a, "r\(row)", moment(Int64(1_000 * row + 1_000), ahead: ahead))
    }
    _ = try a.store.fold(at: moment(50_000))
    try write(a, "late", moment(50_001))
    while try a.store.fold(at: moment(50_002)).hasMore {}
    for row in 0..<30 {
      let version = try a.version("r\(row)")
      let isTold = row % 7 != 3
      let time = Int64(isTold ? 1_000 * row + 1_000 : 1_000 * row)
      #expect(version?.stamp == moment(time).stamp && version?.isUndated == !isTold, "\(row)")
    }
    #expect(try a.version("late")?.stamp == moment(50_001).stamp)
  }
}

@Suite("Versions from the future") struct FutureTests {
  private static let now: Int64 = 1_801_000_000_000

  /// Two replicas that both hold row r, written by a third a year ahead.
  private func site() throws -> AnchorSite {
    let site = try AnchorSite(nil, appoints: false)
    try site.b.write("UPDATE note SET text = 'future' WHERE id = 'r'", at: 31_536_000)
    try site.meet()
    for replica in site.replicas { replica.clock = Self.now }
    return site
  }

  private func now(_ seconds: Int64) -> Instant {
    Instant(uptime: Self.now + seconds * 1_000, wall: Self.now + seconds * 1_000)
  }

  private func edit(_ replica: TestReplica, _ text: String, _ seconds: Int64) throws {
    try replica.write("UPDATE note SET text = '\(text)' WHERE id = 'r'")
    while try replica.store.fold(at: now(seconds)).hasMore {}
  }

  @Test func `are kept and counted, and win over what was made elsewhere until they are repaired`()
    throws
  {
    let site = try site()
    #expect(try site.a.store.futureCount(at: now(0)) == 1)
    // Both have seen it and the edits win over it, but which of the two was later is lost.
    let (count, _) = try site.a.store.repairFuture(at: now(10))
    #expect(count == 1)
    #expect(try site.a.text() == "future" && site.a.store.futureCount(at: now(10)) == 0)
    try site.meet()
    #expect(try site.isEqual)
    for replica in site.replicas {
      #expect(try replica.version()?.stamp == now(10).stamp && replica.version()?.epoch == 1)
    }
    // From now on what is later wins, whoever makes it.
    try edit(site.b, "first", 20)
    try edit(site.a, "later", 30)
    try site.meet()
    #expect(try site.b.text() == "later" && site.isEqual)
    try edit(site.a, "again", 40)
    try edit(site.b, "last", 50)
    try site.meet()
    #expect(try site.a.text() == "last" && site.isEqual)
  }

  @Test func `an edit made without knowing of the repair loses to it, and is in the log`() throws {
    let site = try site()
    try edit(site.b, "unaware", 20)
    _ = try site.a.store.repairFuture(at: now(10))
    try site.meet()
    #expect(try site.isEqual && site.b.text() == "future")
    #expect(try site.b.conflicts().contains { $0.hasPrefix("unaware lost to future") })
  }

  @Test func `are certified with a time that is right`() throws {
    let site = try site()
    try site.appoint(site.anchor)
    try edit(site.b, "seen", 20)
    site.anchor.clock = now(30).wall
    try site.meet()
    let version = try #require(try site.a.version())
    #expect(try site.a.text() == "seen" && !version.isTentative)
    #expect(
      version.stamp <= now(60).stamp && (version.certificate?.at ?? .highest) <= now(60).stamp)
    #expect(try site.isEqual && site.a.store.futureCount(at: now(60)) == 0)
  }

  @Test func `are repaired by the anchor, and the appointed one takes over from that`() throws {
    let site = try site()
    _ = try site.a.store.repairFuture(at: now(10))
    try site.meet()
    try site.appoint(site.anchor)
    site.anchor.clock = now(100).wall
    try edit(site.b, "later", 50)
    try site.meet()
    #expect(try site.a.text() == "later" && site.isEqual)
    let (count, _) = try site.anchor.store.repairFuture(at: now(60))
    #expect(count == 0)
  }
}
