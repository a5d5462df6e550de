import Replication
import SQLite
import Testing

@testable import Store

/// Exchanges that are cut, paused or completed by somebody else.
@Suite struct CatchUpTests {
  static let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"

  static var slices: Pace {
    var pace = Pace()
    pace.batchRows = 2
    return pace
  }

  /// A replica with rows 1 to `count`, and others that have the table alone.
  func replicas(
    _ number: Int, rows count: Int, pace: Pace = slices
  ) throws -> [TestReplica] {
    let filled = """
      \(Self.schema) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(count))
      INSERT INTO t SELECT i, 'v' || i FROM n
      """
    return try (1...number).map { index in
      try TestReplica(
        UInt64(index), schema: index == 1 ? filled : Self.schema,
        tracking: index == 1 ? ["t"] : [], pace: pace)
    }
  }

  func expectEqual(_ replicas: [TestReplica]) throws {
    #expect(try Verdict(replicas, [TestTable.plain]).faults == [])
  }

  @Test func `a catch-up that was cut resumes where it was`() throws {
    let r = try replicas(2, rows: 20)
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice(Array(batches.prefix(4)), covers: covers, from: r[0])
    #expect(r[1].store.position.frontier.isEmpty)
    try r[1].reopen()
    let resume = try r[1].store.progress.frontier(of: r[0].store.node)
    #expect(resume == Frontier([r[0].origin: 8]))
    let (rest, others) = try r[0].export(above: resume)
    #expect(others.reduce(0) { $0 + $1.rows } == 21 - 8)
    try r[1].merge(others, .full(covers: rest), from: r[0])
    #expect(try r[1].store.progress.frontier(of: r[0].store.node).isEmpty)
    try expectEqual(r)
  }

  @Test func `a catch-up that was cut begins anew with another run of the sender`() throws {
    let r = try replicas(2, rows: 20)
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice(Array(batches.prefix(4)), covers: covers, from: r[0])
    let node = r[0].store.node
    #expect(try !r[1].store.progress.frontier(of: node).isEmpty)
    #expect(try r[1].store.progress.frontier(of: node, edition: 9).isEmpty)
    // Another copy of its file has not come as far: what it has below is not left out.
    try r[1].store.progress.save(Frontier([r[0].origin: 3]), of: node, edition: 9)
    #expect(try r[1].store.progress.frontier(of: node).isEmpty)
    try r[1].store.progress.clear(node)
    #expect(try r[1].store.progress.frontier(of: node, edition: 9).isEmpty)
  }

  @Test func `a sender whose file was put back leaves nothing out below the cut`() throws {
    let r = try replicas(2, rows: 20)
    let (node, copy) = (r[0].store.node, try r[0].backUp())
    try r[0].write("UPDATE t SET v = 'replaced'")
    try r[0].foldAll()
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice(Array(batches.prefix(3)), covers: covers, from: r[0])
    try r[0].restore(copy)
    try r[0].store.beginLife(
      .restored, origin: Origin(rawValue: 99), life: 9, run: 9, reissuingAbove: nil, at: r[0].now)
    let resume = try r[1].store.progress.frontier(of: node, edition: 9)
    let (rest, others) = try r[0].export(above: resume)
    try r[1].merge(others, .full(covers: rest), from: r[0])
    #expect(try r[1].value("SELECT count(*) FROM t") == .integer(20))
  }

  @Test(arguments: [false, true])
  func `who completes a cut catch-up passes all of it on`(byOther: Bool) throws {
    let r = try replicas(4, rows: 20)
    try r[2].pull(from: r[0])
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice(Array(batches.prefix(4)), covers: covers, from: r[0])
    try r[1].reopen()
    if byOther {
      try r[1].pull(from: r[2])
    } else {
      let resume = try r[1].store.progress.frontier(of: r[0].store.node)
      let (rest, others) = try r[0].export(above: resume)
      try r[1].merge(others, .full(covers: rest), from: r[0])
    }
    try r[3].pull(from: r[1])
    try expectEqual(r)
  }

  @Test func `rows beyond what is covered are passed on once they are`() throws {
    let r = try replicas(4, rows: 6)
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice(Array(batches.prefix(2)), covers: covers, from: r[0])
    // These come with an exchange that does not cover them.
    try r[2].pull(from: r[1])
    #expect(r[2].store.position.frontier.isEmpty)
    try r[2].reopen()
    try r[2].pull(from: r[0])
    try r[3].pull(from: r[2])
    try expectEqual([r[0], r[2], r[3]])
  }

  @Test func `what stands is passed on with a row that it has outranked`() throws {
    let r = try replicas(4, rows: 4)
    for other in r.dropFirst() { try other.pull(from: r[0]) }
    try r[2].write("UPDATE t SET v = 'early' WHERE id = 1")
    try r[2].foldAll()
    r[0].clock += 1_000
    try r[0].write("UPDATE t SET v = 'late'")
    try r[0].foldAll()
    let (covers, batches) = try r[0].export(above: r[1].store.position.frontier)
    try r[1].mergeSlice(Array(batches.prefix(1)), covers: covers, from: r[0])
    // Of what came so far no list tells any more.
    try r[1].reopen()
    try r[1].pull(from: r[2])
    try r[3].pull(from: r[1])
    #expect(r[3].store.position.frontier[r[2].origin] > 0)
    #expect(try r[3].value("SELECT v FROM t WHERE id = 1") == .string("late"))
  }

  @Test(arguments: ["time", "WAL"], ["list", "scan"])
  func `a paused export goes on and the frontier moves at the end only`(
    why: String, source: String
  ) throws {
    var pace = Self.slices
    if why == "time" { pace.snapshotTime = 0 } else { pace.walBytes = 0 }
    if source == "scan" { pace.recentRows = 1 }
    let r = try replicas(2, rows: 9, pace: pace)
    var progress = Frontier()
    var pauses = 0
    while true {
      let opened = try r[0].store.openExport(.above(progress), at: r[0].now)
      defer { try? r[0].store.closeExport(opened.id) }
      var batches: [ExportBatch] = []
      var isPaused = false
      reading: while true {
        switch try r[0].store.readExport(opened.id, at: r[0].now) {
        case .part: continue
        case .batch(let batch): batches.append(batch)
        case .paused(let reached):
          progress.join(reached)
          isPaused = true
          break reading
        case .done: break reading
        }
      }
      _ = try r[1].store.merge(
        Merge(
          sender: r[0].store.node, kind: .full(covers: opened.covers),
          batches: batches.map(\.bytes), rowsBefore: 0, checkBefore: 0, end: End(batches),
          movesFrontier: !isPaused), at: r[1].now)
      guard isPaused else { break }
      pauses += 1
      #expect(r[1].store.position.frontier.isEmpty)
      #expect(try r[1].store.progress.frontier(of: r[0].store.node) == progress)
      if pauses == 2 { try r[0].write("UPDATE t SET v = 'late' WHERE id IN (1, 9)") }
    }
    #expect(pauses > 3)
    try expectEqual(r)
  }

  /// It would begin with the same rows again, and those who catch up from each other never end.
  @Test func `an export does not pause before anything of it counts`() throws {
    var pace = Self.slices
    pace.snapshotTime = 0
    let r = try replicas(3, rows: 9, pace: pace)
    let opened = try r[0].store.openExport(.above(Frontier()), at: r[0].now)
    guard case .batch(let first) = try r[0].store.readExport(opened.id, at: r[0].now),
      case .paused(let reached) = try r[0].store.readExport(opened.id, at: r[0].now)
    else {
      Issue.record("what counts does not pause")
      return
    }
    try r[0].store.closeExport(opened.id)
    let (covers, rest) = try r[0].export(above: reached)
    try r[1].mergeSlice([first] + rest, covers: covers, from: r[0])
    #expect(r[1].store.position.frontier.isEmpty)
    let count = first.rows + rest.reduce(0) { $0 + $1.rows }
    #expect(try r[1].export(above: Frontier()).1.reduce(0) { $0 + $1.rows } == count)
  }

  @Test(arguments: [false, true])
  func `only what the log grows by during an export pauses it`(growsMore: Bool) throws {
    var pace = Self.slices
    pace.walBytes = 200_000
    let r = try replicas(2, rows: 9, pace: pace)
    let writing = """
      CREATE TABLE big(b); INSERT INTO big VALUES (zeroblob(300000)); DROP TABLE big
      """
    // Its file keeps this length as long as anybody has it open.
    try r[0].write(writing)
    try r[0].foldAll()
    #expect(try r[0].store.survey.health().walBytes > pace.walBytes)
    let opened = try r[0].store.openExport(.above(Frontier()), at: r[0].now)
    defer { try? r[0].store.closeExport(opened.id) }
    guard case .batch = try r[0].store.readExport(opened.id, at: r[0].now) else {
      Issue.record("no batch")
      return
    }
    if growsMore { try r[0].write(writing) }
    switch try r[0].store.readExport(opened.id, at: r[0].now) {
    case .batch: #expect(!growsMore)
    case .paused: #expect(growsMore)
    default: Issue.record("neither more nor a pause")
    }
  }

  /// Whether nobody holds a snapshot that keeps the log.
  private func isLogFree(_ replica: TestReplica) throws -> Bool {
    try replica.application.execute("PRAGMA busy_timeout = 0")
    return try replica.application.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == .integer(0)
  }

  @Test(arguments: [false, true])
  func `a snapshot is let go though the peer takes nothing`(isAllRead: Bool) throws {
    var pace = Self.slices
    pace.walBytes = 200_000
    if isAllRead { pace.batchRows = 100 }
    let r = try replicas(2, rows: 9, pace: pace)
    let opened = try r[0].store.openExport(.above(Frontier()), at: r[0].now)
    guard case .batch = try r[0].store.readExport(opened.id, at: r[0].now) else {
      Issue.record("no batch")
      return
    }
    r[0].store.cutSpentExports(at: r[0].now)
    #expect(try !isLogFree(r[0]))
    try r[0].write("CREATE TABLE big(b); INSERT INTO big VALUES (zeroblob(300000))")
    r[0].store.cutSpentExports(at: r[0].now)
    #expect(try isLogFree(r[0]))
    // It is told when the peer takes something again.
    switch try r[0].store.readExport(opened.id, at: r[0].now) {
    case .paused(let progress): #expect(!progress.isEmpty && !isAllRead)
    case .done: #expect(isAllRead)
    default: Issue.record("there is no snapshot")
    }
    try r[0].store.closeExport(opened.id)
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  /// A pause would show the other node half of what is small enough to be merged in one commit.
  @Test(
    arguments: [
      "ALTER TABLE t ADD COLUMN w; UPDATE t SET w = 1 WHERE id = 9",
      "ALTER TABLE t RENAME COLUMN v TO w", "ALTER TABLE t DROP COLUMN v", "DROP TABLE t",
      "ALTER TABLE t RENAME TO u; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)",
    ])
  func `an export goes on with the schema that it began with`(migration: String) throws {
    let r = try replicas(2, rows: 9)
    let shown = try r[0].content("t")
    let opened = try r[0].store.openExport(.above(Frontier()), at: r[0].now)
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try r[0].store.readExport(opened.id, at: r[0].now) {
      batches.append(batch)
      guard batches.count == 1 else { continue }
      try r[0].write(migration)
      try r[0].foldAll()
    }
    try r[0].store.closeExport(opened.id)
    try r[1].merge(batches, .full(covers: opened.covers), from: r[0])
    #expect(try r[1].content("t") == shown)
    #expect(batches.count > 3 && r[1].store.position.frontier == opened.covers)
  }

  @Test func `what is edited after the fold travels under a dot of its own`() throws {
    let r = try replicas(2, rows: 3)
    let opened = try r[0].store.openExport(.above(Frontier()), at: r[0].now)
    try r[0].write("UPDATE t SET v = 'new'; DELETE FROM t WHERE id = 3")
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try r[0].store.readExport(opened.id, at: r[0].now) {
      batches.append(batch)
    }
    try r[0].store.closeExport(opened.id)
    try r[1].merge(batches, .full(covers: opened.covers), from: r[0])
    #expect(try r[1].content("t").count == 3)
    #expect(try r[1].value("SELECT v FROM t WHERE id = 1") == .string("v1"))
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  /// The list of recent rows is an open export, too: it must show what it was opened with.
  @Test func `an export of recent rows shows one moment`() throws {
    let r = try replicas(2, rows: 3)
    try r[1].pull(from: r[0])
    try r[0].write("UPDATE t SET v = 'one'")
    let opened = try r[0].store.openExport(.above(r[1].store.position.frontier), at: r[0].now)
    try r[0].write("UPDATE t SET v = 'two' WHERE id = 1; DELETE FROM t WHERE id = 2")
    try r[0].foldAll()
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try r[0].store.readExport(opened.id, at: r[0].now) {
      batches.append(batch)
    }
    try r[1].merge(batches, .full(covers: opened.covers), from: r[0])
    #expect(try r[1].value("SELECT group_concat(v) FROM t") == .string("one,one,one"))
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  @Test func `nothing of a backlog leaves before all of it is folded`() throws {
    var pace = Self.slices
    pace.journalEntries = 4
    let r = try replicas(2, rows: 30, pace: pace)
    try r[1].pull(from: r[0])
    try r[0].write("UPDATE t SET v = 'b' || id")
    #expect(try r[0].store.fold(at: r[0].now).hasMore)
    let opened = try r[0].store.openExport(.above(r[1].store.position.frontier), at: r[0].now)
    #expect(opened.rows == 30)
    try r[0].store.closeExport(opened.id)
    try r[1].write("UPDATE t SET v = 'c' || id")
    #expect(try r[1].store.fold(at: r[1].now).hasMore)
    try r[1].pull(from: r[0])
    #expect(try Journal.isEmpty(on: r[1].application))
    try r[0].pull(from: r[1])
    try expectEqual(r)
  }

  @Test func `a row of a long backlog has the time of its last touch`() throws {
    var pace = Self.slices
    pace.journalEntries = 4
    let r = try replicas(1, rows: 10, pace: pace)
    r[0].clock = 1_830_000_000_000
    try r[0].write("UPDATE t SET v = 'a'; UPDATE _flotilla_journal SET at = 1810000000000")
    try r[0].write(
      "UPDATE t SET v = 'b' WHERE id = 1; UPDATE _flotilla_journal SET at = 1820000000000 "
        + "WHERE at <> 1810000000000")
    try r[0].foldAll()
    let times = try Outside.versions(r[0], [.plain]).filter { $0.key.table == "t" }
      .values.map(\.stamp.millisecondsSince1970)
    #expect(times.filter { $0 == 1_820_000_000_000 }.count == 1)
    #expect(times.filter { $0 == 1_810_000_000_000 }.count == 9)
  }
}

extension TestTable {
  /// The table of the directed tests.
  static let plain = TestTable(
    name: "t", sql: "(id INTEGER PRIMARY KEY, v TEXT)", key: [("id", ["1"])],
    collations: [.binary], columns: ["v"])
}
