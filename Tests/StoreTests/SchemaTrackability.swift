import SQLite
import Testing

@testable import Store

@Suite struct `Schema trackability` {
  static let refused: [(String, String, String)] = [
    ("", "customers", "no table"),
    ("CREATE VIEW v AS SELECT 1 AS a", "V", "view"),
    ("CREATE VIRTUAL TABLE f USING fts5(x)", "f", "virtual"),
    ("CREATE VIRTUAL TABLE f USING fts5(x)", "f_content", "is a part of the virtual table"),
    ("CREATE TABLE t(a)", "t", "no PRIMARY KEY"),
    ("CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT)", "sqlite_sequence", "belongs"),
    ("", "sqlite_schema", "belongs"),
    ("CREATE TABLE _flotilla_x(a PRIMARY KEY)", "_FLOTILLA_x", "belongs"),
    ("CREATE TEMP TABLE t(a PRIMARY KEY)", "t", "not in this file"),
    (
      "CREATE TABLE t(a TEXT PRIMARY KEY); INSERT INTO t VALUES (NULL), (NULL), (1)", "t",
      "2 rows of \"t\" have NULL in the key column \"a\""
    ),
    (
      "CREATE TABLE t(a, b, PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, NULL)", "t",
      "1 row of \"t\" has NULL in the key column \"b\""
    ),
    ("CREATE TABLE t(a PRIMARY KEY, b CHECK (a COLLATE german > 'x'))", "t", "german"),
    ("CREATE TABLE t(a, PRIMARY KEY (a COLLATE NOCASE, a)) WITHOUT ROWID", "t", "twice"),
    (
      "CREATE TABLE t(\((0..<101).map { "c\($0)" }.joined(separator: ",")), "
        + "PRIMARY KEY (\((0..<101).map { "c\($0)" }.joined(separator: ","))))", "t", "101 columns"
    ),
  ]

  @Test(arguments: refused)
  func `what cannot be replicated is refused with a reason`(
    _ sql: String, name: String, reason: String
  ) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(sql)
    guard case .refused(let text, _) = try Trackability.check(table: name, on: connection) else {
      Issue.record("\(name) was accepted")
      return
    }
    #expect(text.contains(reason), "\(text)")
  }

  /// Definitions that only a program with functions or collations of its own could have made.
  static let foreign = [
    "CREATE TABLE t(a PRIMARY KEY, b CHECK (soundslike(b)))",
    "CREATE TABLE t(a PRIMARY KEY, b AS (soundslike(a)))",
    "CREATE TABLE t(a TEXT COLLATE german PRIMARY KEY)",
    "CREATE TABLE t(a PRIMARY KEY, b COLLATE german)",
  ]

  @Test(arguments: foreign)
  func `functions and collations of a program are refused`(_ sql: String) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a PRIMARY KEY); PRAGMA writable_schema = ON;")
    let statement = try connection.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 't'")
    try statement.bind(.string(sql), at: 1)
    _ = try statement.step()
    statement.reset()
    try connection.execute("PRAGMA writable_schema = RESET")
    guard case .refused(let reason, let remedy) = try Trackability.check(table: "t", on: connection)
    else {
      Issue.record("accepted")
      return
    }
    #expect(reason.contains("does not bring along"))
    #expect(remedy != nil)
  }

  @Test func `shadows of a virtual table are known by name where its module is missing`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE places(id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE map_nodes(id TEXT PRIMARY KEY NOT NULL);
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema VALUES ('table', 'map', 'map', 0,
        'CREATE VIRTUAL TABLE map USING absent(x)');
      PRAGMA writable_schema = RESET;
      """)
    #expect(try TableSchema.all(on: connection) == ["places"])
    #expect(try Trackability.check(table: "places", on: connection) == .accepted(warnings: []))
    guard case .refused = try Trackability.check(table: "map_nodes", on: connection) else {
      Issue.record("accepted")
      return
    }
  }

  @Test func `a virtual table whose module is missing takes away no table that is tracked`()
    throws
  {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE map_nodes(id TEXT PRIMARY KEY NOT NULL)", tracking: ["map_nodes"])
    try replica.write(
      """
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema VALUES ('table', 'map', 'map', 0,
        'CREATE VIRTUAL TABLE map USING absent(x)');
      PRAGMA writable_schema = RESET;
      DROP TABLE map_nodes; CREATE TABLE map_nodes(id TEXT PRIMARY KEY NOT NULL, x);
      INSERT INTO map_nodes VALUES ('a', 1)
      """)
    try replica.foldAll()
    #expect(replica.store.tables.table("map_nodes")?.isHere == true)
    #expect(try replica.value("SELECT count(*) FROM _flotilla_rows_map_nodes") == .integer(1))
  }

  @Test func `near names are shown`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE customers(a); CREATE TABLE orders(a); CREATE TABLE x(a)")
    #expect(
      try Trackability.check(table: "Costumer", on: connection)
        == .refused(
          reason: "there is no table \"Costumer\"", remedy: "Did you mean \"customers\"?"))
  }

  static let accepted: [(String, [String])] = [
    ("CREATE TABLE t(a TEXT PRIMARY KEY NOT NULL, b CHECK (lower(b) = b))", []),
    ("CREATE TABLE t(a TEXT PRIMARY KEY) WITHOUT ROWID", []),
    ("CREATE TABLE t(a TEXT PRIMARY KEY) STRICT", []),
    ("CREATE TABLE t(a INTEGER PRIMARY KEY)", ["--on-collision rekey"]),
    ("CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT)", ["integer key", "AUTOINCREMENT"]),
    ("CREATE TABLE t(a TEXT PRIMARY KEY, b)", []),
    ("CREATE TABLE t(a INTEGER, b INTEGER, PRIMARY KEY(a, b))", []),
    (
      "CREATE TABLE t(a INTEGER, b INTEGER, PRIMARY KEY(a, b)); "
        + "CREATE TABLE u(a, b, FOREIGN KEY(a, b) REFERENCES t)", ["key of several columns"]
    ),
    (
      "CREATE TABLE t(a TEXT, b TEXT, PRIMARY KEY(a, b)); "
        + "CREATE TABLE u(a, b, FOREIGN KEY(a, b) REFERENCES t)", []
    ),
  ]

  @Test(arguments: accepted)
  func `what can be replicated is accepted, with what its owner should know`(
    _ sql: String, expected: [String]
  ) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(sql)
    guard case .accepted(let warnings) = try Trackability.check(table: "T", on: connection) else {
      Issue.record("refused")
      return
    }
    #expect(warnings.count == expected.count)
    for (warning, part) in zip(warnings, expected) { #expect(warning.contains(part)) }
  }
}
