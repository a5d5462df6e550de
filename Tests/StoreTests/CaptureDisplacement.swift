import SQLite
import Testing

@testable import Store

/// REPLACE deletes other rows without firing DELETE triggers; they are noted all the same.
@Suite struct `Capture of displaced rows` {
  static let cases: [CaptureCase] = [
    CaptureCase(
      "UNIQUE column", "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v)",
      "INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0)",
      "INSERT OR REPLACE INTO t VALUES (3, 'a', 1)", "REPLACE INTO t(u) VALUES ('b')",
      "UPDATE OR REPLACE t SET u = 'a' WHERE u = 'b'"),
    CaptureCase(
      "UNIQUE column of a WITHOUT ROWID table",
      "CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, v) WITHOUT ROWID",
      "INSERT INTO t VALUES ('x', 'a', 0), ('y', 'b', 0)",
      "INSERT OR REPLACE INTO t VALUES ('z', 'a', 1)",
      "UPDATE OR REPLACE t SET u = 'a' WHERE u = 'b'"),
    CaptureCase(
      "several rows by one statement", "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b UNIQUE)",
      "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)",
      "INSERT OR REPLACE INTO t VALUES (1, 2, 3), (9, 4, 8)"),
    CaptureCase(
      "composite UNIQUE with NULL", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, UNIQUE (a, b))",
      "INSERT INTO t VALUES (1, 1, NULL), (2, 1, 1)",
      "INSERT OR REPLACE INTO t VALUES (3, 1, NULL)",
      "INSERT OR REPLACE INTO t VALUES (4, 1, 1)"),
    CaptureCase(
      "NOCASE index",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);"
        + "CREATE UNIQUE INDEX i ON t(a COLLATE NOCASE)",
      "INSERT INTO t VALUES (1, 'abc')", "INSERT OR REPLACE INTO t VALUES (2, 'ABC')"),
    CaptureCase(
      "BINARY index of a NOCASE column",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE);"
        + "CREATE UNIQUE INDEX i ON t(a COLLATE BINARY)",
      "INSERT INTO t VALUES (1, 'abc'), (2, 'ABC')", "INSERT OR REPLACE INTO t VALUES (3, 'ABC')"),
    CaptureCase(
      "affinity", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE, b TEXT UNIQUE)",
      "INSERT INTO t VALUES (1, 5, 5), (2, 6, 6)",
      "INSERT OR REPLACE INTO t VALUES (3, '5', 7), (4, 8, 6.0), (5, 9, 6)"),
    CaptureCase(
      "partial index",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a, old);"
        + "CREATE UNIQUE INDEX i ON t(a) WHERE old = 0",
      "INSERT INTO t VALUES (1, 'x', 0), (2, 'x', 1)",
      "INSERT OR REPLACE INTO t VALUES (3, 'x', 0)",
      "UPDATE OR REPLACE t SET old = 0 WHERE id = 2"),
    CaptureCase(
      "partial index by rowid",
      "CREATE TABLE t(k TEXT PRIMARY KEY, a);"
        + "CREATE UNIQUE INDEX i ON t(a) WHERE rowid > 10 AND t.a <> ''",
      "INSERT INTO t(rowid, k, a) VALUES (1, 'x', 5), (11, 'y', 5)",
      "UPDATE OR REPLACE t SET rowid = 12 WHERE k = 'x'"),
    CaptureCase(
      "expression index",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b);"
        + "CREATE UNIQUE INDEX i ON t(lower(a) || '(,)' DESC, abs(b) /* , */) WHERE b IS NOT NULL",
      "INSERT INTO t VALUES (1, 'Ab', 1), (2, 'AB', NULL)",
      "INSERT OR REPLACE INTO t VALUES (3, 'aB', -1)",
      "UPDATE OR REPLACE t SET b = 1 WHERE id = 2"),
    CaptureCase(
      "expression that fails where a partial index leaves it out",
      "CREATE TABLE t(id TEXT PRIMARY KEY, kind TEXT, payload TEXT);"
        + "CREATE UNIQUE INDEX i ON t(json_extract(payload, '$.order')) WHERE kind = 'order';"
        + "CREATE UNIQUE INDEX j ON t(json_extract(payload, '$.bill')) WHERE json_valid(t.payload)",
      "INSERT INTO t VALUES ('e1', 'email', 'Dear Sir')",
      "INSERT INTO t VALUES ('o1', 'order', '{\"order\": 1, \"bill\": 1}')",
      "INSERT OR REPLACE INTO t VALUES ('o2', 'order', '{\"order\": 1, \"bill\": 2}')",
      "INSERT OR REPLACE INTO t VALUES ('x', 'bill', '{\"bill\": 2}')",
      "UPDATE t SET payload = 'Yours' WHERE id = 'e1'",
      "UPDATE OR REPLACE t SET kind = 'bill', payload = '{\"bill\": 2}' WHERE id = 'e1'"),
    CaptureCase(
      "expression that fails where a partial index leaves out a default or a number",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, kind NOT NULL DEFAULT 'order', payload);"
        + "CREATE UNIQUE INDEX i ON t(json(payload)) WHERE kind = 'order';"
        + "CREATE UNIQUE INDEX j ON t(json(payload)) WHERE id > 100;"
        + "CREATE UNIQUE INDEX l ON t(json(payload)) WHERE oid + _rowid_ > 200",
      "INSERT INTO t VALUES (1, 'order', '1'), (2, 'email', 'Dear'), (101, 'bill', '2')",
      "INSERT OR REPLACE INTO t VALUES (3, NULL, '1')",
      "INSERT OR REPLACE INTO t(kind, payload) VALUES ('bill', '2')",
      "UPDATE OR REPLACE t SET id = id + 100, payload = '2' WHERE id = 2"),
    CaptureCase(
      "expression that fails where a partial index leaves it out by rowid",
      "CREATE TABLE t(id TEXT PRIMARY KEY, a);"
        + "CREATE UNIQUE INDEX i ON t(json(a)) WHERE rowid > 10",
      "INSERT INTO t(rowid, id, a) VALUES (1, 'x', 'Dear'), (11, 'y', '1')",
      "INSERT OR REPLACE INTO t VALUES ('z', '1')",
      "UPDATE OR REPLACE t SET rowid = 13, a = '1' WHERE id = 'x'"),
    CaptureCase(
      "numbers that are written as text",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, n NUMERIC, i INT NOT NULL DEFAULT '7', r REAL);"
        + "CREATE UNIQUE INDEX x ON t(n || i || r)",
      "INSERT INTO t VALUES (1, 7, 7, 7), (2, 'x', 7, 'y')",
      "INSERT OR REPLACE INTO t VALUES (3, '7', ' 7.0', '7')",
      "INSERT OR REPLACE INTO t VALUES (4, '7e0', NULL, '7.00'), (5, 'x', '7', 'y')",
      "UPDATE OR REPLACE t SET n = 7.0, r = '7' WHERE id = 5"),
    CaptureCase(
      "expression that depends on affinity",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT COLLATE NOCASE);"
        + "CREATE UNIQUE INDEX i ON t((a < '5'), (b = 'X'), (b > 1))",
      "INSERT INTO t VALUES (1, 3, 'x'), (2, 'y', 'x'), (3, 7, x'00')",
      "INSERT OR REPLACE INTO t VALUES (4, 4, 'X')",
      "INSERT OR REPLACE INTO t VALUES (5, 'z', 'X')",
      "INSERT OR REPLACE INTO t VALUES (6, 8, x'01')"),
    CaptureCase(
      "expression that compares a column without affinity",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b); CREATE UNIQUE INDEX i ON t((a = b));",
      "INSERT INTO t VALUES (1, '5', 5), (2, '5', '5')",
      "INSERT OR REPLACE INTO t VALUES (3, '6', 6)", "REPLACE INTO t VALUES (4, '7', '7')"),
    CaptureCase(
      "expression of the automatic rowid",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE UNIQUE INDEX i ON t(id % 3)",
      "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)", "INSERT OR REPLACE INTO t(v) VALUES (1)",
      "REPLACE INTO t(v) SELECT v FROM t"),
    CaptureCase(
      "generated columns",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b AS (a || 'x') STORED UNIQUE,"
        + " c AS (b || (id % 2)), v); CREATE UNIQUE INDEX i ON t(c, v)",
      "INSERT INTO t(a, v) VALUES (1, 1), (2, 1), (3, 2)",
      "INSERT OR REPLACE INTO t(a, v) VALUES (1, 2), (1, 3)",
      "UPDATE OR REPLACE t SET a = 2 WHERE a = 3", "UPDATE OR REPLACE t SET id = id + 10, a = '1'"),
    CaptureCase(
      "update of one source of a generated column",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c AS (a + b) UNIQUE)",
      "INSERT INTO t VALUES (1, 1, 1), (2, 5, 5)", "UPDATE OR REPLACE t SET a = 9 WHERE id = 1",
      "INSERT INTO t VALUES (7, 1, 1)", "UPDATE OR REPLACE t SET b = 9 WHERE id = 7"),
    CaptureCase(
      "explicit NULL becomes the default",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 5 UNIQUE,"
        + " b REAL NOT NULL DEFAULT 2)",
      "INSERT INTO t VALUES (1, 5, 1), (2, 'x', 1)", "INSERT OR REPLACE INTO t VALUES (3, NULL, 1)",
      "UPDATE OR REPLACE t SET a = NULL WHERE id = 2"),
    CaptureCase(
      "explicit NULL in an expression and in a generated column",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a NOT NULL DEFAULT 'q', g AS (a || a) UNIQUE);"
        + "CREATE UNIQUE INDEX i ON t(a || 1)",
      "INSERT INTO t VALUES (1, 'q'), (2, 'x')", "INSERT OR REPLACE INTO t VALUES (3, NULL)",
      "UPDATE OR REPLACE t SET a = NULL WHERE id = 2"),
    CaptureCase(
      "explicit NULL becomes a default that is an expression",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a NOT NULL DEFAULT (abs(-5)) UNIQUE)",
      "INSERT INTO t VALUES (1, 5)", "INSERT OR REPLACE INTO t VALUES (3, NULL)"),
    CaptureCase(
      "explicit NULL in the key", "CREATE TABLE t(k TEXT NOT NULL DEFAULT 'd' PRIMARY KEY, v)",
      "INSERT INTO t VALUES ('a', 1)", "INSERT OR REPLACE INTO t VALUES (NULL, 2)",
      "UPDATE OR REPLACE t SET k = NULL WHERE k = 'a'"),
    CaptureCase(
      "ON CONFLICT REPLACE in the schema",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE)",
      "INSERT INTO t VALUES (1, 5), (2, 6)", "INSERT INTO t VALUES (3, 5)",
      "UPDATE t SET a = 6 WHERE id = 3"),
    CaptureCase(
      "rowid beside the key", "CREATE TABLE t(k TEXT PRIMARY KEY, v)",
      "INSERT INTO t(rowid, k) VALUES (1, 'a'), (2, 'b'), (-1, 'c')",
      "INSERT OR REPLACE INTO t(rowid, k) VALUES (1, 'd')",
      "INSERT OR REPLACE INTO t(rowid, k) VALUES (-1, 'e')",
      "UPDATE OR REPLACE t SET rowid = 1 WHERE k = 'b'"),
    CaptureCase(
      "rowid under another name", "CREATE TABLE t(rowid TEXT PRIMARY KEY, oid, v)",
      "INSERT INTO t(_rowid_, rowid) VALUES (1, 'a'), (2, 'b')",
      "INSERT OR REPLACE INTO t(_rowid_, rowid) VALUES (1, 'd')"),
    CaptureCase(
      "own key under another collation",
      "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE UNIQUE INDEX i ON t(k COLLATE NOCASE)",
      "INSERT INTO t VALUES ('abc', 1)", "INSERT OR REPLACE INTO t VALUES ('ABC', 2)"),
    CaptureCase(
      "a row whose foreign keys delete the one that takes its key",
      "PRAGMA foreign_keys = ON;"
        + "CREATE TABLE t(id INTEGER PRIMARY KEY, up REFERENCES t ON DELETE CASCADE);"
        + "INSERT INTO t VALUES (1, NULL), (2, 1)",
      "UPDATE OR REPLACE t SET rowid = 1 WHERE id = 2",
      "INSERT INTO t VALUES (1, NULL), (2, 1)", "UPDATE OR REPLACE t SET id = 1 WHERE id = 2",
      "INSERT INTO t VALUES (1, NULL), (2, 1)", "UPDATE OR REPLACE t SET _rowid_ = 1 WHERE id = 2",
      "INSERT INTO t VALUES (1, NULL), (2, 1)", "UPDATE OR REPLACE t SET OID = 1 WHERE id = 2"),
    CaptureCase(
      "index that holds the key", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, UNIQUE (a, id))",
      "INSERT INTO t VALUES (1, 1)", "INSERT OR REPLACE INTO t VALUES (1, 1), (2, 1)"),
  ]

  @Test(arguments: cases, [false, true])
  func `rows that REPLACE deletes are noted`(_ example: CaptureCase, recursive: Bool) throws {
    try example.run(recursive: recursive)
  }

  /// With recursive triggers SQLite refuses it: a trigger "attempted to delete the row that was
  /// being updated" (sqlite.org/rescode.html#constraint_pinned).
  @Test(arguments: ["", "WITHOUT ROWID"])
  func `a ring of rows that one of them deletes by taking a key is noted`(options: String) throws {
    let example = CaptureCase(
      "ring",
      "PRAGMA foreign_keys = ON;"
        + "CREATE TABLE t(k TEXT PRIMARY KEY, up REFERENCES t ON DELETE CASCADE) \(options);"
        + "INSERT INTO t VALUES ('b', NULL), ('d', 'b'), ('c', 'd');"
        + "UPDATE t SET up = 'c' WHERE k = 'b'",
      "UPDATE OR REPLACE t SET k = 'd' WHERE k = 'c'")
    try example.run()
  }

  @Test func `tables named like the rows of a trigger work`() throws {
    for name in ["new", "OLD", "excluded"] {
      let database = try CapturedDatabase(
        "CREATE TABLE \"\(name)\"(k TEXT PRIMARY KEY, u UNIQUE)", tables: [name])
      try database.check("INSERT INTO \"\(name)\" VALUES ('a', 1), ('b', 2)")
      try database.check("INSERT OR REPLACE INTO \"\(name)\" VALUES ('c', 1)")
      try database.check("UPDATE OR REPLACE \"\(name)\" SET u = 1 WHERE k = 'b'")
    }
  }

  @Test func `every search uses its index`() throws {
    let database = try CapturedDatabase(
      """
      CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x' UNIQUE, b INT COLLATE NOCASE,
        c, g AS (a || b) UNIQUE);
      CREATE UNIQUE INDEX i1 ON t(b COLLATE RTRIM, c);
      CREATE UNIQUE INDEX i2 ON t(lower(a)) WHERE c > 5;
      CREATE UNIQUE INDEX i3 ON t(lower(b) COLLATE NOCASE, a + b);
      """)
    let schema = database.schemas[0]
    let conditions = Displacement(schema: schema).conditions(on: .insert)
    let searches = conditions.filter { !$0.hasPrefix("(NEW.") && !$0.hasPrefix("(CAST") }
    #expect(searches.count == 6)
    for search in searches {
      // A plan needs no trigger: parameters stand in for the new row.
      let sql = search.replacing("NEW.", with: "?1||?2||?3||@")
      let statement = try database.connection.prepare(
        "EXPLAIN QUERY PLAN SELECT k FROM t WHERE "
          + sql.replacing(#/\?1\|\|\?2\|\|\?3\|\|@(?:"[a-z]+"|rowid)/#, with: "?1"))
      #expect(try statement.step())
      let plan = statement.string(3) ?? ""
      #expect(plan.hasPrefix("SEARCH"), "\(search): \(plan)")
    }
  }

  @Test func `an update of other columns searches for nothing`() throws {
    let database = try CapturedDatabase(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES (1, 1, 1)")
    try database.check("UPDATE t SET v = 2")
    #expect(try Journal.count(on: database.connection) == 1)
    try database.check("UPDATE t SET u = 2")
    #expect(try Journal.count(on: database.connection) == 2)
    // One that gives the key that it has does not either.
    try database.check("UPDATE t SET id = 1, v = 3")
    #expect(try Journal.count(on: database.connection) == 3)
  }

  /// These types are NUMERIC to SQLite, and what programs keep there is text.
  @Test(arguments: [
    ("at datetime NOT NULL", "date(at)", "datetime('2026-01-01', n || ' days')"),
    (
      "at datetime NOT NULL DEFAULT CURRENT_TIMESTAMP", "date(at)",
      "date('2026-01-01', n || ' days')"
    ),
    ("doc json NOT NULL DEFAULT '{}'", "json_extract(doc, '$.no')", "json_object('no', n)"),
    ("id uuid", "lower(id)", "printf('%08X-0000', n)"),
    ("name string", "lower(name) COLLATE NOCASE", "'N' || n"),
  ])
  func `no row is noted because a column of text is declared as one of numbers`(
    column: String, expression: String, value: String
  ) throws {
    let numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000)"
    let name = column.split(separator: " ")[0]
    let database = try CapturedDatabase(
      """
      CREATE TABLE t(k INTEGER PRIMARY KEY, \(column), u);
      CREATE UNIQUE INDEX i ON t(u, \(expression));
      \(numbers) INSERT INTO t SELECT n, \(value), 1 FROM c
      """)
    let insert = { (n: Int) in
      "INSERT OR REPLACE INTO t(\(name), u) SELECT \(value), 1 FROM (SELECT \(n) AS n)"
    }
    try database.check(insert(1001))
    #expect(try Journal.count(on: database.connection) == 1)
    try database.check(insert(7))
    #expect(try Journal.count(on: database.connection) == 3)
    try database.check("UPDATE OR REPLACE t SET \(name) = (SELECT \(name) FROM t WHERE k = 8)")
  }
}
