import Foundation
import Glibc
import Replication
import SQLite
import Testing

@testable import Store

/// Pages that are not what they should be, and states that do not go as pages.
@Suite struct HostilePagesTests {
  private func expectRows(_ site: PageCopySite, _ what: String) {
    let error = #expect(throws: StoreError.self, "\(what)") { try site.adopt() }
    #expect(error?.code == .rowsOnly, "\(what): \(String(describing: error))")
    // The empty replica is as it was, and rows can come.
    #expect(throws: Never.self) { try Store(path: site.joiner) }
    #expect((try? site.rows("SELECT count(*) FROM _flotilla_version")) == ["0"], "\(what)")
  }

  @Test func `whatever was changed in the copy, it is not believed`() throws {
    let site = try PageCopySite()
    try site.fill(60)
    for change in [
      "UPDATE item SET note = 'forged' WHERE rowid = 5",
      "DELETE FROM item WHERE rowid = 5", "INSERT INTO item(id) VALUES(x'77')",
      "UPDATE item SET id = x'78' WHERE rowid = 7", "DELETE FROM line",
      "UPDATE _flotilla_version SET hash = hash + 1 WHERE hash NOT NULL",
      "DELETE FROM _flotilla_version WHERE hash NOT NULL",
      "UPDATE _flotilla_version SET origin = 99", "UPDATE _flotilla_version SET seq = 0",
      "UPDATE _flotilla_version SET seq = -1", "UPDATE _flotilla_version SET stamp = -1",
      "UPDATE _flotilla_version SET tbl = tbl + 100",
      "UPDATE _flotilla_version SET key = 'text' || hex(key)",
      "UPDATE _flotilla_version SET seq = seq + 1000", "DELETE FROM _flotilla_digest",
      "UPDATE _flotilla_version SET key = CAST(x'FF' || key AS BLOB)",
      "DELETE FROM _flotilla_table", "DELETE FROM _flotilla_local", "DELETE FROM _flotilla_origin",
      "INSERT INTO _flotilla_table VALUES('absent', 'newest-wins')",
      "CREATE TABLE more(x)", "CREATE TABLE _flotilla_putback(x)", "DROP TABLE line",
      "DROP INDEX item_name", "CREATE INDEX more ON item(qty)", "DROP TABLE _flotilla_shelf",
      "CREATE VIEW v AS SELECT 1", "ALTER TABLE item ADD COLUMN more",
      "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END",
      "INSERT INTO _flotilla_shelf VALUES(4, x'00', 'columns', x'00', NULL)",
      """
      INSERT INTO _flotilla_shelf SELECT tbl, key, 'columns', x'0000', NULL FROM _flotilla_version
      WHERE hash NOT NULL LIMIT 1;
      UPDATE item SET note = 'forged' WHERE rowid = 5
      """,
      "INSERT INTO _flotilla_origin(origin, seq) VALUES(\(2 << 60 | 2), 9)",
      "PRAGMA page_size = 8192; VACUUM", "PRAGMA auto_vacuum = 1; VACUUM",
    ] {
      try site.make()
      try site.join()
      try Connection(path: site.pages).execute(change)
      expectRows(site, change)
    }
  }

  @Test func `an index that does not fit its table is noticed`() throws {
    let site = try PageCopySite()
    try site.fill(60)
    for index in ["item_name", "sqlite_autoindex_tag_2"] {
      try site.make()
      try site.join()
      let copy = try Connection(path: site.pages)
      try copy.execute("PRAGMA writable_schema = ON")
      let others = try copy.prepareRows(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_item_1'")
      // One page of another index: it is sound, and holds something else.
      try copy.execute(
        "UPDATE sqlite_schema SET rootpage = \(others[0]) WHERE name = '\(index)'")
      expectRows(site, index)
    }
  }

  /// Sound pages, in which SQLite finds nothing by a key.
  @Test(arguments: [
    ("sqlite_autoindex_tag_1", "CREATE INDEX other ON tag(t COLLATE NOCASE DESC)"),
    ("sqlite_autoindex_tag_1", "CREATE INDEX other ON tag(t COLLATE BINARY)"),
    ("sqlite_autoindex_tag_2", "CREATE INDEX other ON tag(n DESC)"),
    ("item_name", "CREATE INDEX other ON item(name COLLATE NOCASE, qty)"),
    ("sqlite_autoindex_item_1", "CREATE INDEX other ON item(id DESC)"),
    (
      "line",
      """
      CREATE TABLE other(item BLOB REFERENCES item, n INTEGER, t TEXT COLLATE NOCASE,
        PRIMARY KEY(item DESC, n)) WITHOUT ROWID;
      INSERT INTO other SELECT * FROM line
      """
    ),
  ])
  func `an index in another order is noticed`(index: String, other: String) throws {
    let site = try PageCopySite()
    try site.fill(60)
    try site.a.write("UPDATE tag SET t = lower(t) WHERE n % 2 = 1; UPDATE item SET name = 'one'")
    try site.a.foldAll()
    try site.make()
    try site.join()
    do {
      let copy = try Connection(path: site.pages)
      try copy.execute(other)
      let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
      let from = try #require(try copy.scalar(root, [.string("other")]).integer)
      let to = try #require(try copy.scalar(root, [.string(index)]).integer)
      try site.change { $0.write($0.page(Int(from)), at: Int(to)) }
    }
    let copy = try Connection(path: site.pages)
    try copy.execute("DROP \(other.hasPrefix("CREATE INDEX") ? "INDEX" : "TABLE") other")
    #expect(try copy.prepareRows("PRAGMA quick_check") == ["ok"])
    expectRows(site, index)
  }

  /// A page whose children are one page, whose children are one page … has trillions of rows.
  @Test(arguments: ["_flotilla_origin", "_flotilla_local", "_flotilla_digest", "item"])
  func `a small file of more rows than anybody can read is refused soon`(table: String) throws {
    let site = try PageCopySite()
    try site.fill(5)
    try site.make()
    try site.join()
    let root = try Connection(path: site.pages).scalar(
      "SELECT rootpage FROM sqlite_schema WHERE name = ?", [.string(table)])
    let page = Int(try #require(root.integer))
    try site.change { file in
      let top = file.tower(on: page)
      file.write(file.page(top), at: page)
    }
    let start = ContinuousClock.now
    expectRows(site, table)
    #expect(start.duration(to: .now) < .seconds(60))
  }

  @Test func `a small file of more objects than anybody can read is refused soon`() throws {
    let site = try PageCopySite()
    try site.fill(5)
    try site.make()
    try site.join()
    let copy = try Connection(path: site.pages)
    // One row of the schema as SQLite keeps it, which it takes as often as it comes.
    try copy.execute(
      """
      CREATE TABLE other(type, name, tbl_name, rootpage, sql);
      INSERT INTO other SELECT * FROM sqlite_schema
      WHERE sql IS NULL ORDER BY rowid LIMIT 1
      """)
    let root = try copy.scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'other'").integer
    try site.change { file in
      #expect(file[100] == 5)
      let top = file.tower(on: Int(root ?? 0))
      file.replaceSubrange(108..<112, with: Data.number(top))
    }
    let start = ContinuousClock.now
    expectRows(site, "schema")
    #expect(start.duration(to: .now) < .seconds(60))
  }

  @Test func `an index of Flotilla's own that does not fit is noticed`() throws {
    let site = try PageCopySite()
    try site.fill(60)
    try site.make()
    try site.join()
    let root = try Connection(path: site.pages).scalar(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex__flotilla_local_1'")
    let page = Int(try #require(root.integer)) - 1
    try site.replace(Data("item".utf8), with: Data("atom".utf8), from: page * 4_096)
    expectRows(site, "index")
  }

  @Test func `deleted rows in the wrong order are noticed`() throws {
    let site = try PageCopySite()
    try site.fill(60)
    try site.make()
    try site.join()
    let key = try Connection(path: site.pages).scalar(
      "SELECT key FROM _flotilla_version WHERE hash IS NULL ORDER BY key LIMIT 1")
    guard case .blob(let bytes) = key else { throw NoSuchBytes() }
    try site.replace(Data(bytes), with: Data([bytes[0], 0xFF, 0xFF]), from: 0)
    expectRows(site, "order")
  }

  @Test func `a file with wrong bytes anywhere is refused, or means the same`() throws {
    let site = try PageCopySite()
    try site.fill(80)
    try site.make()
    let whole = try Data(contentsOf: URL(fileURLWithPath: site.pages))
    var random = SystemRandomNumberGenerator()
    var refused = 0
    for round in 0..<60 {
      try site.join()
      var bytes = whole
      switch round % 4 {
      case 0: bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))
      case 1: bytes.replaceSubrange(0..<100, with: Data(repeating: 7, count: 100))
      default:
        for _ in 0..<(round % 4 == 2 ? 1 : 50) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255)
        }
      }
      try bytes.write(to: URL(fileURLWithPath: site.pages))
      do {
        try site.adopt()
      } catch {
        refused += 1
        continue
      }
      // Bytes that no row uses may be wrong.
      let store = try Store(path: site.joiner)
      #expect(store.position.digest == site.a.store.position.digest)
      #expect(try site.rows("PRAGMA integrity_check") == ["ok"])
    }
    #expect(refused >= 30)
  }

  @Test func `what a file has before it makes it rows`() throws {
    let site = try PageCopySite()
    try site.fill(30)
    for (begin, end) in [
      (
        "INSERT INTO _flotilla_putback VALUES(4, x'00')", "DELETE FROM _flotilla_putback"
      ),
      ("INSERT INTO _flotilla_fresh VALUES(4, x'00', 1, 1)", "DELETE FROM _flotilla_fresh"),
      ("INSERT INTO _flotilla_unnoted VALUES(4, x'00', 5, x'00')", "DELETE FROM _flotilla_unnoted"),
      ("INSERT INTO _flotilla_dismissed VALUES(4, x'00')", "DELETE FROM _flotilla_dismissed"),
      (
        """
        INSERT INTO _flotilla_lost(name, key, why, origin, seq, stamp)
        VALUES('x', x'', 0, 1, 1, 1)
        """,
        "DELETE FROM _flotilla_lost"
      ),
      (
        "INSERT INTO _flotilla_pending(tbl, key, origin, seq, stamp) VALUES(999, x'00', 1, 1, 1)",
        "DELETE FROM _flotilla_pending"
      ),
      (
        "INSERT INTO _flotilla_meta VALUES('joining', '\(Identity(high: 1, low: 1)) 1 h:1 n')",
        "DELETE FROM _flotilla_meta WHERE name = 'joining'"
      ),
    ] {
      try site.a.write(begin)
      let error = #expect(throws: StoreError.self, "\(begin)") { try site.make() }
      #expect(error?.code == .rowsOnly, "\(begin)")
      try site.a.write(end)
      try site.make()
    }
  }

  @Test func `rows without a key, and derived tables, make it rows`() throws {
    for (schema, write) in [
      ("CREATE TABLE item(id TEXT PRIMARY KEY, v)", "INSERT INTO item VALUES(NULL, 1)"),
      (
        "CREATE TABLE item(id TEXT PRIMARY KEY, v); CREATE VIRTUAL TABLE f USING fts5(v)",
        "INSERT INTO item VALUES('a', 1)"
      ),
      (
        """
        CREATE TABLE item(id TEXT PRIMARY KEY, v); CREATE TABLE log(v);
        CREATE TRIGGER t AFTER INSERT ON item BEGIN INSERT INTO log VALUES(NEW.v); END
        """, "INSERT INTO item VALUES('a', 1)"
      ),
    ] {
      let site = try PageCopySite(schema: schema, tracking: ["item"])
      try site.a.write(write)
      try site.a.foldAll()
      let error = #expect(throws: StoreError.self) { try site.make() }
      #expect(error?.code == .rowsOnly, "\(schema)")
    }
  }

  @Test func `a migration, or a row that a program wrote, makes it rows`() throws {
    let site = try PageCopySite()
    try site.fill(30)
    try site.join()
    try site.a.write("ALTER TABLE item ADD COLUMN extra TEXT")
    try site.make()
    expectRows(site, "a migration")
    let other = try PageCopySite()
    try other.fill(30)
    try other.make()
    try other.join()
    try Connection(path: other.joiner).execute("INSERT INTO item(id) VALUES(x'01')")
    expectRows(other, "a row")
    try other.join()
    let program = try Connection(path: other.joiner)
    _ = try program.rows("SELECT count(*) FROM item")
    expectRows(other, "an open file")
    _ = program
  }

  @Test func `what a program wrote into a table of its own stays`() throws {
    let site = try PageCopySite()
    try site.fill(30)
    try site.make()
    try site.join()
    try Connection(path: site.joiner).execute("INSERT INTO secret VALUES(9, 'of b')")
    try site.adopt()
    #expect(try site.rows("SELECT id || word FROM secret") == ["9of b"])
  }

  @Test func `who held the empty file open finds no database`() throws {
    let site = try PageCopySite()
    try site.fill(30)
    try site.make()
    try site.join()
    // Opened and not read: SQLite keeps no lock that could tell.
    let descriptor = open(site.joiner, O_RDONLY)
    try site.adopt()
    var head = [UInt8](repeating: 0, count: 16)
    #expect(pread(descriptor, &head, 16, 0) == 16)
    #expect(head != Array("SQLite format 3\0".utf8))
    close(descriptor)
  }

  @Test func `what waits beside its table, and what is kept beside a row, comes along`() throws {
    let schema = "CREATE TABLE item(id TEXT PRIMARY KEY, v UNIQUE, w DEFAULT 0)"
    let site = try PageCopySite(schema: schema, tracking: ["item"])
    let c = try TestReplica(
      3, schema: "CREATE TABLE item(id TEXT PRIMARY KEY, v UNIQUE, w DEFAULT 0, x)",
      tracking: ["item"])
    try site.a.write("INSERT INTO item VALUES('a', 1, 1), ('b', 2, 2)")
    try c.write("INSERT INTO item VALUES('c', 1, 1, 'kept'), ('d', 4, 4, 'kept too')")
    try site.a.foldAll()
    try c.foldAll()
    try site.a.exchange(with: c)
    #expect(try site.a.application.prepareRows("SELECT count(*) FROM _flotilla_shelf") != ["0"])
    let b = try site.copied()
    #expect(b.position.digest == site.a.store.position.digest)
    let all = "SELECT id || v FROM item ORDER BY 1"
    #expect(try site.rows(all) == site.a.application.prepareRows(all))
    // The column comes here as well, and what was kept for it.
    try Connection(path: site.joiner).execute("ALTER TABLE item ADD COLUMN x")
    while try b.fold(at: site.a.now).hasMore {}
    #expect(try site.rows("SELECT x FROM item WHERE id = 'd'") == ["kept too"])
  }
}

private struct NoSuchBytes: Error {}

extension Data {
  private static let pageSize = 4_096

  fileprivate static func number(_ number: Int) -> Data {
    Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
  }

  fileprivate func page(_ number: Int) -> Data {
    self[(number - 1) * Self.pageSize..<number * Self.pageSize]
  }

  fileprivate mutating func write(_ page: Data, at number: Int) {
    replaceSubrange((number - 1) * Self.pageSize..<number * Self.pageSize, with: Data(page))
  }

  /// Adds pages of which each has but one child, 600 times; gives the highest. The lowest
  /// stands on a copy of the page given, a leaf.
  fileprivate mutating func tower(on leaf: Int) -> Int {
    append(Data(page(leaf)))
    for _ in 0..<7 {
      let child = count / Self.pageSize
      let cells = 600
      // All its cells are one: the child, and a rowid.
      var page = Data([5, 0, 0, UInt8(cells >> 8), UInt8(cells & 0xFF), 0x0F, 0xFB, 0])
      page += Self.number(child)
      for _ in 0..<cells { page += Data([0x0F, 0xFB]) }
      page += Data(count: 0x0FFB - page.count)
      page += Self.number(child) + Data([1])
      append(page)
    }
    let pages = count / Self.pageSize
    replaceSubrange(28..<32, with: Self.number(pages))
    return pages
  }
}

extension PageCopySite {
  /// Changes the bytes of the pages.
  fileprivate func change(_ body: (inout Data) -> Void) throws {
    let file = URL(fileURLWithPath: pages)
    var bytes = try Data(contentsOf: file)
    body(&bytes)
    try bytes.write(to: file)
  }

  /// Writes over the beginning of what is found first.
  fileprivate func replace(_ bytes: Data, with others: Data, from start: Int) throws {
    let file = URL(fileURLWithPath: pages)
    var all = try Data(contentsOf: file)
    guard let place = all.range(of: bytes, in: start..<all.count) else { throw NoSuchBytes() }
    all.replaceSubrange(place.lowerBound..<place.lowerBound + others.count, with: others)
    try all.write(to: file)
  }
}
