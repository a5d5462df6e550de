import SQLite
import Testing

@testable import Store

/// One table definition and statements that each change it.
struct CaptureCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let setup: String
  let statements: [String]

  init(_ description: String, _ setup: String, _ statements: String...) {
    testDescription = description
    self.setup = setup
    self.statements = statements
  }

  func run(recursive: Bool = false) throws {
    let database = try CapturedDatabase(setup)
    try database.connection.execute("PRAGMA recursive_triggers = \(recursive ? "ON" : "OFF")")
    for statement in statements { try database.check(statement) }
  }
}

@Suite struct `Capture of every kind of key` {
  static let keys: [(String, String, [String])] = [
    ("INTEGER PRIMARY KEY", "k INTEGER PRIMARY KEY, v", ["1", "2", "-5", "9223372036854775807"]),
    ("TEXT", "k TEXT PRIMARY KEY, v", ["'a'", "''", "'ä'", "'a' || char(0) || 'b'"]),
    ("BLOB", "k BLOB PRIMARY KEY, v", ["x''", "x'00'", "x'00FF'", "'text'"]),
    ("REAL", "k REAL PRIMARY KEY, v", ["1", "1.5", "-0.0", "9e999"]),
    ("NUMERIC", "k NUMERIC PRIMARY KEY, v", ["'1'", "2.0", "'x'", "1e100"]),
    ("typeless", "k PRIMARY KEY, v", ["1", "'1'", "x'31'", "1.5"]),
    ("NOCASE", "k TEXT COLLATE NOCASE PRIMARY KEY, v", ["'a'", "'b'", "'c'", "'D'"]),
    ("RTRIM", "k TEXT COLLATE RTRIM PRIMARY KEY, v", ["'a'", "'b'", "'c '", "'d'"]),
    (
      "BINARY key of a NOCASE column", "k TEXT COLLATE NOCASE, v, PRIMARY KEY (k COLLATE BINARY)",
      ["'a'", "'A'", "'b'", "'B'"]
    ),
    ("DESC integer", "k INTEGER PRIMARY KEY DESC, v", ["1", "2", "3", "4"]),
    ("INT", "k INT PRIMARY KEY, v", ["1", "2", "3", "4"]),
  ]

  @Test(arguments: keys.indices, ["", "WITHOUT ROWID", "STRICT"])
  func `inserts, updates, key changes and deletes are noted`(_ index: Int, options: String) throws {
    let (_, columns, values) = Self.keys[index]
    // In a STRICT table a column has one of six types, and a value of that type.
    if options == "STRICT", ![0, 1].contains(index) { return }
    let definition = options == "STRICT" ? columns.replacing(", v", with: ", v ANY") : columns
    let database = try CapturedDatabase("CREATE TABLE t(\(definition)) \(options)")
    for value in values { try database.check("INSERT INTO t(k, v) VALUES (\(value), 0)") }
    for value in values {
      try database.check("UPDATE t SET v = v + 1 WHERE k = \(value) COLLATE BINARY")
    }
    let changed = try database.check(
      "UPDATE t SET k = k || 77 WHERE k = \(values[0]) COLLATE BINARY")
    #expect(changed.count == 2)
    try database.check("DELETE FROM t WHERE k = \(values[1])")
    try database.check("DELETE FROM t")
  }

  @Test(arguments: ["", "WITHOUT ROWID", "STRICT"])
  func `composite keys are noted whole, in the order of the key`(options: String) throws {
    let database = try CapturedDatabase(
      "CREATE TABLE t(a INT, b TEXT, c BLOB, v INT, PRIMARY KEY (c, a, b)) \(options)")
    try database.check("INSERT INTO t VALUES (1, 'x', x'01', 0), (1, 'y', x'01', 0)")
    try database.check("UPDATE t SET v = 5")
    try database.check("UPDATE t SET b = b || 'z', a = a + 1 WHERE b = 'x'")
    try database.check("DELETE FROM t WHERE b = 'y'")
    let first = try #require(try Journal.read(limit: 1, on: database.connection).first)
    #expect(first.key == [.blob([1]), .integer(1), .string("x")])
    #expect(first.table == 1)
  }

  @Test func `a row can be found past the index of its key, and one that is gone cannot`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE)")
    let told: [(String, [String])] = [
      ("INSERT INTO t VALUES ('a', 1), ('b', 2)", ["a", "b"]),
      ("UPDATE t SET u = 3 WHERE k = 'a'", ["a"]),
      ("UPDATE t SET k = 'c' WHERE k = 'a'", ["c"]),
      ("UPDATE t SET rowid = 9 WHERE k = 'c'", ["c"]),
      ("REPLACE INTO t VALUES ('d', 2)", ["d"]),
      ("INSERT OR IGNORE INTO t VALUES ('e', 2); DELETE FROM t WHERE k = 'c'", ["d"]),
      ("CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t WHERE k = NEW.k; END", []),
      ("INSERT INTO t VALUES ('f', 4)", []),
    ]
    for (statement, found) in told {
      try Journal.deleteFrom(0, on: database.connection)
      try database.connection.execute(statement)
      let rows = try database.connection.rows(
        "SELECT DISTINCT k FROM _flotilla_journal JOIN t ON t.rowid = row AND k = k0 ORDER BY k")
      #expect(rows.map { $0[0].string } == found, "\(statement)")
    }
  }

  @Test(arguments: ["k INTEGER PRIMARY KEY", "k TEXT PRIMARY KEY) WITHOUT ROWID; --"])
  func `no rowid is noted where the table is the index of its key`(columns: String) throws {
    let database = try CapturedDatabase("CREATE TABLE t(\(columns)\n)".replacing("--\n)", with: ""))
    try database.check("INSERT INTO t VALUES (1)")
    #expect(try Journal.read(limit: 9, on: database.connection).map(\.row) == [nil])
  }

  @Test func `a key that changes only in case is noted at least once`() throws {
    let database = try CapturedDatabase(
      "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY); INSERT INTO t VALUES ('abc')")
    #expect(try database.check("UPDATE t SET k = 'ABC'").count == 1)
  }

  @Test func `a key that changes only in case is two keys where the key's index tells them apart`()
    throws
  {
    let database = try CapturedDatabase(
      """
      CREATE TABLE t(k TEXT COLLATE NOCASE, PRIMARY KEY (k COLLATE BINARY));
      INSERT INTO t VALUES ('abc')
      """)
    #expect(try database.check("UPDATE t SET k = 'ABC'").count == 2)
  }

  @Test func `automatic rowids are noted as they became`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    try database.check("INSERT INTO t(v) VALUES ('a'), ('b')")
    try database.check("INSERT INTO t VALUES (NULL, 'c')")
    try database.check("INSERT INTO t(v) SELECT v FROM t")
    #expect(try database.noted() == Set((1...6).map { "t(\($0))" }))
  }

  @Test func `the time is the wall clock in ms`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    try database.connection.execute("INSERT INTO t VALUES (1)")
    let entry = try #require(try Journal.read(limit: 1, on: database.connection).first)
    // strftime is exact to the ms, and slow: the measure of what the triggers compute.
    let now = try database.connection.scalar(
      "SELECT strftime('%s', 'now') * 1000 + substr(strftime('%f', 'now'), 4)")
    #expect((0...60_000).contains((now.integer ?? 0) - entry.at))
    let wrong = try database.connection.scalar(
      """
      WITH RECURSIVE m(ms) AS (SELECT 1700000000000 UNION ALL SELECT ms + 977 FROM m LIMIT 50000)
      SELECT count(*) FROM m WHERE ms <> \(TriggerText.now.replacing(
        "'now'", with: "ms / 1000.0, 'unixepoch'"))
      """)
    #expect(wrong == .integer(0))
  }
}
