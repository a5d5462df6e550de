import Replication
import SQLite
import Testing

@testable import Store

/// How large the own tables are, and that what is only kept for a while stays bounded.
@Suite struct `What Flotilla keeps in the file` {
  private static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"

  private func replica(rows: Int = 0) throws -> TestReplica {
    let replica = try TestReplica(1, schema: Self.schema, tracking: ["note"])
    try replica.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO note SELECT hex(randomblob(8)), i FROM n WHERE \(rows) > 0
      """)
    try replica.foldAll()
    return replica
  }

  @Test func `is measured, table by table`() throws {
    let a = try replica(rows: 3_000)
    try a.write("DELETE FROM note WHERE text % 3 = 0")
    try a.foldAll()
    try a.write("UPDATE note SET text = 'x' WHERE text % 3 = 1")
    let size = try a.store.survey.size()
    #expect(!size.isEstimate && size.rows == 2_000 && size.deletedRows == 1_000)
    #expect(size.part("journal").rows == 1_000 && size.part("version").rows > 3_000)
    #expect(size.parts.first?.table == "version")
    let pages = try a.value("SELECT sum(pgsize) FROM dbstat WHERE name GLOB '_flotilla_version'")
    #expect(size.part("version").bytes == Int(pages.integer ?? 0))
    #expect(size.ownBytes < size.fileBytes)
    #expect(size.origins == 1 && size.earlierLives == 0)
  }

  @Test func `is estimated where SQLite cannot measure it`() throws {
    let a = try replica(rows: 3_000)
    try a.write("UPDATE note SET text = 'x'")
    let (size, estimate) = (try a.store.survey.size(), try a.store.survey.size(measures: false))
    #expect(estimate.isEstimate && estimate.parts.count == size.parts.count)
    for table in ["version", "journal"] {
      let ratio = Double(estimate.part(table).bytes) / Double(size.part(table).bytes)
      #expect(0.75...1.35 ~= ratio, "\(table): \(ratio)")
    }
  }

  @Test func `names the origins of lives that ended`() throws {
    let a = try replica(rows: 5)
    for life in 7...9 as ClosedRange<UInt64> {
      try a.store.beginLife(
        .restored, origin: Origin(rawValue: life), life: life, run: life, reissuingAbove: nil,
        at: a.now)
    }
    let size = try a.store.survey.size()
    #expect(size.origins == 4 && size.earlierLives == 3)
  }

  @Test func `of conflicts is the latest, settled ones first to go`() throws {
    let a = try replica()
    _ = try a.value(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10100)
      INSERT INTO _flotilla_conflict(id, name, key, at, reason, state)
      SELECT i, 'note', x'00', \(a.clock), 'older', iif(i > 10050, 'dismissed', 'open') FROM n
      """)
    try a.store.conflictLog.setBounds(count: 10_000, days: nil, at: a.now)
    #expect(try a.value("SELECT count(*) FROM _flotilla_conflict") == .integer(10_000))
    #expect(
      try a.value("SELECT count(*) FROM _flotilla_conflict WHERE state = 'open'")
        == .integer(10_000))
    #expect(try a.value("SELECT min(id) FROM _flotilla_conflict") == .integer(51))
    a.clock += 401 * 86_400_000
    // While the time of the site is not known, the clock of the machine may say anything.
    let unknown = Instant(uptime: 1, wall: a.clock, site: nil)
    try a.store.conflictLog.trim(at: unknown)
    try a.store.conflictLog.setBounds(count: nil, days: 30, at: unknown)
    #expect(try a.value("SELECT count(*) FROM _flotilla_conflict") == .integer(10_000))
    try a.store.conflictLog.setBoundsByDefault(at: unknown)
    #expect(try a.value("SELECT count(*) >= 2000 FROM _flotilla_conflict") == .integer(1))
    try a.store.conflictLog.trim(at: a.now)
    #expect(try a.value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
    #expect(try a.store.conflictLog.gone() == 10_100)
  }

  @Test func `of conflicts is a quarter of the file, and some thousands at least`() throws {
    let a = try replica(rows: 20_000)
    func count() throws -> SQLite.Value { try a.value("SELECT count(*) FROM _flotilla_conflict") }
    try a.application.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
      INSERT INTO _flotilla_conflict(id, name, key, at, reason, loser, winner)
      SELECT i, 'note', x'00', \(a.clock), 'older', zeroblob(60), zeroblob(60) FROM n
      """)
    try a.store.conflictLog.trim(at: a.now)
    #expect(try count() == .integer(9_000))
    #expect(ConflictBounds.bytes(besides: 20 << 20) == 16 << 20)
    #expect(ConflictBounds.bytes(besides: 100 << 20) == 25 << 20)
    try a.application.execute("UPDATE _flotilla_conflict SET loser = zeroblob(5000)")
    try a.store.conflictLog.trim(at: a.now)
    let bytes = try a.store.survey.size().part("conflict").bytes
    #expect(15 << 20...22 << 20 ~= bytes, "\(bytes)")
    let kept = try #require(try count().integer)
    #expect(3_000...3_400 ~= kept)
    #expect(try a.store.conflictLog.gone() == 9_000 - Int(kept))
    #expect(try a.value("SELECT min(id) FROM _flotilla_conflict") == .integer(9_001 - kept))

    // However large they are, some thousands stay; and a count that was chosen holds.
    try a.application.execute("UPDATE _flotilla_conflict SET loser = zeroblob(20000)")
    try a.store.conflictLog.trim(at: a.now)
    #expect(try count() == .integer(2_000))
    try a.application.execute(
      "INSERT INTO _flotilla_conflict(name, key, at, reason, loser, winner) "
        + "SELECT name, key, at, reason, loser, winner FROM _flotilla_conflict")
    try a.store.conflictLog.setBounds(count: 3_000, days: nil, at: a.now)
    #expect(try count() == .integer(3_000))
    #expect(try a.store.conflictLog.bounds().bytes == nil)
    try a.store.conflictLog.setBoundsByDefault(at: a.now)
    #expect(try count() == .integer(2_000))
    #expect(try a.store.conflictLog.bounds().bytes != nil)
  }

  /// People write numbers down, and what became of a row is kept by them.
  @Test func `of conflicts leaves each number to the one that had it`() throws {
    let a = try replica()
    func note(_ key: Int64) throws -> Int64 {
      let key = try #require(Key([.integer(key)], collations: []))
      try a.store.conflicts.put("note", key, at: a.clock, .older, loser: nil, winner: nil)
      return try #require(try a.store.conflicts.latest("note", key, .older)).id
    }
    #expect(try (1...3).map(note) == [1, 2, 3])
    let next = try #require(Key([.integer(9)], collations: []))
    try a.store.conflicts.noteRekeyed(3, next: next, rows: 0)
    try a.store.conflictLog.setBounds(count: 2, days: nil, at: a.now)
    #expect(try a.application.prepareRows("SELECT id FROM _flotilla_conflict") == ["1", "2"])
    #expect(try note(4) == 4)
    let four = try #require(try a.store.conflictLog.entry(4))
    #expect(try four.state == .open && a.store.conflictLog.rekeyed(four) == nil)
    try a.store.conflictLog.setBounds(count: 0, days: nil, at: a.now)
    try a.reopen()
    #expect(try note(5) == 5)
    // One that an earlier version has left behind.
    try a.write("INSERT INTO _flotilla_rekeyed VALUES (6, x'00', 1)")
    #expect(try note(6) == 7)
    try a.write("UPDATE _flotilla_conflict SET id = 9223372036854775807 WHERE id = 7")
    #expect(try note(7) > 0)
  }

  /// Entries about rows of so many bytes that somebody has lost.
  private func lose(_ count: Int, of origin: Int64, _ bytes: Int, at a: TestReplica) throws {
    try a.application.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO _flotilla_conflict(name, key, at, reason, origin, seq, loser)
      SELECT 'note', x'00', \(a.clock), 'parked', \(origin), i, zeroblob(\(bytes)) FROM n
      """)
  }

  private func kept(of origin: Int64, at a: TestReplica) throws -> Int64? {
    try a.value("SELECT count(*) FROM _flotilla_conflict WHERE origin = \(origin)").integer
  }

  @Test func `of conflicts of one member is 64 MiB, and those of others stay`() throws {
    let a = try replica()
    try a.write("INSERT INTO _flotilla_author VALUES (77, 'x', NULL, 1), (78, 'x', NULL, 2)")
    try lose(3, of: 99, 1_000, at: a)
    try lose(40, of: 77, 1 << 20, at: a)
    try lose(40, of: 78, 1 << 20, at: a)
    let own = Int64(bitPattern: a.origin.rawValue)
    try lose(70, of: own, 1 << 20, at: a)
    try lose(1, of: 55, 80 << 20, at: a)
    try a.store.conflictLog.trim(at: a.now)
    let left = try [99, 77, 78, own, 55].map { try kept(of: $0, at: a) }
    #expect(left == [3, 23, 40, 70, 1])
    #expect(try a.store.conflictLog.gone() == 17)
    // Nor do they go by the number of others.
    try lose(10_000, of: 66, 10, at: a)
    try a.store.conflictLog.trim(at: a.now)
    #expect(try kept(of: 99, at: a) == 3)
  }

  @Test func `of conflicts of one member is looked at as they come`() throws {
    let a = try replica()
    let text = Replication.Value.text(Array(repeating: 65, count: 1 << 20))
    let entry = Shelf.Entry(
      why: .constraint, values: [("id", .integer(1)), ("text", text)], keyCount: 1)
    for isChosen in [false, true] {
      if isChosen { try a.store.conflictLog.setBounds(count: 5_000, days: nil, at: a.now) }
      try a.store.transaction {
        for seq in 1...UInt64(120) {
          let dot = Dot(Origin(rawValue: isChosen ? 78 : 77), seq)
          let version = Version(
            dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
          try a.store.conflicts.put(
            "note", Key(bytes: [0]), at: a.clock, .parked, loser: ConflictSide(version, entry),
            winner: nil)
        }
      }
    }
    let left = try kept(of: 77, at: a) ?? 0
    #expect(60...96 ~= left)
    #expect(try kept(of: 78, at: a) == 120)
  }

  /// A machine that was away for weeks may lose them all at once, before anybody has seen one.
  @Test func `of conflicts goes by their number after a month`() throws {
    let a = try replica()
    let count = "SELECT count(*) FROM _flotilla_conflict"
    try lose(12_000, of: 99, 10, at: a)
    for days in [0, 29, 31] {
      a.clock += Int64(days) * 86_400_000
      try a.store.conflictLog.trim(at: a.now)
      #expect(try a.value(count) == .integer(days < 30 ? 12_000 : 10_000))
      a.clock -= Int64(days) * 86_400_000
    }
    try lose(9_000, of: 98, 10, at: a)
    try a.store.conflictLog.setBounds(count: 11_000, days: nil, at: a.now)
    #expect(try a.value(count) == .integer(11_000))
  }

  @Test func `of conflicts the first of each member stay before the second of any`() {
    func entry(_ id: Int64, _ payer: String?, isOpen: Bool = true) -> ConflictBounds.Entry {
      ConflictBounds.Entry(id: id, isOpen: isOpen, bytes: 1, payer: payer)
    }
    let entries =
      (10...19).reversed().map { entry($0, "x") }
      + [entry(3, "y", isOpen: false), entry(2, "y"), entry(1, nil)]
    let gone = ConflictBounds(count: 4, bytes: 0).excess(of: entries)
    #expect(Set(entries.map(\.id)).subtracting(gone) == [19, 18, 2, 1])
  }

  @Test func `of rulings about one member's edits is 64 MiB of keys`() throws {
    let a = try replica()
    _ = try a.value(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80)
      INSERT INTO _flotilla_ruling(eorigin, eseq, origin, seq, stamp, kind, rule, tbl, key)
      SELECT iif(i < 4, 7, 8), i, 9, i, i, 1, '', 1, zeroblob(iif(i < 4, 10, 1 << 20)) FROM n
      """)
    #expect(try !a.store.rulings.mayLack())
    try a.store.trimLogs(at: a.now)
    let counts = "SELECT group_concat(n, ' ') FROM (SELECT count(*) AS n FROM _flotilla_ruling "
    #expect(try a.value(counts + "GROUP BY eorigin)").string == "3 64")
    #expect(try a.store.rulings.mayLack())
  }

  @Test func `of too much goes in slices, and programs write in between`() throws {
    var pace = Pace()
    (pace.rulings, pace.comparedRows) = (5, 50)
    let a = try TestReplica(1, schema: Self.schema, tracking: ["note"], pace: pace)
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)"
    try a.write(
      """
      \(numbers) INSERT INTO _flotilla_conflict(id, name, key, at, reason)
      SELECT i, 'note', x'00', 0, 'older' FROM n;
      INSERT INTO _flotilla_rekeyed VALUES (77, x'01', 1), (700, x'01', 1);
      \(numbers) INSERT INTO _flotilla_verdict(seq, name, key, verdict, at)
      SELECT i, 'note', x'00', 'accepted', 0 FROM n;
      \(numbers) INSERT INTO _flotilla_ruling(
        eorigin, eseq, origin, seq, stamp, kind, rule, tbl, key)
      SELECT 7, 1000 + i, 9, i, i, 1, '', 1, x'00' FROM n;
      """)
    try a.store.origins.raise(to: Frontier([a.store.own: 200_000]))
    func counts() throws -> [SQLite.Value] {
      try ["conflict", "rekeyed", "verdict", "ruling"].map {
        try a.value("SELECT count(*) FROM _flotilla_\($0)")
      }
    }
    let slices = try a.store.logExcess(at: a.now)
    #expect(slices.count == 3)
    // The word on one of them is awaited by now, and stays.
    try a.write("INSERT INTO _flotilla_verdict(seq, name, key) VALUES (1001, 'note', x'00')")
    var left: [[SQLite.Value]] = []
    for slice in slices {
      try a.store.letGo(of: slice)
      try a.write("INSERT INTO note VALUES (hex(randomblob(8)), 'written')")
      left.append(try counts())
    }
    #expect(
      left == [
        [.integer(70), .integer(2), .integer(71), .integer(71)],
        [.integer(20), .integer(1), .integer(21), .integer(21)],
        [.integer(0), .integer(0), .integer(1), .integer(6)],
      ])
    #expect(try a.store.conflictLog.gone() == 120)
    #expect(try a.store.verdicts.missing() == 120)
    #expect(try a.store.logExcess(at: a.now).isEmpty)
  }

  @Test func `of runs is the last thousand`() throws {
    let a = try replica()
    for run in 1...UInt64(RunLog.limit) + 20 { try a.store.lives.begin(run: run) }
    #expect(try a.value("SELECT count(*) FROM _flotilla_run") == .integer(1_000))
    #expect(a.store.lives.log.entries.first?.run == 21)
  }

  @Test func `of a member goes with it`() throws {
    let (a, b) = (try replica(), try TestReplica(2, schema: Self.schema))
    try a.store.members.save([
      KnownPeer(
        node: b.store.node, name: "b", address: nil, seen: nil, clockOffset: 0,
        frontier: Frontier())
    ])
    try a.store.progress.save(Frontier([b.origin: 1]), of: b.store.node, edition: 7)
    try a.store.members.forget(b.store.node)
    for table in ["peer", "progress"] {
      #expect(try a.value("SELECT count(*) FROM _flotilla_\(table)") == .integer(0), "\(table)")
    }
  }
}
