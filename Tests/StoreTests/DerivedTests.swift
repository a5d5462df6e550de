import SQLite
import Testing

@testable import Store

@Suite struct DerivedTests {
  static let schema = """
    CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
    CREATE VIRTUAL TABLE search USING fts5(body, content='note', content_rowid='id');
    CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
      INSERT INTO search(rowid, body) VALUES (new.id, new.body);
    END;
    CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
      INSERT INTO search(search, rowid, body) VALUES ('delete', old.id, old.body);
    END;
    CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
      INSERT INTO search(search, rowid, body) VALUES ('delete', old.id, old.body);
      INSERT INTO search(rowid, body) VALUES (new.id, new.body);
    END;
    """

  @Test func `a full-text index is right on every replica`() throws {
    let first = try TestReplica(1, schema: Self.schema, tracking: ["note"])
    let second = try TestReplica(2, schema: Self.schema)
    try second.exchange(with: first)
    try first.write("INSERT INTO note VALUES (1, 'harbour'), (2, 'otter'), (3, 'violet')")
    try second.exchange(with: first)
    try first.write("UPDATE note SET body = 'seven' WHERE id = 1; DELETE FROM note WHERE id = 2")
    try second.exchange(with: first)
    let found = try second.application.prepareRows(
      "SELECT group_concat(rowid) FROM search WHERE search MATCH 'seven OR violet OR otter'")
    #expect(found == ["1,3"])
    try second.write("INSERT INTO search(search) VALUES ('integrity-check')")
    #expect(second.store.derived.trouble == nil)
  }

  /// What it does to replicated tables comes as rows; to do it again would make other ones.
  @Test func `a trigger that writes an index and a replicated table fills the index`() throws {
    let schema = """
      CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, edits INTEGER DEFAULT 0);
      CREATE TABLE past(id TEXT PRIMARY KEY NOT NULL, body TEXT);
      CREATE VIRTUAL TABLE search USING fts5(body, content='note', content_rowid='id');
      CREATE TRIGGER made AFTER INSERT ON note BEGIN
        SELECT RAISE(ABORT, 'empty') WHERE new.body = '';
        INSERT INTO search(rowid, body) VALUES (new.id, new.body);
        INSERT INTO past VALUES (lower(hex(randomblob(8))), new.body);
      END;
      CREATE TRIGGER edited AFTER UPDATE OF body ON note BEGIN
        UPDATE note SET edits = edits + 1 WHERE id = new.id;
        INSERT INTO search(search, rowid, body) VALUES ('delete', old.id, old.body);
        INSERT INTO past VALUES (lower(hex(randomblob(8))), new.body);
        INSERT INTO search(rowid, body) VALUES (new.id, new.body)
      ; END;
      """
    let first = try TestReplica(1, schema: schema, tracking: ["note", "past"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    try first.write("INSERT INTO note VALUES (1, 'harbour', 0), (2, 'otter', 0)")
    try second.exchange(with: first)
    try second.application.execute("UPDATE note SET body = 'seven' WHERE id = 1")
    try second.exchange(with: first)
    for replica in [first, second] {
      #expect(
        try replica.application.prepareRows(
          "SELECT group_concat(rowid) FROM search WHERE search MATCH 'seven OR otter OR harbour'")
          == ["1,2"])
      #expect(
        try replica.application.prepareRows(
          "SELECT edits FROM note UNION ALL SELECT count(*) FROM past") == ["1", "0", "3"])
      try replica.write("INSERT INTO search(search) VALUES ('integrity-check')")
      #expect(replica.store.derived.trouble == nil)
    }
  }

  @Test func `a trigger that looks at versions finds those of all rows before`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE cache(id, rows)"
    let first = try TestReplica(1, schema: schema, tracking: ["t"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    try second.write(
      """
      CREATE TRIGGER keep AFTER INSERT ON t BEGIN
        INSERT INTO cache SELECT new.id, count(*) FROM _flotilla_rows_t;
      END;
      """)
    for number in 1...40 { try first.write("INSERT INTO t VALUES (\(number), 'n')") }
    try second.exchange(with: first)
    #expect(second.store.derived.trouble == nil)
    #expect(try second.value("SELECT count(*) FROM cache WHERE rows = id") == .integer(40))
  }

  /// Programs may write text in double quotes; the connection that applies may not.
  @Test func `a trigger with text in double quotes is run`() throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE cache("n", k);
      CREATE TRIGGER fill AFTER INSERT ON t WHEN new."n" <> "skip" BEGIN
        INSERT INTO cache VALUES (new.n || "-", "it's"); END;
      CREATE TRIGGER clear AFTER DELETE ON t BEGIN DELETE FROM cache WHERE "n" = old.n || "-"; END;
      """
    let first = try TestReplica(1, schema: schema, tracking: ["t"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    try first.write("INSERT INTO t VALUES (1, 'a'), (2, 'skip'), (3, 'c')")
    try second.exchange(with: first)
    try first.write("DELETE FROM t WHERE id = 3")
    try second.exchange(with: first)
    #expect(try second.application.prepareRows("SELECT n || k FROM cache") == ["a-it's"])
    #expect(second.store.derived.trouble == nil)
  }

  /// Two replicas whose table `t` has a cache. The one of the second holds what a row of the first
  /// would put there.
  static func caching(_ column: String) throws -> (first: TestReplica, second: TestReplica) {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n); CREATE TABLE cache(\(column));
      CREATE TRIGGER fill AFTER INSERT ON t BEGIN INSERT INTO cache VALUES (new.n); END;
      """
    let first = try TestReplica(1, schema: schema, tracking: ["t"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    try second.write("INSERT INTO cache VALUES (7)")
    try first.write("INSERT INTO t VALUES (1, 6), (2, 7), (3, 8)")
    return (first, second)
  }

  @Test func `an error inside a derived trigger never stops a merge`() throws {
    let (first, second) = try Self.caching("n UNIQUE")
    try second.pull(from: first)
    #expect(try second.content("t") == first.content("t"))
    #expect(second.store.derived.trouble?.contains("cache.n") == true)
    #expect(try second.store.survey.figures().parked == 0)
  }

  @Test func `what a trigger failed with is known until it is made anew`() throws {
    let (first, second) = try Self.caching("n UNIQUE")
    try second.pull(from: first)
    // Another connection finds it in the file.
    #expect(
      try Store(path: second.path, inspects: false).keptDerivedTrouble()?.contains("cache.n")
        == true)
    try second.reopen()
    #expect(second.store.derivedTrouble?.contains("cache.n") == true)
    // What else changes makes nothing whole.
    try second.write("CREATE TABLE more(id INTEGER PRIMARY KEY)")
    try first.write("INSERT INTO t VALUES (4, 9)")
    try second.pull(from: first)
    #expect(second.store.derivedTrouble?.contains("cache.n") == true)
    try second.write(
      """
      DROP TRIGGER fill; DELETE FROM cache; INSERT INTO cache SELECT n FROM t;
      CREATE TRIGGER refill AFTER INSERT ON t BEGIN INSERT INTO cache VALUES (new.n); END
      """)
    try first.write("INSERT INTO t VALUES (5, 10)")
    try second.pull(from: first)
    #expect(second.store.derivedTrouble == nil)
    #expect(try Store(path: second.path, inspects: false).keptDerivedTrouble() == nil)
  }

  /// One row whose values fit no index of words is no reason to leave out all others.
  @Test(arguments: [1, 40])
  func `a row with which a trigger fails leaves the others in its index`(bad: Int) throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n); CREATE TABLE names(id, name);
      CREATE TRIGGER name AFTER INSERT ON t BEGIN
        INSERT INTO names VALUES (new.id, json_extract(new.n, '$.name')); END;
      CREATE TRIGGER gone AFTER DELETE ON t BEGIN DELETE FROM names WHERE id = old.id; END;
      """
    let first = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, n)", tracking: ["t"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    for number in 0..<bad { try first.write("INSERT INTO t VALUES (\(100 + number), 'no')") }
    try first.write("INSERT INTO t VALUES (1, '{}'), (900, '{\"name\": \"nine\"}')")
    try second.pull(from: first)
    #expect(try second.content("t") == first.content("t"))
    #expect(second.store.derived.trouble?.contains("malformed JSON") == true)
    let indexed = try second.prepareRows("SELECT id FROM names ORDER BY id")
    #expect(indexed == (bad == 1 ? ["1", "900"] : ["1"]))
    try first.write("INSERT INTO t VALUES (7, '{\"name\": \"seven\"}'); DELETE FROM t WHERE id = 1")
    try second.pull(from: first)
    #expect(try second.prepareRows("SELECT name FROM names WHERE id = 7") == ["seven"])
    #expect(try second.prepareRows("SELECT id FROM names WHERE id = 1").isEmpty)
    // What was tried, failed and was rolled back leaves no trigger in the way of the next look.
    try first.write("INSERT INTO t VALUES (200, 'no')")
    try second.write("CREATE TABLE more(id INTEGER PRIMARY KEY)")
    try second.pull(from: first)
    #expect(try second.content("t") == first.content("t"))
  }

  @Test(arguments: [
    ("CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1); END", true),
    (
      "CREATE TRIGGER x BEFORE INSERT ON t BEGIN INSERT INTO log SELECT RAISE(IGNORE); END", false
    ),
    (
      "CREATE TRIGGER IF NOT EXISTS main.\"x y\" AFTER UPDATE OF a ON t WHEN CASE WHEN 1 THEN 1 END"
        + " BEGIN UPDATE OR REPLACE log SET a = 1; DELETE FROM [log]; REPLACE INTO log VALUES (2);"
        + " END",
      true
    ),
    (
      "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1); DELETE FROM T; END",
      true
    ),
    ("CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM T; SELECT 1; END", false),
    (
      """
      CREATE TRIGGER x AFTER INSERT ON t BEGIN
        INSERT INTO log VALUES (1); DELETE FROM _flotilla_meta; END
      """, false
    ),
    ("CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT RAISE(ABORT, 'no'); END", false),
    (
      "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO _flotilla_meta VALUES (1, 2); END",
      false
    ),
  ])
  func `derived is what a trigger writes into untracked tables`(
    sql: String, expected: Bool
  ) {
    #expect((DerivedTrigger(sql: sql) { isSameName($0, "t") } != nil) == expected)
  }

  @Test(arguments: [
    ("UPDATE stock SET n = n - NEW.n WHERE item = NEW.item", "n"),
    ("UPDATE OR IGNORE \"stock\" AS s SET at = NEW.at, [n] = coalesce(s.n, 0) + 1", "n"),
    ("UPDATE stock SET lines = (SELECT count(*) FROM sale WHERE item = stock.item)", "lines"),
    ("UPDATE stock SET n = (SELECT SUM(n) FROM sale WHERE n > 0) WHERE item = 1", "n"),
    (
      "INSERT INTO stock VALUES (NEW.item, 1) ON CONFLICT(item) DO UPDATE SET n = n + excluded.n",
      "n"
    ),
    // What the row says, and what is looked up elsewhere.
    ("UPDATE stock SET n = NEW.n, at = datetime('now') WHERE n = NEW.n", nil),
    ("UPDATE stock SET name = (SELECT name FROM item WHERE id = NEW.item)", nil),
    ("UPDATE stock SET n = i.m FROM item AS i WHERE stock.n = i.n", nil),
    ("INSERT INTO stock(item, n) VALUES (NEW.item, 1)", nil),
    ("INSERT INTO stock VALUES (1, 2) ON CONFLICT DO UPDATE SET n = excluded.n", nil),
    ("UPDATE sale SET n = n + 1 WHERE id = NEW.id", nil),
    ("DELETE FROM stock WHERE item = NEW.item", nil),
    ("SELECT RAISE(ABORT, 'SET n = n + 1')", nil),
  ])
  func `a total is what a trigger computes from what was there`(
    statement: String, column: String?
  ) {
    let sql = "CREATE TRIGGER sold AFTER INSERT ON sale BEGIN SELECT 1; \(statement); END"
    let found = TotalTrigger.all(name: "sold", on: "sale", sql: sql)
    #expect(found.map(\.column) == (column.map { [$0] } ?? []))
    #expect(found.allSatisfy { $0.target == "stock" && $0.source == "sale" })
  }
}
