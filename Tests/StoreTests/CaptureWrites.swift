import Foundation
import SQLite
import Testing

@testable import Store

@Suite struct `Capture of every way to write` {
  static let cases: [CaptureCase] = [
    CaptureCase(
      "upsert", "CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, n)",
      "INSERT INTO t VALUES ('a', 1, 0), ('b', 2, 0)",
      "INSERT INTO t VALUES ('a', 3, 1) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n",
      "INSERT INTO t VALUES ('c', 2, 1) ON CONFLICT (u) DO UPDATE SET k = excluded.k",
      "INSERT INTO t VALUES ('d', 9, 1) ON CONFLICT DO NOTHING"),
    CaptureCase(
      "OR IGNORE", "CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, n NOT NULL)",
      "INSERT OR IGNORE INTO t VALUES ('a', 1, 0), ('a', 2, 0), ('b', 1, 0), ('c', 3, NULL)",
      "INSERT OR IGNORE INTO t VALUES ('b', 2, 0)",
      "UPDATE OR IGNORE t SET u = u + 1, n = 7"),
    CaptureCase(
      "several rows", "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)",
      "INSERT INTO t(u) VALUES (1), (2), (3)", "UPDATE t SET u = -u",
      "UPDATE t SET id = -id", "DELETE FROM t WHERE u < -1", "DELETE FROM t"),
    CaptureCase(
      "INSERT … SELECT",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
        + "CREATE TABLE s(id INTEGER PRIMARY KEY, v); INSERT INTO s VALUES (1, 2), (3, 4)",
      "INSERT INTO t SELECT * FROM s", "INSERT INTO t SELECT id + 10, v FROM t",
      "REPLACE INTO t SELECT id, 0 FROM s", "UPDATE t SET v = s.v FROM s WHERE s.id = t.id"),
    CaptureCase(
      "one column", "CREATE TABLE t(k PRIMARY KEY)",
      "INSERT INTO t VALUES (1)", "UPDATE t SET k = 2", "DELETE FROM t"),
    CaptureCase(
      "one integer column", "CREATE TABLE t(k INTEGER PRIMARY KEY)",
      "INSERT INTO t DEFAULT VALUES", "UPDATE t SET k = 2", "DELETE FROM t"),
    CaptureCase(
      "200 columns",
      "CREATE TABLE t(\((0..<199).map { "c\($0) UNIQUE" }.joined(separator: ",")), k PRIMARY KEY)",
      "INSERT INTO t(c150, c198, k) VALUES (1, 1, 1), (2, 2, 2)",
      "UPDATE OR REPLACE t SET c198 = 1 WHERE k = 2",
      "INSERT OR REPLACE INTO t(c198, k) VALUES (1, 5)", "UPDATE t SET k = 6"),
    CaptureCase(
      "a key and an index of 60 columns",
      "CREATE TABLE t(\((0..<60).map { "c\($0)" }.joined(separator: ",")), u UNIQUE, "
        + "PRIMARY KEY(\((0..<60).reversed().map { "c\($0)" }.joined(separator: ","))))",
      "INSERT INTO t VALUES (\((0..<60).map { "\($0)" }.joined(separator: ",")), 1)",
      "UPDATE t SET c59 = 0, c0 = 1", "DELETE FROM t"),
    CaptureCase(
      "generated columns",
      "CREATE TABLE t(a, g AS (a * 2) STORED, id INTEGER PRIMARY KEY, h AS (g + id))",
      "INSERT INTO t(a) VALUES (1), (2)", "UPDATE t SET a = 5", "UPDATE t SET id = id + 5"),
    CaptureCase(
      "STRICT", "CREATE TABLE t(k ANY PRIMARY KEY, i INT UNIQUE, a ANY UNIQUE) STRICT",
      "INSERT INTO t VALUES (1, 1, '1'), ('1', 2, 1)",
      "INSERT OR REPLACE INTO t VALUES ('x', '1', 'y')", "UPDATE OR REPLACE t SET a = 'y'"),
    CaptureCase(
      "an application's BEFORE triggers that change the table",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v);"
        + "CREATE TRIGGER x BEFORE INSERT ON t WHEN NEW.v = 'go' BEGIN "
        + "INSERT INTO t VALUES (100, 'q', 0); UPDATE t SET v = v || 1; END",
      "INSERT INTO t VALUES (1, 'a', 0)", "REPLACE INTO t VALUES (2, 'q', 'go')"),
  ]

  @Test(arguments: cases, [false, true])
  func `changed rows are noted`(_ example: CaptureCase, recursive: Bool) throws {
    try example.run(recursive: recursive)
  }

  static let names = [
    "with space", "quo\"te", "apo'strophe", "[bracket", "brack]et", "back`tick", "ÄÖ🚢", "select",
    "order", "new", "old", "rowid", "tbl", "k0", "semi;colon", "-- comment", "per%cent?1:a@b$c",
  ]

  @Test(arguments: names)
  func `any name will do`(_ name: String) throws {
    let q = quoted(name)
    let database = try CapturedDatabase(
      """
      CREATE TABLE \(q)(\(q) TEXT PRIMARY KEY, \(quoted(name + "2")) NOT NULL DEFAULT 3,
        "x" AS (\(quoted(name + "2")) || 'x'));
      CREATE UNIQUE INDEX \(quoted(name + "i")) ON \(q)(\(quoted(name + "2")) || 1)
        WHERE \(q) <> ')';
      CREATE UNIQUE INDEX \(quoted(name + "j")) ON \(q)("x", \(quoted(name + "2")));
      """, tables: [name])
    let both = "\(q), \(quoted(name + "2"))"
    try database.check("INSERT INTO \(q)(\(both)) VALUES ('a', 1), ('b', 2), ('c', 3)")
    try database.check("INSERT OR REPLACE INTO \(q)(\(both)) VALUES ('d', 1)")
    try database.check("INSERT OR REPLACE INTO \(q)(\(both)) VALUES ('e', NULL)")
    try database.check("UPDATE OR REPLACE \(q) SET \(quoted(name + "2")) = 1 WHERE \(q) = 'e'")
    try database.check("DELETE FROM \(q)")
    let schema = database.schemas[0]
    #expect(try Capture.isIntact(schema, id: 1, on: database.connection))
  }

  static let actions = ["CASCADE", "SET NULL", "SET DEFAULT"]

  @Test(arguments: actions, [false, true])
  func `foreign key actions are captured as the changes that they are`(
    _ action: String, recursive: Bool
  ) throws {
    let database = try CapturedDatabase(
      """
      CREATE TABLE p(id INTEGER PRIMARY KEY, u UNIQUE, p REFERENCES p ON DELETE CASCADE);
      CREATE TABLE c(k TEXT PRIMARY KEY, r DEFAULT 9 REFERENCES p(u)
        ON DELETE \(action) ON UPDATE \(action));
      PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = \(recursive ? "ON" : "OFF");
      """, tables: ["p", "c"])
    try database.check("INSERT INTO p VALUES (1, 1, NULL), (2, 2, 1), (3, 3, 2), (9, 9, NULL)")
    try database.check("INSERT INTO c VALUES ('x', 1), ('y', 2)")
    #expect(try database.check("UPDATE p SET u = 5 WHERE id = 1").contains("c('x')"))
    try database.check("REPLACE INTO c VALUES ('x', 5), ('w', 5)")
    // The parent is displaced by REPLACE, and its child and its own descendants with it.
    let changed = try database.check("INSERT OR REPLACE INTO p VALUES (7, 5, NULL)")
    #expect(changed.isSuperset(of: ["c('x')", "c('y')", "p(1)", "p(2)", "p(3)"]))
    try database.check("DELETE FROM p WHERE id <> 9")
  }

  @Test func `dropping a parent table captures what happens to its children`() throws {
    let database = try CapturedDatabase(
      """
      CREATE TABLE p(id INTEGER PRIMARY KEY);
      CREATE TABLE t(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE SET NULL);
      INSERT INTO p VALUES (1); INSERT INTO t VALUES (5, 1); PRAGMA foreign_keys = ON;
      """)
    try database.check("DROP TABLE p")
  }

  @Test func `what is rolled back is not noted`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)")
    let connection = database.connection
    try connection.execute("BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK")
    #expect(try Journal.isEmpty(on: connection))
    try connection.execute(
      """
      BEGIN; INSERT INTO t VALUES (1, 1); SAVEPOINT s; INSERT INTO t VALUES (2, 2);
      ROLLBACK TO s; RELEASE s; COMMIT
      """)
    #expect(try database.noted() == ["t(1)"])
    for or in ["", "OR ABORT", "OR FAIL", "OR ROLLBACK"] {
      try database.check("failing \(or)") {
        #expect(throws: SQLiteError.self) {
          try connection.execute("INSERT \(or) INTO t(u) VALUES (5), (6), (1)")
        }
      }
    }
    // Only OR FAIL keeps the rows before the failing one.
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(3))
  }

  @Test func `an application's own triggers are captured in the tables that they write`() throws {
    let database = try CapturedDatabase(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, v); CREATE TABLE b(k TEXT PRIMARY KEY, n);
      CREATE TRIGGER x AFTER INSERT ON a BEGIN
        INSERT INTO b VALUES (NEW.v, 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
      CREATE TRIGGER y AFTER UPDATE ON b BEGIN UPDATE a SET v = 'z' WHERE id = NEW.n; END;
      """, tables: ["a", "b"])
    #expect(try database.check("INSERT INTO a VALUES (1, 'q')") == ["a(1)", "b('q')"])
    #expect(
      try database.check("INSERT INTO a VALUES (2, 'q')").isSuperset(of: ["a(2)", "b('q')"]))
  }

  @Test func `an application sees its own counters`() throws {
    let database = try CapturedDatabase(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, seen);
      CREATE TRIGGER x AFTER INSERT ON t BEGIN
        UPDATE t SET seen = last_insert_rowid() WHERE id = NEW.id; END;
      """)
    let connection = database.connection
    try connection.execute("INSERT INTO t(id, u) VALUES (1000, 1), (2000, 2)")
    #expect(connection.lastInsertRowID == 2000)
    #expect(connection.changes == 2)
    try connection.execute("UPDATE t SET u = u + 5")
    #expect(connection.lastInsertRowID == 2000)
    #expect(connection.changes == 2)
    try connection.execute("INSERT OR REPLACE INTO t VALUES (3, 6, 0)")
    #expect(connection.changes == 1)
    #expect(connection.lastInsertRowID == 3)
    let row = try connection.row("SELECT changes(), last_insert_rowid()")
    #expect(row == [.integer(1), .integer(3)])
  }

  @Test func `a trigger that raises IGNORE makes ours be renewed, and then hides nothing`() throws {
    let database = try CapturedDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    let (connection, schema) = (database.connection, database.schemas[0])
    try connection.execute("CREATE TRIGGER harmless AFTER INSERT ON t BEGIN SELECT 1; END")
    #expect(try Capture.isIntact(schema, id: 1, on: connection))
    try connection.execute(
      "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT raise /* ! */ (ignore); END")
    #expect(try !Capture.isIntact(schema, id: 1, on: connection))
    try Capture.install(schema, id: 1, on: connection)
    #expect(try Capture.isIntact(schema, id: 1, on: connection))
    try database.check("INSERT INTO t VALUES (1, 1)")
  }
}
