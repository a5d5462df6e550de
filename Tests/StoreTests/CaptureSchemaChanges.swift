import SQLite
import Testing

@testable import Store

@Suite struct `Capture beside schema changes` {
  static let setup = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x', b INT, c UNIQUE, d,
      g AS (b + 1));
    CREATE UNIQUE INDEX i ON t(a || b) WHERE b > 0;
    CREATE UNIQUE INDEX j ON t(g, a);
    INSERT INTO t VALUES (1, 'p', 1, 1, 1), (2, 'q', 2, 2, 2);
    """

  static let changes: [(sql: String, table: String, insert: String)] = [
    (
      "ALTER TABLE t ADD COLUMN e DEFAULT 5", "t",
      "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3, 4)"
    ),
    (
      "ALTER TABLE t RENAME COLUMN a TO \"a b\"", "t",
      "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"
    ),
    (
      "ALTER TABLE t RENAME COLUMN b TO a2", "t",
      "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"
    ),
    (
      "ALTER TABLE t RENAME COLUMN id TO key", "t",
      "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"
    ),
    (
      "ALTER TABLE t RENAME COLUMN c TO \"select\"", "t",
      "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"
    ),
    ("ALTER TABLE t DROP COLUMN d", "t", "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2)"),
    (
      "ALTER TABLE t RENAME TO \"u v\"", "u v",
      "INSERT OR REPLACE INTO \"u v\" VALUES (3, 'p', 1, 2, 3)"
    ),
    ("DROP INDEX i", "t", "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"),
    ("CREATE INDEX z ON t(d)", "t", "INSERT OR REPLACE INTO t VALUES (3, 'p', 1, 2, 3)"),
  ]

  @Test(arguments: changes)
  func `an ALTER works with our triggers present, and they work on`(
    _ sql: String, table: String, insert: String
  ) throws {
    let database = try CapturedDatabase(Self.setup)
    try database.connection.execute(sql)
    try database.refresh([table])
    let changed = try database.check(insert)
    #expect(changed.count == 3)
    // Renewed, they are as if the table had always been so.
    try Capture.install(database.schemas[0], id: 1, on: database.connection)
    #expect(try Capture.isIntact(database.schemas[0], id: 1, on: database.connection))
    let id = quoted(database.schemas[0].columns[0].name)
    try database.check("UPDATE OR REPLACE \(quoted(table)) SET \(id) = 50")
  }

  @Test func `removing leaves no trace, wherever the triggers hang`() throws {
    func master(_ connection: Connection) throws -> [[Value]] {
      try connection.rows(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> '_flotilla_journal'"
          + " ORDER BY rowid")
    }
    let connection = try Connection(path: ":memory:", mode: .create)
    try Journal.create(on: connection)
    try connection.execute(Self.setup)
    try connection.execute(
      "CREATE TRIGGER mine AFTER INSERT ON t BEGIN DELETE FROM t WHERE id < 0; END")
    let before = try master(connection)
    let schema = try #require(try TableSchema.read("T", on: connection))
    try Capture.install(schema, id: 12, on: connection)
    try Capture.install(schema, id: 1, on: connection)
    try Capture.remove(id: 1, on: connection)
    #expect(try Capture.isIntact(schema, id: 12, on: connection))
    #expect(try !Capture.isIntact(schema, id: 1, on: connection))
    try connection.execute("ALTER TABLE t RENAME TO elsewhere")
    try Capture.remove(id: 12, on: connection)
    try connection.execute("ALTER TABLE elsewhere RENAME TO t")
    let after = try master(connection)
    #expect(after.map { $0[1] } == before.map { $0[1] })
    // RENAME writes the name in quotes; nothing else may differ.
    #expect(after.count == before.count)
  }

  @Test func `installing and removing leaves the schema as it was`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try Journal.create(on: connection)
    try connection.execute(Self.setup)
    let before = try connection.rows("SELECT * FROM sqlite_schema ORDER BY rowid")
    let schema = try #require(try TableSchema.read("t", on: connection))
    try Capture.install(schema, id: 7, on: connection)
    try Capture.remove(id: 7, on: connection)
    #expect(try connection.rows("SELECT * FROM sqlite_schema ORDER BY rowid") == before)
  }

  static let damages = [
    "DROP TRIGGER _flotilla_1_update",
    "DROP TRIGGER _flotilla_1_before_insert",
    "ALTER TABLE t RENAME TO u; CREATE TABLE t(id INTEGER PRIMARY KEY)",
    "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY)",
    "CREATE TABLE u(x); CREATE TRIGGER _flotilla_1_x AFTER INSERT ON u BEGIN SELECT 1; END",
    "DROP TRIGGER _flotilla_1_delete;"
      + "CREATE TRIGGER _flotilla_1_delete AFTER DELETE ON t BEGIN SELECT 1; END",
    "CREATE UNIQUE INDEX extra ON t(d)",
  ]

  @Test(arguments: damages)
  func `missing, changed, stray and outdated triggers are noticed`(_ sql: String) throws {
    let database = try CapturedDatabase(Self.setup)
    let connection = database.connection
    #expect(try Capture.isIntact(database.schemas[0], id: 1, on: connection))
    try connection.execute(sql)
    try database.refresh(["t"])
    #expect(try !Capture.isIntact(database.schemas[0], id: 1, on: connection))
    try Capture.install(database.schemas[0], id: 1, on: connection)
    #expect(try Capture.isIntact(database.schemas[0], id: 1, on: connection))
  }

  @Test func `a TEMP table of the same name does not attract the triggers`() throws {
    let database = try CapturedDatabase(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE);"
        + "CREATE TEMP TABLE t(x); CREATE TEMP TABLE _flotilla_journal(y)")
    #expect(try Capture.isIntact(database.schemas[0], id: 1, on: database.connection))
    try database.connection.execute(
      "INSERT INTO main.t VALUES (1, 1); REPLACE INTO main.t VALUES (2, 1)")
    #expect(try database.noted() == ["t(1)", "t(2)"])
  }

  @Test func `the stored SQL uses nothing that came after SQLite 3 22`() throws {
    let database = try CapturedDatabase(Self.setup)
    let newer = [
      "CONFLICT", "DISTINCT", "RETURNING", "OVER", "FILTER", "NULLS", "TRUE", "FALSE",
      "MATERIALIZED", "unixepoch", "iif", "subsec",
    ]
    for trigger in Capture.expectedTriggers(database.schemas[0], id: 1) {
      let tokens = SQLText(trigger.sql).tokens
      #expect(!tokens.contains { token in newer.contains { token.isWord($0) } }, "\(trigger.sql)")
    }
  }

  @Test func `texts in double quotes work where they are switched off`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.set(.doubleQuotedStrings, to: true)
    try Journal.create(on: connection)
    try connection.execute(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a, "b c" CHECK (a <> "never"));
      CREATE UNIQUE INDEX i ON t(a || "it's" || "b c") WHERE a <> "z";
      """)
    try connection.set(.doubleQuotedStrings, to: false)
    let schema = try #require(try TableSchema.read("t", on: connection))
    try Capture.install(schema, id: 1, on: connection)
    try connection.execute("INSERT INTO t VALUES (1, 1, 1); REPLACE INTO t VALUES (2, 1, 1)")
    let keys = try Journal.read(limit: 9, on: connection).map { $0.key[0] }
    #expect(keys == [.integer(1), .integer(1), .integer(2)])
  }

  @Test func `a database in UTF-16 is captured`() throws {
    let database = try CapturedDatabase(
      """
      PRAGMA encoding = 'UTF-16'; CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT);
      CREATE UNIQUE INDEX i ON t(lower(a));
      """)
    try database.check("INSERT INTO t VALUES ('ä', 'Üx')")
    try database.check("REPLACE INTO t VALUES ('🚢', 'ÜX')")
  }

  @Test func `the journal is read, counted, forgotten and widened`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    let connection = database.connection
    try connection.execute("INSERT INTO t VALUES (1), (2), (3)")
    #expect(try Journal.read(after: 1, limit: 1, on: connection).map(\.key) == [[.integer(2)]])
    try Journal.deleteFrom(2, on: connection)
    #expect(try Journal.count(on: connection) == 1)
    try connection.execute("CREATE TABLE w(a, b, c, PRIMARY KEY (c, b))")
    let schema = try #require(try TableSchema.read("w", on: connection))
    try Capture.install(schema, id: 2, on: connection)
    #expect(try Journal.width(on: connection) == 2)
    try connection.execute("INSERT INTO w VALUES (1, x'00', 'c')")
    #expect(
      try Journal.read(limit: 9, on: connection).map(\.key)
        == [[.integer(1), .null], [.string("c"), .blob([0])]])
    try Journal.deleteFrom(0, on: connection)
    #expect(try Journal.isEmpty(on: connection))
  }
}
