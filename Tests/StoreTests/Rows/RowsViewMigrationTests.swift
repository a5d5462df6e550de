import SQLite
import Testing

@testable import Store

@Suite struct `The view of the rows, when a program changes its tables` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT, more TEXT);
    CREATE TABLE other(id TEXT PRIMARY KEY);
    """

  /// What a program may do, and what the views are then, as soon as Flotilla has looked.
  static let migrations: [(name: String, sql: String, views: [String])] = [
    ("RENAME", "ALTER TABLE t RENAME TO u", ["other", "u"]),
    (
      "RENAME there and back", "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t",
      ["other", "t"]
    ),
    (
      "RENAME to another case", "ALTER TABLE t RENAME TO x; ALTER TABLE x RENAME TO T",
      ["T", "other"]
    ),
    (
      "copy, drop, rename",
      """
      BEGIN; CREATE TABLE new_t(id INTEGER PRIMARY KEY, text TEXT, more TEXT NOT NULL DEFAULT '');
      INSERT INTO new_t SELECT id, text, coalesce(more, '') FROM t; DROP TABLE t;
      ALTER TABLE new_t RENAME TO t; COMMIT
      """, ["other", "t"]
    ),
    (
      "rename, copy, drop",
      """
      BEGIN; ALTER TABLE t RENAME TO old_t;
      CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT, more TEXT);
      INSERT INTO t SELECT * FROM old_t; DROP TABLE old_t; COMMIT
      """, ["other", "t"]
    ),
    (
      "another key",
      """
      CREATE TABLE new_t(id TEXT PRIMARY KEY, text TEXT, more TEXT);
      INSERT INTO new_t SELECT id, text, more FROM t; DROP TABLE t; ALTER TABLE new_t RENAME TO t
      """, ["other", "t"]
    ),
    ("ADD COLUMN", "ALTER TABLE t ADD COLUMN extra DEFAULT 5", ["other", "t"]),
    ("DROP COLUMN", "ALTER TABLE t DROP COLUMN more", ["other", "t"]),
    ("RENAME COLUMN", "ALTER TABLE t RENAME COLUMN text TO words", ["other", "t"]),
    ("RENAME of the key", "ALTER TABLE t RENAME COLUMN id TO number", ["other", "t"]),
    ("DROP", "DROP TABLE t", ["other"]),
    ("of another table", "ALTER TABLE other RENAME TO others", ["others", "t"]),
    (
      "RENAME through names that the view uses",
      ["v", "o", "a", "w", "u", "s", "b", "z", "r", "c0", "bytes", "author", "created", "at", "t"]
        .reduce(("t", "")) { ($1, $0.1 + "ALTER TABLE \($0.0) RENAME TO \($1); ") }.1,
      ["other", "t"]
    ),
    ("VACUUM", "VACUUM", ["other", "t"]),
  ]

  @Test(arguments: migrations.indices, [false, true])
  func `hinders nothing and follows`(_ index: Int, _ isOpen: Bool) throws {
    let (_, sql, views) = Self.migrations[index]
    let replica = try TestReplica(1, schema: Self.schema, tracking: ["t", "other"])
    try replica.write("INSERT INTO t VALUES (1, 'x', 'm'), (2, 'y', NULL)")
    try replica.foldAll()
    try replica.write(sql)
    if isOpen { try replica.foldAll() } else { try replica.reopen() }
    let names = try replica.application.prepareRows(
      "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    #expect(names == views.map { "_flotilla_rows_" + $0 })
    guard views.contains(where: { isSameName($0, "t") }) else { return }
    try replica.foldAll()
    let key = try replica.value("SELECT name FROM pragma_table_info('t') WHERE pk = 1").string ?? ""
    let inView = try replica.application.prepareRows("SELECT quote(\(key)) FROM _flotilla_rows_t")
    let inTable = try replica.application.prepareRows("SELECT quote(\(key)) FROM t")
    #expect(inView.sorted() == inTable.sorted())
    try replica.write("INSERT INTO t(\(key)) VALUES (99)")
    try replica.foldAll()
    #expect(
      try replica.value("SELECT synced FROM _flotilla_rows_t WHERE \(key) = 99") == .integer(0))
  }

  @Test func `is made again if a program drops or changes it`() throws {
    let replica = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    let sql = "SELECT sql FROM sqlite_schema WHERE name = '_flotilla_rows_t'"
    let before = try replica.value(sql)
    try replica.write("DROP VIEW _flotilla_rows_t")
    try replica.foldAll()
    #expect(try replica.value(sql) == before)
    try replica.write("DROP VIEW _flotilla_rows_t; CREATE VIEW _flotilla_rows_t AS SELECT 1 AS x")
    try replica.reopen()
    #expect(try replica.value(sql) == before)
  }

  @Test func `follows a table of the same name in another case`() throws {
    let replica = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    try replica.write("DROP TABLE t; CREATE TABLE T(id INTEGER PRIMARY KEY, text TEXT, more TEXT)")
    try replica.foldAll()
    try replica.write("INSERT INTO T VALUES (7, 'x', '')")
    try replica.foldAll()
    #expect(try replica.value("SELECT id FROM _flotilla_rows_t") == .integer(7))
    #expect(try replica.value("SELECT id FROM _FLOTILLA_ROWS_T") == .integer(7))
    let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"
    #expect(try replica.value(count) == .integer(1))
  }
}
