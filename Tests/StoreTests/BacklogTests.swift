import Replication
import SQLite
import Testing

@testable import Store

@Suite("What waits in the journal") struct BacklogTests {
  private static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"

  /// A replica that folds four rows in one commit.
  private func replica(_ number: UInt64 = 1, whole: Int = 1_000) throws -> TestReplica {
    var pace = Pace()
    pace.journalEntries = 4
    pace.wholeRows = whole
    return try TestReplica(number, schema: Self.schema, tracking: ["note"], pace: pace)
  }

  private func write(_ replica: TestReplica, _ ids: [String], _ text: String) throws {
    let rows = ids.map { "('\($0)', '\(text)')" }.joined(separator: ", ")
    try replica.write("INSERT OR REPLACE INTO note VALUES \(rows)")
  }

  private func seq(_ replica: TestReplica, _ id: String) throws -> UInt64? {
    try replica.version(id)?.dot.seq
  }

  @Test func `is folded in the order of keys where it takes several commits`() throws {
    let a = try replica()
    let ids = (0..<40).map { "r\(($0 * 17) % 40 + 10)" }
    try write(a, ids, "x")
    try a.foldAll()
    let seqs = try ids.sorted().map { try seq(a, $0) ?? 0 }
    #expect(seqs == seqs.sorted() && Set(seqs).count == 40)
    #expect(try a.value("SELECT count(*) FROM _flotilla_journal").integer == 0)
  }

  @Test func `is folded in the order of writing where one commit does`() throws {
    let a = try replica()
    try write(a, ["c", "a", "b"], "x")
    try a.foldAll()
    let seqs = try ["c", "a", "b"].map { try seq(a, $0) ?? 0 }
    #expect(seqs == seqs.sorted())
  }

  @Test func `lets what is written meanwhile go first, once`() throws {
    let a = try replica()
    try write(a, (10..<30).map { "r\($0)" }, "first")
    let before = a.store.position.frontier[a.origin]
    #expect(try a.store.fold(at: a.now).hasMore)
    // One that was folded already, one that waits, and a new one.
    try write(a, ["r10", "r29", "s"], "second")
    #expect(try a.store.fold(at: a.now).hasMore)
    for id in ["r10", "r29", "s"] { #expect(try (5...8).contains(seq(a, id)! - before), "\(id)") }
    try a.foldAll()
    // r10 alone was two edits.
    #expect(a.store.position.frontier[a.origin] - before == 22)
    let b = try replica(2)
    try b.pull(from: a)
    for id in ["r10", "r29", "s"] { #expect(try b.text(id) == "second") }
    #expect(try b.text("r20") == "first" && b.text("r10") == a.text("r10"))
  }

  /// Folds all, and gives what goes out on the way.
  private func stretches(_ replica: TestReplica) throws -> [Stretch] {
    var stretches: [Stretch] = []
    while true {
      let result = try replica.store.fold(at: replica.now)
      if let stretch = result.stretch { stretches.append(stretch) }
      if !result.hasMore { return stretches }
      #expect(result.push == nil)
    }
  }

  @Test func `goes out while it is folded, all of it from one seq to another`() throws {
    let (a, b) = (try replica(whole: 10), try replica(2))
    try write(a, (10..<50).map { "r\($0)" }, "x")
    try a.foldAll()
    try b.pull(from: a)
    let before = a.store.position.frontier
    try write(a, (10..<50).map { "r\($0)" }, "y")
    try a.write("DELETE FROM note WHERE id = 'r17'; DELETE FROM note WHERE id = 'r10'")
    let stretches = try stretches(a)
    #expect(stretches.map(\.waiting) == [36, 32, 28, 24, 20, 16, 12, 8])
    var held = before[a.origin]
    for stretch in stretches {
      #expect(stretch.from == held && stretch.to == held + 4)
      held = stretch.to
    }
    let batches = stretches.flatMap(\.batches).map {
      ExportBatch(bytes: $0.bytes, rows: $0.rows, check: $0.check)
    }
    try b.mergeSlice(batches, covers: before, from: a)
    #expect(b.store.position.frontier[a.origin] == before[a.origin])
    var sent = before
    sent.raise(a.origin, to: held)
    let (covers, rest) = try a.export(above: sent)
    try b.merge(rest, .full(covers: covers), from: a)
    let rows = "SELECT count(*), min(id), max(id), min(text) FROM note"
    #expect(try b.store.connection.row(rows) == a.store.connection.row(rows))
    for id in 10..<50 { #expect(try b.version("r\(id)") == a.version("r\(id)")) }
  }

  @Test func `stays together where one commit shows all of it`() throws {
    let a = try replica(whole: 40)
    try write(a, (10..<50).map { "r\($0)" }, "x")
    #expect(try stretches(a).isEmpty)
  }

  @Test func `stays here where nobody is to get it at once`() throws {
    let a = try replica(whole: 10)
    a.store.pace.sendsEdits = false
    try write(a, (10..<50).map { "r\($0)" }, "x")
    #expect(try stretches(a).isEmpty)
  }

  @Test func `goes out in batches of a frame, or not at all`() throws {
    let a = try replica(whole: 10)
    let long = String(repeating: "x", count: 300 << 10)
    try write(a, (10..<50).map { "r\($0)" }, long)
    for stretch in try stretches(a) {
      #expect(stretch.batches.count == 2)
      for batch in stretch.batches { #expect(batch.bytes.count <= Limits.piece) }
    }
    try write(a, (10..<50).map { "r\($0)" }, long + long)
    #expect(try stretches(a).isEmpty)
  }

  @Test func `begins anew after a crash between two commits, and makes nothing twice`() throws {
    let a = try replica()
    let before = a.store.position.frontier[a.origin]
    try write(a, (10..<30).map { "r\($0)" }, "x")
    #expect(try a.store.fold(at: a.now).hasMore && a.store.fold(at: a.now).hasMore)
    try a.reopen()
    try a.foldAll()
    #expect(a.store.position.frontier[a.origin] - before == 20)
    #expect(try a.value("SELECT count(*) FROM _flotilla_journal").integer == 0)
  }

  @Test func `is read anew where somebody has emptied the journal meanwhile`() throws {
    let a = try replica()
    try write(a, (10..<30).map { "r\($0)" }, "x")
    #expect(try a.store.fold(at: a.now).hasMore)
    try a.write("DELETE FROM _flotilla_journal")
    // It counts from 1 again, where other rows were.
    try write(a, ["late"], "y")
    try a.foldAll()
    #expect(try a.version("late") != nil)
  }

  @Test func `is read anew where a migration has given the table another key`() throws {
    let a = try replica()
    try write(a, (10..<30).map { "r\($0)" }, "x")
    #expect(try a.store.fold(at: a.now).hasMore)
    try a.write(
      """
      BEGIN;
      CREATE TABLE new(id TEXT NOT NULL, part TEXT NOT NULL DEFAULT 'p', text TEXT,
        PRIMARY KEY(id, part));
      INSERT INTO new(id, text) SELECT id, text FROM note;
      DROP TABLE note;
      ALTER TABLE new RENAME TO note;
      COMMIT
      """)
    try a.foldAll()
    try a.write("UPDATE note SET text = 'y' WHERE id = 'r29'")
    try a.foldAll()
    let b = try TestReplica(
      2,
      schema: """
        CREATE TABLE note(id TEXT NOT NULL, part TEXT NOT NULL DEFAULT 'p', text TEXT,
          PRIMARY KEY(id, part))
        """, tracking: ["note"])
    try b.pull(from: a)
    let rows = "SELECT group_concat(id || part || text, ' ') FROM (SELECT * FROM note ORDER BY id)"
    #expect(try b.value(rows) == a.value(rows))
    #expect(try b.value("SELECT count(*) FROM note").integer == 20)
  }

  @Test func `fills no memory where programs write faster than it is folded`() {
    var backlog = Backlog()
    backlog.check(schemaVersion: 1, lastEntry: nil)
    let size: Int64 = 100
    for round in 0..<10 as Range<Int64> {
      let first = round * size + 1
      let touches = (0..<size).map { row in
        Backlog.Touch(
          depth: 0, table: 1, key: Key([.integer(row)], collations: [])!, entry: first + row,
          moment: Dating.Moment(0))
      }
      backlog.add(
        touches, of: first...(first + size - 1), after: 1, absent: [], atOnce: 500, most: 200)
      #expect(backlog.count - backlog.unread <= 200)
      #expect(backlog.count == Int((round + 1) * size))
    }
    // The newest go first.
    #expect(backlog.end == 10 * size)
  }

  /// A window of the journal is read, and more than another one comes before it has ended.
  @Test(arguments: [17, 18, 41, 42])
  func `leaves nothing out between two windows`(window: Int) throws {
    let a = try replica()
    a.store.pace.journalWindow = window
    try write(a, (10..<16).map { "r\($0)" }, "x")
    #expect(try a.store.fold(at: a.now).hasMore)
    try write(a, (100..<157).map { "s\($0)" }, "y")
    try a.foldAll()
    #expect(try a.value("SELECT count(*) FROM _flotilla_journal").integer == 0)
    for id in 10..<16 { #expect(try a.version("r\(id)") != nil, "r\(id)") }
    for id in 100..<157 { #expect(try a.version("s\(id)") != nil, "s\(id)") }
  }

  @Test func `is read in parts where keys are long`() throws {
    let a = try replica()
    a.store.pace.journalBytes = 1_000
    let ids = (10..<40).map { String(repeating: "k", count: 100) + "\($0)" }
    try write(a, ids, "x")
    try a.foldAll()
    for id in ids { #expect(try a.version(id) != nil) }
  }

  @Test func `goes on where a program had the lock`() throws {
    let a = try replica()
    let before = a.store.position.frontier[a.origin]
    try write(a, (10..<30).map { "r\($0)" }, "x")
    #expect(try a.store.fold(at: a.now).hasMore)
    let program = try Connection(path: a.path)
    try program.execute("BEGIN IMMEDIATE")
    a.store.file.setPatience(1)
    #expect(throws: StoreError.self) { try a.store.fold(at: a.now) }
    try program.execute("ROLLBACK")
    // The second four of the first window, not the first four again.
    #expect(try a.store.fold(at: a.now).versions == 4)
    #expect(a.store.position.frontier[a.origin] - before == 8)
  }
}
