import Replication
import SQLite
import Testing

@testable import Store

/// Schemas that somebody has made to do harm: told by a member, or written by a program here.
@Suite struct HostileSchemaTests {
  static let schema = """
    CREATE TABLE patient(id TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE note(id INTEGER PRIMARY KEY, text)
    """

  private func replica() throws -> TestReplica {
    try TestReplica(1, schema: Self.schema, tracking: ["patient", "note"])
  }

  /// Adopts what it can, and gives what was not taken.
  private func adopt(
    _ objects: [SchemaObject], at replica: TestReplica
  ) throws -> [SchemaAdoption.Difference] {
    let adoption = try replica.store.adopt(objects, of: "Eve", at: replica.now)
    #expect(adoption.steps == [])
    return adoption.differences
  }

  /// SQLite passes over a byte order mark before a token, wherever it stands.
  @Test(arguments: ["", "\u{FEFF}", "\u{FEFF}\u{FEFF}", "main.\u{FEFF}", "/**/\u{FEFF} "])
  func `no trigger names tables of Flotilla, however they are written`(mark: String) throws {
    let replica = try replica()
    let sql = """
      CREATE TRIGGER quiet AFTER INSERT ON note BEGIN
        DELETE FROM \(mark)_flotilla_version; END
      """
    let trigger = SchemaObject(kind: .trigger, name: "quiet", sql: sql)
    let objects = try replica.store.schemaCopy.objects() + [trigger]
    _ = try adopt(objects, at: replica)
    try replica.write("INSERT INTO note VALUES (1, 'x')")
    try replica.foldAll()
    try replica.write("INSERT INTO note VALUES (2, 'x')")
    #expect(try replica.value("SELECT count(*) > 0 FROM _flotilla_version") == .integer(1))
  }

  /// Text that SQLite would not have stored makes nothing beside the file.
  @Test(arguments: [
    "CREATE VIEW temp.patient AS SELECT 1 AS id, 2 AS name",
    "CREATE TRIGGER temp.x AFTER INSERT ON main.note BEGIN DELETE FROM patient; END",
    "CREATE VIEW \u{FEFF}temp.patient AS SELECT 1 AS id, 2 AS name",
    "CREATE TRIGGER\u{FEFF}temp.x AFTER INSERT ON main.note BEGIN DELETE FROM patient; END",
    "CREATE VIEW IF NOT EXISTS temp.patient AS SELECT 1 AS id, 2 AS name",
  ])
  func `a joiner makes nothing outside its file`(sql: String) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    let objects = [
      SchemaObject(kind: .table, name: "note", sql: "CREATE TABLE note(id INTEGER PRIMARY KEY)"),
      SchemaObject(kind: .view, name: "x", sql: sql),
    ]
    let remarks = try SchemaCopy.create(objects, on: connection)
    #expect(remarks.count == 1)
    #expect(try connection.rows("SELECT name FROM temp.sqlite_schema").isEmpty)
    #expect(try connection.rows("SELECT name FROM main.sqlite_schema").count == 1)
  }

  /// So many that a walk through all of them for each would not end.
  @Test(.timeLimit(.minutes(1)))
  func `very many objects are compared in one walk`() throws {
    let replica = try replica()
    let count = 4_000
    let tables = (0..<count).map { number in
      SchemaObject(
        kind: .table, name: "t\(number)_old",
        sql: "CREATE TABLE t\(number)_old(id PRIMARY KEY, CHECK(nowhere(id)))")
    }
    let views = (0..<count).map { number in
      SchemaObject(
        kind: .view, name: "v\(number)",
        sql: "CREATE VIEW v\(number) AS SELECT * FROM t\(number)_old")
    }
    let objects = try replica.store.schemaCopy.objects() + tables + views
    #expect(try adopt(objects, at: replica).count >= count)
  }

  /// Each view names the one before twice.
  static func views(_ count: Int) -> String {
    "CREATE VIEW w0 AS SELECT 1 AS a;"
      + (1...count).map { "CREATE VIEW w\($0) AS SELECT x.a FROM w\($0 - 1) x, w\($0 - 1) y" }
      .joined(separator: ";")
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["", "CREATE VIRTUAL TABLE f USING fts5(text)"])
  func `views that take for ever to compile are compiled by nobody here`(virtual: String) throws {
    let replica = try replica()
    try replica.write(Self.views(24) + ";" + virtual)
    try replica.foldAll()
    #expect(try replica.store.schemaCopy.objects().count == (virtual.isEmpty ? 27 : 28))
    #expect(try replica.store.untracked.all().isEmpty)
    var skipped: [String] = []
    #expect(try replica.store.tableSurvey.trackableNames(skipped: &skipped).isEmpty)
    try replica.reopen()
    try replica.write("INSERT INTO note VALUES (1, 'x')")
    try replica.foldAll()
    let versions = "_flotilla_version AS v JOIN _flotilla_local AS l ON l.id = v.tbl"
    #expect(
      try replica.value("SELECT count(*) FROM \(versions) WHERE l.name = 'note'") == .integer(1))
  }

  /// Names with every kind of quote, words of SQL, many columns, and rows that
  /// refer to rows that refer to rows.
  @Test func `whatever names and columns a program has made travel`() throws {
    let columns = (1...197).map { "c\($0)" }.joined(separator: ", ")
    let schema = """
      CREATE TABLE "select"("a""b" INTEGER PRIMARY KEY, [c'd] REFERENCES "select"("a""b"),
        `e``f` TEXT DEFAULT 'it''s', "order" AS ("a""b" + 1), " " DEFAULT "x");
      CREATE TABLE "; DROP TABLE x --"("1" TEXT, "%" TEXT, "\u{FEFF}" REFERENCES "select",
        PRIMARY KEY("%", "1")) WITHOUT ROWID;
      CREATE TABLE wide(id INTEGER PRIMARY KEY, up INTEGER REFERENCES wide, v, \(columns));
      """
    let names = ["select", "; DROP TABLE x --", "wide"]
    let first = try TestReplica(1, schema: schema, tracking: names)
    let second = try TestReplica(2, schema: schema)
    try second.pull(from: first)
    try first.write(
      """
      INSERT INTO "select"([c'd]) VALUES (NULL), (1), (2);
      INSERT INTO "; DROP TABLE x --" VALUES ('a', 'b', 3), ('''', '"', 1)
      """)
    for (replica, name) in [(first, "a"), (second, "b")] {
      replica.clock = 1_000 + max(first.clock, second.clock)
      try replica.write(
        """
        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
        INSERT INTO wide(id, up, v, c197)
        SELECT i, nullif(i - 1, 0), '\(name)' || i, 'last' FROM n
        """)
      try replica.foldAll()
    }
    try KeysTests.settle([first, second])
    for name in names.dropLast() { #expect(try first.content(name) == second.content(name)) }
    let chain = """
      WITH RECURSIVE up(id, v, n) AS (SELECT id, v, 1 FROM wide WHERE v IN ('a20', 'b20')
        UNION ALL SELECT w.id, w.v, n + 1 FROM up JOIN wide AS c ON c.id = up.id
          JOIN wide AS w ON w.id = c.up)
      SELECT count(*) FROM up WHERE n = 20 AND v IN ('a1', 'b1')
      """
    for replica in [first, second] {
      #expect(try replica.value(chain) == .integer(2))
      #expect(try replica.value("SELECT count(*) FROM wide WHERE c197 = 'last'") == .integer(40))
    }
  }

  /// What no frame can carry, or no peer reads, is not told; else one question would end the node.
  @Test func `what is too long to be told is left out`() throws {
    let replica = try replica()
    let long = String(repeating: "x", count: Limits.schemaText)
    let name = String(repeating: "n", count: Limits.name + 1)
    try replica.write(
      """
      CREATE VIEW long AS SELECT '\(long)' AS a; CREATE VIEW "\(name)" AS SELECT 1 AS a;
      CREATE VIEW short AS SELECT 1 AS a
      """)
    let objects = try replica.store.schemaCopy.objects()
    #expect(objects.map(\.name) == ["patient", "note", "short"])
  }
}
