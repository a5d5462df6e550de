import Replication
import SQLite
import Testing

@testable import Store

/// What a replica may do with its tables.
@Suite struct `Rights in a replica` {
  private static let schema = """
    CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT);
    CREATE TABLE bill(id TEXT PRIMARY KEY NOT NULL, sum INTEGER);
    """
  private let site: TestReplica
  private let leaf: TestReplica

  init() throws {
    site = try TestReplica(1, schema: Self.schema, tracking: ["note", "bill"])
    leaf = try TestReplica(2, schema: Self.schema)
    try site.write(
      "INSERT INTO note VALUES ('a', 'x'), ('b', 'y'); INSERT INTO bill VALUES ('1', 5)")
    try leaf.exchange(with: site)
  }

  private func allow(_ rights: Rights, delivered: UInt64 = .max) throws {
    try leaf.store.allow(rights, delivered: min(delivered, 1 << 62), at: leaf.now)
  }

  /// Fetches what is to be put back, as a session would.
  private func askBack() throws {
    let (_, batches) = try site.export(.rows(try leaf.store.wantedRows()))
    try leaf.merge(batches, .repair, from: site)
  }

  private func logged() throws -> [String] {
    try leaf.application.rows("SELECT reason FROM _flotilla_conflict ORDER BY id").map {
      $0[0].string ?? ""
    }
  }

  /// An own row that is parked is in no table when the right to it is taken.
  @Test func `a parked row that is refused is in the log with what it says`() throws {
    try site.write("CREATE UNIQUE INDEX one ON note(text)")
    try leaf.write("CREATE UNIQUE INDEX one ON note(text)")
    try site.write("INSERT INTO note VALUES ('k1', 'same')")
    try site.foldAll()
    leaf.clock += 60_000
    try leaf.write("INSERT INTO note VALUES ('k2', 'same')")
    try leaf.foldAll()
    try leaf.pull(from: site)
    #expect(try leaf.value("SELECT key FROM _flotilla_shelf") != .null)
    try allow(Rights(general: .read), delivered: 0)
    let noted = try #require(try leaf.store.conflictLog.list(all: true).last?.loser)
    #expect(!noted.isDeleted)
    #expect(noted.values.map(\.value) == [.text(Array("k2".utf8)), .text(Array("same".utf8))])
  }

  /// Rows that were there when tracking ended are the site's when it begins again.
  @Test func `a reader has written nothing of a table that is tracked again`() throws {
    try allow(Rights(general: .read))
    try site.store.untrack(["note"], at: site.now)
    try leaf.pull(from: site)
    try site.store.track(["note"], rule: nil, at: site.now)
    try site.foldAll()
    try leaf.pull(from: site)
    try leaf.foldAll()
    #expect(try logged().isEmpty)
    #expect(try leaf.content("note") == site.content("note"))
    try site.write("UPDATE note SET text = 'later' WHERE id = 'a'")
    try site.foldAll()
    try leaf.pull(from: site)
    #expect(try leaf.content("note") == site.content("note"))
  }

  /// Nobody gives them, and others would wait behind them.
  @Test func `rows of a table that may not be read are not asked for`() throws {
    try leaf.write("UPDATE bill SET sum = 7 WHERE id = '1'")
    try leaf.foldAll()
    try allow(Rights(general: .read, tables: ["bill": .none]), delivered: 0)
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(try leaf.store.wantedRows().map(\.table) == ["note"])
    try allow(Rights(general: .read), delivered: 0)
    #expect(try leaf.store.wantedRows().map(\.table).sorted() == ["bill", "note"])
  }

  @Test func `rows that nobody knows leave the others their turn`() throws {
    try allow(Rights(general: .read))
    let table = try #require(leaf.store.tables.table("note")?.id)
    try leaf.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO _flotilla_putback
      SELECT \(table), CAST(char(1) || printf('%04d', i) AS BLOB) FROM n;
      UPDATE note SET text = 'hack' WHERE id = 'a'
      """)
    try leaf.foldAll()
    // What was refused just now comes first.
    try askBack()
    #expect(try leaf.value("SELECT text FROM note WHERE id = 'a'") == .string("x"))
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    try leaf.reopen()
    var asked: Set<[UInt8]> = []
    for turn in 1...3 {
      #expect(leaf.store.asksAnew == (turn == 1))
      let names = try leaf.store.wantedRows()
      asked.formUnion(names.map(\.key))
      let (_, batches) = try site.export(.rows(names))
      try leaf.merge(batches, .repair, from: site)
    }
    #expect(asked.count == 5_001 && leaf.store.asksAnew)
    #expect(try leaf.value("SELECT text FROM note WHERE id = 'a'") == .string("x"))
  }

  @Test func `more is asked for as soon as half has come`() throws {
    try site.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO note SELECT i, i FROM n
      """)
    try site.foldAll()
    try leaf.exchange(with: site)
    try allow(Rights(general: .read))
    try leaf.write("UPDATE note SET text = 'hack'")
    try leaf.foldAll()
    var questions = 0
    while case let mark = leaf.store.position.wanted, mark > 0, questions < 20 {
      questions += 1
      let names = try leaf.store.wantedRows()
      #expect(names.count <= PutBackTable.asked)
      let half = (names.count + 1) / 2
      for part in [names.prefix(half - 1), names[(half - 1)..<half]] {
        #expect(leaf.store.position.wanted == mark)
        let (_, batches) = try site.export(.rows(Array(part)))
        try leaf.merge(batches, .repair, from: site)
      }
      #expect(leaf.store.position.wanted != mark)
    }
    #expect(questions < 20)
    #expect(try leaf.value("SELECT count(*) FROM note WHERE text = 'hack'") == .integer(0))
  }

  /// It waits to be put back when a migration has the table compared.
  @Test func `a refused edit is put back after a migration, too`() throws {
    try site.write("ALTER TABLE note ADD COLUMN fax TEXT")
    try leaf.write("ALTER TABLE note ADD COLUMN fax TEXT")
    try site.write("UPDATE note SET fax = id")
    try site.foldAll()
    try leaf.exchange(with: site)
    try allow(Rights(general: .read))
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    try leaf.write("ALTER TABLE note DROP COLUMN fax")
    try leaf.foldAll()
    #expect(try leaf.store.wantedRows().count == 1)
    try askBack()
    #expect(try leaf.value("SELECT text FROM note WHERE id = 'a'") == .string("x"))
  }

  @Test func `edits of a reader make no versions, are logged and put back`() throws {
    try allow(Rights(general: .read))
    let before = leaf.store.position
    let content = try leaf.content("note")
    try leaf.write(
      """
      UPDATE note SET text = 'hack' WHERE id = 'a'; DELETE FROM note WHERE id = 'b';
      INSERT INTO note VALUES ('c', 'new')
      """)
    try leaf.foldAll()
    #expect(leaf.store.position.frontier == before.frontier)
    #expect(leaf.store.position.digest == before.digest)
    #expect(try logged() == ["not-allowed", "not-allowed", "not-allowed"])
    #expect(try leaf.value("SELECT count(*) FROM note WHERE id = 'c'") == .integer(0))
    #expect(try leaf.store.wantedRows().count == 2)
    try leaf.reopen()
    #expect(leaf.store.rights == Rights(general: .read))
    try askBack()
    #expect(try leaf.content("note") == content)
    #expect(try leaf.store.wantedRows().isEmpty)
    // What the log holds is the row as it was written.
    let log = try Array(leaf.store.conflictLog.list(all: true).reversed())
    #expect(log.map { $0.loser?.isDeleted } == [false, true, false])
    #expect(log.allSatisfy { $0.loser?.author == leaf.store.own && $0.loser?.stamp != nil })
    #expect(log.map { $0.winner == nil } == [false, false, true])
    #expect(log[0].loser?.values.last?.value == .text(Array("hack".utf8)))
  }

  @Test func `a row that waits to be put back takes a newer version of the site's at once`() throws
  {
    try allow(Rights(general: .read))
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try site.write("UPDATE note SET text = 'newer' WHERE id = 'a'")
    try leaf.foldAll()
    try leaf.pull(from: site)
    #expect(try leaf.value("SELECT text FROM note WHERE id = 'a'") == .string("newer"))
    #expect(try leaf.store.wantedRows().isEmpty)
  }

  @Test func `a refused edit is in the log once, however often its row is looked at`() throws {
    try allow(Rights(general: .read))
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'; DELETE FROM note WHERE id = 'b'")
    try leaf.foldAll()
    #expect(try logged().count == 2)
    try leaf.write("UPDATE note SET text = text")
    try leaf.write("INSERT INTO note VALUES ('b', 'z'); DELETE FROM note WHERE id = 'b'")
    try leaf.foldAll()
    try leaf.reopen()
    try leaf.foldAll()
    #expect(try logged().count == 2)
    // Another content is another edit, and so is the same one after another.
    for text in ["worse", "hack"] {
      try leaf.write("UPDATE note SET text = '\(text)' WHERE id = 'a'")
      try leaf.foldAll()
    }
    #expect(try logged().count == 4)
    // Once the row was put back, an edit like an earlier one is a new one.
    try askBack()
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(try logged().count == 5)
  }

  @Test func `a row that was changed back by itself waits for nothing`() throws {
    try allow(Rights(general: .read))
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    try leaf.write("UPDATE note SET text = 'x' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(try leaf.store.wantedRows().isEmpty)
    #expect(try logged().count == 1)
  }

  @Test func `what was written before the right was taken, and not sent, is refused with it`()
    throws
  {
    try leaf.write(
      "UPDATE note SET text = 'mine' WHERE id = 'a'; INSERT INTO note VALUES ('c', 'c')")
    try leaf.foldAll()
    let sent = leaf.store.position.frontier[leaf.origin]
    try site.pull(from: leaf)
    try leaf.write(
      "UPDATE note SET text = 'unsent' WHERE id = 'a'; INSERT INTO note VALUES ('d', 'd')")
    try allow(Rights(general: .read), delivered: sent)
    #expect(try logged() == ["not-allowed", "not-allowed"])
    try askBack()
    #expect(try leaf.content("note") == site.content("note"))
    #expect(try leaf.value("SELECT text FROM note WHERE id = 'a'") == .string("mine"))
  }

  @Test func `a table that may not even be read any more stays as it is`() throws {
    try leaf.write(
      "UPDATE note SET text = 'unsent' WHERE id = 'a'; INSERT INTO note VALUES ('d', 'd')")
    let content = try leaf.content("note")
    try allow(Rights(tables: ["note": .none]), delivered: 0)
    try leaf.write("INSERT INTO note VALUES ('e', 'e')")
    try leaf.foldAll()
    #expect(try leaf.value("SELECT count(*) FROM note WHERE id IN ('d', 'e')") == .integer(2))
    #expect(try leaf.content("note").count == content.count + 1)
    #expect(try logged().isEmpty)
  }

  @Test func `a table that may not be read is not sent, and one that may is`() throws {
    let rights = Rights(tables: ["bill": .none])
    try allow(rights)
    try site.write("INSERT INTO bill VALUES ('2', 6); INSERT INTO note VALUES ('e', 'e')")
    try site.foldAll()
    let (covers, batches) = try site.export(
      .above(leaf.store.position.frontier), filter: ExportFilter(reader: rights))
    try leaf.merge(batches, .full(covers: covers), from: site)
    #expect(leaf.store.position.frontier.covers(site.store.position.frontier))
    #expect(try leaf.content("note") == site.content("note"))
    #expect(try leaf.value("SELECT count(*) FROM bill WHERE id = '2'") == .integer(0))
    // What it does there itself is its own affair.
    try leaf.write("INSERT INTO bill VALUES ('own', 1); UPDATE bill SET sum = 0 WHERE id = '1'")
    try leaf.foldAll()
    #expect(try logged().isEmpty)
    #expect(leaf.store.position.frontier[leaf.origin] == 0)
    // With the right comes what was kept back, though the frontier counts it; and what was done
    // without it is put back, even if writing is allowed now.
    for right in [Right.read, .write] {
      let other = try TestReplica(3, schema: Self.schema)
      try other.pull(from: site)
      try other.store.allow(rights, delivered: 0, at: other.now)
      try other.write("INSERT INTO bill VALUES ('own', 1); UPDATE bill SET sum = 0 WHERE id = '1'")
      try other.foldAll()
      try other.store.allow(Rights(tables: ["bill": right]), delivered: 0, at: other.now)
      #expect(other.store.position.frontier[site.origin] == 0)
      try other.foldAll()
      try other.pull(from: site)
      let (_, batches) = try site.export(.rows(try other.store.wantedRows()))
      try other.merge(batches, .repair, from: site)
      #expect(try other.content("bill") == site.content("bill"))
      #expect(try other.store.wantedRows().isEmpty)
      let log = try other.application.rows("SELECT reason FROM _flotilla_conflict")
      #expect(log.map { $0[0].string } == ["not-allowed", "not-allowed"])
      // From now on the new right holds.
      try other.write("UPDATE bill SET sum = 9 WHERE id = '1'")
      try other.foldAll()
      #expect(other.store.position.frontier[other.origin] == (right == .write ? 1 : 0))
    }
  }

  @Test func `an edit that was not sent when its table was hidden is kept in the log afterwards`()
    throws
  {
    try leaf.write("UPDATE bill SET sum = 7 WHERE id = '1'; INSERT INTO bill VALUES ('new', 1)")
    try leaf.foldAll()
    try allow(Rights(tables: ["bill": .none]), delivered: 0)
    #expect(try leaf.value("SELECT sum FROM bill WHERE id = '1'") == .integer(7))
    try allow(.all, delivered: 0)
    try leaf.foldAll()
    try leaf.pull(from: site)
    try askBack()
    #expect(try leaf.content("bill") == site.content("bill"))
    #expect(try logged() == ["not-allowed", "not-allowed"])
  }

  @Test func `a claim of edits that this replica never made is refused`() throws {
    let kind = Begin.Kind.full(covers: Frontier([leaf.origin: 1 << 62]))
    let error = #expect(throws: StoreError.self) { try leaf.merge([], kind, from: site) }
    #expect(error?.code == .wire)
    try leaf.write("INSERT INTO note VALUES ('n', 'n')")
    try leaf.foldAll()
    #expect(leaf.store.position.frontier[leaf.origin] == 1)
  }

  @Test func `a leaf sends what it wrote itself, where it may write, and covers no more`() throws {
    try allow(Rights(tables: ["bill": .read]))
    try leaf.write("INSERT INTO note VALUES ('l', 'l')")
    try leaf.foldAll()
    let filter = ExportFilter(sender: leaf.store.rights)
    let (covers, batches) = try leaf.export(.above(Frontier()), filter: filter)
    #expect(covers == Frontier([leaf.origin: 1]))
    #expect(batches.reduce(0) { $0 + $1.rows } == 1)
    try site.merge(batches, .full(covers: covers), from: leaf)
    #expect(try site.content("note") == leaf.content("note"))
  }

  @Test func `rows that the sender may not send are refused whole`() throws {
    try leaf.write("INSERT INTO note VALUES ('n', 'n'); UPDATE bill SET sum = 0 WHERE id = '1'")
    try leaf.foldAll()
    let (covers, batches) = try leaf.export(.above(site.store.position.frontier))
    let before = site.store.position
    for licence in [
      LeafLicence(origin: leaf.origin, rights: Rights(tables: ["bill": .read])),
      LeafLicence(origin: Origin(rawValue: 99), rights: .all),
    ] {
      var merge = Merge(
        sender: leaf.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
        rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: true)
      merge.licence = licence
      let error = #expect(throws: StoreError.self) { try site.store.merge(merge, at: site.now) }
      #expect(error?.code == .wire)
      #expect(error?.message.contains("may not come from there") == true)
    }
    #expect(site.store.position.frontier == before.frontier)
    #expect(site.store.position.digest == before.digest)
  }
}
