import Replication
import SQLite
import Testing

@testable import Store

/// Rows say whether a column was renamed, and which.
@Suite struct RenameEvidenceTests {
  struct Case: Sendable, CustomStringConvertible {
    let columns: String
    let rows: String
    let migration: String
    /// What the site calls columns, by their names after the migration.
    var first: [String: String] = [:]

    var description: String { migration }
  }

  /// A table made anew in which every column has its name still; new ones have come, and some have
  /// values that a column in their place had in some rows.
  static let plain = [
    Case(
      columns: "uid TEXT NOT NULL, puid TEXT NOT NULL",
      rows: "(1, 'u1', ''), (2, 'u2', 'p2'), (3, 'u3', 'p3'), (4, 'u4', 'p4')",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, puid TEXT NOT NULL, more TEXT NOT NULL,
          uid TEXT NOT NULL); INSERT INTO n SELECT id, puid, '', uid FROM t
        """),
    Case(
      columns: "a INT, c TEXT DEFAULT '', d INTEGER DEFAULT 1",
      rows: "(1, 2, '', 2), (2, 2, 'x', 2)",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, a INT, d INTEGER DEFAULT 1, n TEXT NOT NULL,
          c TEXT DEFAULT ''); INSERT INTO n SELECT id, a, d, '2', c FROM t
        """),
    Case(
      columns: "c0 DATE DEFAULT 0, c1 BIGINT NOT NULL",
      rows: "(1, 1, 0), (2, 0, 2), (3, 0, 0), (4, 1, 1), (5, 2, 1)",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, n3 TEXT, c0 DATE DEFAULT 0, c1 BIGINT NOT NULL,
          n2 DEFAULT ''); INSERT INTO n SELECT id, NULL, c0, c1, '' FROM t
        """),
    // One goes and another one comes, with a value that it had in one row.
    Case(
      columns: "fax TEXT, city TEXT", rows: "(1, 'f1', 'Bern'), (2, '', 'Biel')",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, phone TEXT NOT NULL DEFAULT 'x', city TEXT);
        INSERT INTO n SELECT id, '', city FROM t
        """),
  ]

  static let renamed = [
    // Columns without a value in any row keep their order.
    Case(
      columns: "a TEXT, b TEXT, c TEXT, d TEXT",
      rows: "(1, 'a1', 'b1', NULL, NULL), (2, 'a2', 'b2', NULL, NULL)",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, e TEXT, f TEXT, g TEXT, h TEXT);
        INSERT INTO n SELECT * FROM t
        """, first: ["e": "a", "f": "b", "g": "c", "h": "d"]),
    // What the dropped column had is not known, but that it was the same in two rows.
    Case(
      columns: "name TEXT, fax TEXT, city TEXT",
      rows: "(1, 'Ann', '1', 'Bern'), (2, 'Bob', '2', 'Biel'), (3, 'Cy', '1', 'Chur')",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, full_name TEXT, city TEXT);
        INSERT INTO n SELECT id, name, city FROM t
        """, first: ["full_name": "name"]),
    Case(
      columns: "name TEXT, fax TEXT, city TEXT",
      rows: "(1, 'Ann', '1', 'Bern'), (2, 'Ann', '2', 'Biel'), (3, 'Cy', '3', 'Chur')",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, phone TEXT, city TEXT);
        INSERT INTO n SELECT id, fax, city FROM t
        """, first: ["phone": "fax"]),
    // Most rows have the same value, and some were written before anybody looked.
    Case(
      columns: "state TEXT, n INTEGER", rows: "(1, 'open', 1), (2, 'open', 2), (3, 'shut', 3)",
      migration: """
        CREATE TABLE n(id INTEGER PRIMARY KEY, status TEXT, n INTEGER);
        INSERT INTO n SELECT * FROM t WHERE id < 3; INSERT INTO n SELECT id, 'new', n FROM t
        WHERE id = 3
        """, first: ["status": "state"]),
  ]

  @Test(arguments: plain + renamed)
  func `columns are what most rows say`(of given: Case) throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, \(given.columns))", tracking: ["t"])
    try replica.write("INSERT INTO t VALUES \(given.rows)")
    try replica.foldAll()
    try replica.write(
      "BEGIN; \(given.migration); DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT")
    try replica.foldAll()
    let found = try replica.store.connection.rows(
      "SELECT name, first FROM _flotilla_named WHERE tbl = 't' AND name <> first")
    #expect(
      Dictionary(uniqueKeysWithValues: found.map { ($0[0].string ?? "", $0[1].string ?? "") })
        == given.first)
  }
}
