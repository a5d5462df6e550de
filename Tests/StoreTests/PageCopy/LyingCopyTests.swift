import Replication
import SQLite
import Testing

@testable import Store

/// Copies by pages of an inviter that lies: sound pages, whose sums agree with what is in them.
@Suite struct LyingCopyTests {
  /// A site whose edits are signed, in which nobody was appointed; its pages, and an empty joiner.
  private func site() throws -> PageCopySite {
    var site = try PageCopySite()
    site.a.store.lives.sign { _ in Array(repeating: 1, count: Reach.signatureLength) }
    try site.fill(60)
    (site.exempt, site.appointees) = ([], Appointees([]))
    try site.make()
    try site.join()
    return site
  }

  private func expectRows(_ sql: String, writable: Bool = false) throws {
    let site = try site()
    let copy = try Connection(path: site.pages)
    if writable { try copy.execute("PRAGMA writable_schema = ON") }
    try copy.execute(sql)
    try site.recount()
    let error = #expect(throws: StoreError.self, "\(sql)") { try site.adopt() }
    #expect(error?.code == .rowsOnly, "\(sql): \(String(describing: error))")
    #expect(try site.rows("SELECT count(*) FROM _flotilla_version") == ["0"], "\(sql)")
  }

  /// A trigger of such a name would run in the programs of the joiner.
  @Test func `nothing comes under a name of SQLite's own`() throws {
    func insert(_ type: String, _ name: String, _ table: String, _ sql: String) -> String {
      "INSERT INTO sqlite_schema VALUES('\(type)', '\(name)', '\(table)', 0, '\(sql)')"
    }
    let body = "AFTER UPDATE ON item BEGIN DELETE FROM item; END"
    for sql in [
      insert("trigger", "sqlite_t", "item", "CREATE TRIGGER sqlite_t \(body)"),
      insert("trigger", "SQLITE_T", "item", "CREATE TRIGGER SQLITE_T \(body)"),
      insert("view", "sqlite_v", "sqlite_v", "CREATE VIEW sqlite_v AS SELECT 1"),
      """
      CREATE UNIQUE INDEX more ON item(note);
      UPDATE sqlite_schema SET name = 'sqlite_i', sql = 'CREATE UNIQUE INDEX sqlite_i ON item(note)'
      WHERE name = 'more'
      """,
      "ANALYZE",
    ] {
      try expectRows(sql, writable: true)
    }
  }

  private static let item = "(SELECT id FROM _flotilla_local WHERE name = 'item')"
  private static let one = """
    (tbl, key) = (
      SELECT tbl, key FROM _flotilla_version WHERE hash NOT NULL AND tbl = \(item) LIMIT 1)
    """
  private static let dead = """
    (tbl, key) = (SELECT tbl, key FROM _flotilla_version WHERE hash IS NULL LIMIT 1)
    """

  /// What nobody has signed or was appointed to say, and what no peer could read: the joiner would
  /// tell it on, and no exchange of its would ever end.
  @Test(arguments: [
    "seq = 100000 WHERE \(one)", "seq = 100000 WHERE \(dead)", "extra = x'010700' WHERE \(one)",
    "extra = x'208080808080808008' WHERE \(one)", "extra = x'010800' WHERE \(one)",
    "extra = x'10', at = 5 WHERE \(one)", "at = 5 WHERE \(one)", "author = 9 WHERE \(one)",
    "extra = x'0307000100', at = 6 WHERE \(one)", "extra = x'08010100' WHERE \(one)",
    "extra = x'80010100' WHERE \(one)", "hash = 0 WHERE \(one)",
    "key = CAST(key || key AS BLOB) WHERE \(dead)",
  ])
  func `a version that no peer could send is none`(change: String) throws {
    try expectRows(
      """
      INSERT INTO _flotilla_term VALUES (7, 9, 9), (8, -1, 9);
      UPDATE _flotilla_version SET \(change)
      """)
  }

  @Test(arguments: [
    "INSERT INTO _flotilla_ruling VALUES(1, 1, 1, 1, 5, NULL, 1, '', \(item), x'00')",
    "INSERT INTO _flotilla_ruling VALUES(1, -1, 1, -1, 5, NULL, 128, '', 4, x'FF')",
    """
    INSERT INTO _flotilla_pending(tbl, key, origin, seq, stamp)
    SELECT tbl, key, origin, 100000, stamp FROM _flotilla_version WHERE \(one)
    """,
    """
    INSERT INTO _flotilla_pending(tbl, key, origin, seq, stamp, row)
    SELECT tbl, key, origin, seq, stamp, x'FFFF' FROM _flotilla_version WHERE \(one)
    """,
    """
    INSERT INTO _flotilla_shelf SELECT tbl, key, 'constraint', x'C8010000', NULL
    FROM _flotilla_version WHERE hash NOT NULL AND tbl = (
      SELECT id FROM _flotilla_local WHERE name = 'seen') ORDER BY key LIMIT 1;
    DELETE FROM seen WHERE id = (SELECT min(id) FROM seen)
    """,
    "UPDATE _flotilla_local SET comparing = x'00' WHERE name = 'item'",
  ])
  func `what is said beside rows is what a peer could send`(sql: String) throws {
    try expectRows(sql)
  }

  // MARK: Single values

  private func adopted(_ stability: [UInt8]) throws -> (PageCopySite, Store) {
    let site = try site()
    try Connection(path: site.pages).run(
      "INSERT OR REPLACE INTO _flotilla_meta VALUES ('stability', ?)", [.blob(stability)])
    try site.adopt()
    return (site, try Store(path: site.joiner))
  }

  /// It would be removed as what others have deleted.
  @Test func `a copy says of no row that it is to be swept`() throws {
    var stability = Stability()
    let mark = Mark(number: 1, id: Identity(high: 1, low: 1))
    stability.beginRenewal(at: mark)
    stability.received(from: CutStanding(whole: mark, cleared: mark))
    let (site, b) = try adopted(stability.bytes)
    while try b.fold(at: site.a.now).hasMore {}
    #expect(b.stability == Stability())
    let count = "SELECT count(*) FROM item"
    #expect(try site.rows(count) == site.a.application.prepareRows(count))
  }

  /// What this node writes would be above them, and refused by all others.
  @Test func `floors in a copy are no higher than a peer may say`() throws {
    var stability = Stability()
    let floor = Floor(term: .none, epoch: 1 << 61, stamp: .highest)
    stability.floors = Floors(Dictionary(uniqueKeysWithValues: (0..<256).map { ($0, floor) }))
    let (site, b) = try adopted(stability.bytes)
    #expect(b.stability.floors == Floors())
    try Connection(path: site.joiner).execute("INSERT INTO item(id) VALUES (x'0102')")
    while try b.fold(at: site.a.now).hasMore {}
    let epoch = try site.rows("SELECT count(*) FROM _flotilla_version WHERE extra NOT NULL")
    #expect(epoch == ["0"])
  }

  @Test func `marks beyond the cut, and verdicts of a term of nobody, are in no copy`() throws {
    let hex = { (bytes: [UInt8]) in
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    let mark = Mark(number: 1 << 31, id: Identity(high: 1, low: 1))
    var stability = Stability()
    stability.beginRenewal(at: mark)
    stability.endRenewal()
    let judged = Judged(
      term: Term(number: 9, incarnation: 1), frontier: Frontier([Origin(rawValue: 5): 1 << 60]))
    for (name, bytes) in [("stability", stability.bytes), ("judged", judged.bytes)] {
      try expectRows("INSERT OR REPLACE INTO _flotilla_meta VALUES('\(name)', x'\(hex(bytes))')")
    }
  }

  @Test func `numbers in the head, and those of AUTOINCREMENT, are not those of the copy`() throws {
    let site = try PageCopySite()
    try site.fill(10)
    try site.a.write("PRAGMA user_version = 5; PRAGMA application_id = 6")
    try site.make()
    try site.join()
    try Connection(path: site.pages).execute(
      """
      PRAGMA user_version = 77;
      INSERT INTO sqlite_sequence VALUES ('seen', 9223372036854775807)
      """)
    let before = try site.rows("PRAGMA user_version")
    try site.adopt()
    #expect(try site.rows("PRAGMA user_version") == before)
    try Connection(path: site.joiner).execute("INSERT INTO seen(at) VALUES (1)")
  }
}
