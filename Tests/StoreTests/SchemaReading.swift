import SQLite
import Testing

@testable import Store

@Suite struct `Schema reading` {
  private func read(_ sql: String, _ name: String = "t") throws -> TableSchema {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(sql)
    return try #require(try TableSchema.read(name, on: connection))
  }

  @Test func `a table is read as it is declared, under any case of its name`() throws {
    let schema = try read(
      """
      CREATE TABLE "My Table"(a VARCHAR(10) COLLATE nocase NOT NULL DEFAULT 'x', b INT,
        g TEXT GENERATED ALWAYS AS (a || b) STORED, h AS (substr(g, 1)),
        PRIMARY KEY (b, a COLLATE RTRIM)) WITHOUT ROWID
      """, "my tABLE")
    #expect(schema.name == "My Table")
    #expect(schema.columns.map(\.name) == ["a", "b", "g", "h"])
    #expect(schema.columns.map(\.type) == ["VARCHAR(10)", "INT", "TEXT", ""])
    #expect(schema.columns.map(\.affinity) == [.text, .integer, .text, .blob])
    #expect(schema.columns.map(\.collation) == ["NOCASE", "BINARY", "BINARY", "BINARY"])
    #expect(schema.columns.map(\.isNotNull) == [true, true, false, false])
    #expect(schema.columns.map(\.isGenerated) == [false, false, true, true])
    #expect(schema.columns.map(\.sources) == [[], [], [0, 1], [0, 1]])
    #expect(schema.key == [1, 0])
    #expect(schema.keyCollations == ["BINARY", "RTRIM"])
    #expect(schema.shippedColumns == [0, 1])
    #expect(schema.isWithoutRowID && !schema.hasIntegerKey && !schema.isStrict)
    #expect(schema.rowIDName == nil)
    #expect(schema.uniqueIndexes.isEmpty)
  }

  static let keys: [(String, Bool, String?)] = [
    ("CREATE TABLE t(id INTEGER PRIMARY KEY)", true, "rowid"),
    ("CREATE TABLE t(a, id integer, PRIMARY KEY (id))", true, "rowid"),
    ("CREATE TABLE t(id INT PRIMARY KEY, ROWID)", false, "_rowid_"),
    ("CREATE TABLE t(id INTEGER PRIMARY KEY DESC, RowID, _rowid_)", false, "oid"),
    ("CREATE TABLE t(id INTEGER PRIMARY KEY, rowid, _rowid_, oid)", true, nil),
    ("CREATE TABLE t(id INTEGER PRIMARY KEY) WITHOUT ROWID", false, nil),
    ("CREATE TABLE t(id TEXT PRIMARY KEY)", false, "rowid"),
  ]

  @Test(arguments: keys)
  func `an alias of the rowid is told from other keys`(
    _ sql: String, isInteger: Bool, rowID: String?
  ) throws {
    let schema = try read(sql)
    #expect(schema.hasIntegerKey == isInteger)
    #expect(schema.rowIDName == rowID)
    #expect(schema.key.count == 1)
  }

  static let defaults: [(String, Value?)] = [
    ("a", .null), ("a DEFAULT NULL", .null), ("a DEFAULT 5", .integer(5)),
    ("a INT DEFAULT '5'", .integer(5)), ("a TEXT DEFAULT 5.0", .string("5.0")),
    ("a REAL DEFAULT - 5", .real(-5)), ("a DEFAULT +1e2", .real(100)),
    ("a INT DEFAULT 5.0", .integer(5)), ("a DEFAULT 'it''s'", .string("it's")),
    ("a TEXT DEFAULT x'00ff'", .blob([0, 255])), ("a DEFAULT word", .string("word")),
    ("a DEFAULT \"word\"", .string("word")), ("a DEFAULT TRUE", .integer(1)),
    ("a DEFAULT 0x10", .integer(16)), ("a DEFAULT (7)", .integer(7)),
    ("a DEFAULT (1 + 1)", nil), ("a DEFAULT CURRENT_TIMESTAMP", nil),
    ("a DEFAULT (random())", nil), ("a DEFAULT -9223372036854775808", .integer(.min)),
  ]

  @Test(arguments: defaults)
  func `a literal default is known as it will be stored`(_ column: String, value: Value?) throws {
    #expect(try read("CREATE TABLE t(\(column))").columns[0].constantDefault == value)
  }

  @Test func `unique indexes are read with their expressions and conditions`() throws {
    let schema = try read(
      """
      CREATE TABLE t(id TEXT PRIMARY KEY, a UNIQUE, b COLLATE NOCASE, "c,d");
      CREATE INDEX plain ON t(b);
      CREATE UNIQUE INDEX "i(1" ON t(b, "c,d" COLLATE rtrim DESC);
      CREATE UNIQUE INDEX IF NOT EXISTS j ON t(/*(*/ lower(b) || ')' COLLATE NOCASE ASC, -- ,
        [c,d] + abs(a)) WHERE a IN (1, 2) -- the end
      ;
      CREATE UNIQUE INDEX k ON t(a) WHERE rowid > 5;
      """)
    let indexes = schema.uniqueIndexes.sorted { $0.name < $1.name }
    #expect(indexes.map(\.name) == ["i(1", "j", "k", "sqlite_autoindex_t_2"])
    #expect(
      indexes[0].terms == [
        .init(source: .column(2), collation: "NOCASE"),
        .init(source: .column(3), collation: "RTRIM"),
      ])
    #expect(
      indexes[1].terms == [
        .init(
          source: .expression("lower(b) || ')' COLLATE NOCASE", mentions: [2]),
          collation: indexes[1].terms[0].collation),
        .init(source: .expression("[c,d] + abs(a)", mentions: [1, 3]), collation: "BINARY"),
      ])
    #expect(indexes[1].predicate == "a IN (1, 2)")
    #expect(indexes[1].predicateMentions == [1])
    #expect(indexes[2].predicateMentionsRowID)
    #expect(indexes[3].terms == [.init(source: .column(1), collation: "BINARY")])
  }

  @Test func `what is no table is not read`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE "B c"(x); CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT);
      CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE f USING fts5(x); CREATE TEMP TABLE tmp(x);
      CREATE TABLE _flotilla_x(y); CREATE TABLE sqliteX(y);
      """)
    #expect(try TableSchema.all(on: connection) == ["B c", "a", "sqliteX"])
    for name in ["v", "f", "none", "tmp"] {
      #expect(try TableSchema.read(name, on: connection) == nil)
    }
  }

  @Test func `names differ as they do for SQLite`() {
    #expect(isSameName("aBc", "AbC"))
    #expect(!isSameName("Ä", "ä"))
    // One letter in two spellings: equal for Swift, two names for SQLite.
    #expect(!isSameName("\u{E9}", "e\u{301}"))
  }
}
