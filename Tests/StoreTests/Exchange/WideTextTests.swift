import Replication
import SQLite
import Testing

@testable import Store

@Suite("A database in UTF-16") struct WideTextTests {
  private static let schema = """
    CREATE TABLE note(
      id TEXT, part REAL, text TEXT DEFAULT 'lär', data BLOB DEFAULT x'', PRIMARY KEY (id, part));
    CREATE TABLE name(id TEXT PRIMARY KEY COLLATE NOCASE, text TEXT)
    """
  private static let tables = ["note", "name"]

  private static let rows = """
    INSERT INTO note VALUES
      ('ä', 1, 'Grüße', x'c3'), ('ä', 1.5, '', x''), ('', 2, NULL, NULL), ('🚢', 1e300, 'lär', 7),
      ('a' || char(0) || 'b', -3, 'x' || char(0), 'text');
    INSERT INTO name VALUES ('Äb', 'x'), ('ok', '🚢')
    """

  /// In an order of its own: SQLite compares texts by the bytes that they have in the file.
  private func content(_ replica: TestReplica) throws -> [String] {
    let notes = try replica.application.rows(
      "SELECT id, part, text, data, typeof(id), typeof(part), typeof(data) FROM note")
    let names = try replica.application.rows("SELECT id, text FROM name")
    return (notes + names).map { "\($0)" }.sorted()
  }

  @Test(arguments: [true, false]) func `says the same as one in UTF-8`(isAuthor: Bool) throws {
    let wide = "PRAGMA encoding = 'UTF-16'; "
    let a = try TestReplica(
      1, schema: (isAuthor ? wide : "") + Self.schema, tracking: Self.tables)
    let b = try TestReplica(2, schema: (isAuthor ? "" : wide) + Self.schema)
    try b.pull(from: a)
    try a.write(Self.rows)
    try a.foldAll()
    try b.pull(from: a)
    #expect(try content(a) == content(b))
    #expect(a.store.position.digest == b.store.position.digest)
    // A row that is written again as it is, is no edit.
    let before = b.store.position.frontier
    try b.write("UPDATE note SET text = text; UPDATE name SET text = text")
    try b.foldAll()
    #expect(b.store.position.frontier == before)
    try b.write("UPDATE note SET text = 'né' WHERE part = 1.5; DELETE FROM name WHERE id = 'OK'")
    try b.foldAll()
    try a.pull(from: b)
    #expect(try content(a) == content(b))
    #expect(a.store.position.digest == b.store.position.digest)
  }

  /// Three replicas, of which the second one is in UTF-16.
  private func site(
    _ schema: String
  ) throws -> (author: TestReplica, wide: TestReplica, other: TestReplica) {
    let a = try TestReplica(1, schema: schema, tracking: ["t"])
    let b = try TestReplica(2, schema: "PRAGMA encoding = 'UTF-16'; " + schema)
    let c = try TestReplica(3, schema: schema)
    try b.pull(from: a)
    try c.pull(from: a)
    return (a, b, c)
  }

  /// Bytes that are no UTF-8, half a surrogate pair, and one of two characters: SQLite writes
  /// U+FFFD for each.
  static let torn = ["4dfc6c6c6572", "61eda080", "61efbfbe", "61efbfbf"]

  @Test(arguments: torn) func `passes on what it cannot show`(text: String) throws {
    let (a, b, c) = try site("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT, number INTEGER)")
    try a.write("INSERT INTO t VALUES (1, CAST(x'\(text)' AS TEXT), 1)")
    try a.foldAll()
    try b.pull(from: a)
    try c.pull(from: b)
    let bytes = "SELECT hex(CAST(text AS BLOB)) FROM t"
    #expect(try c.value(bytes) == .string(text.uppercased()))
    #expect(try b.value("SELECT unicode(substr(text, -1)) > 0 FROM t") == .integer(1))
    for replica in [a, b, c] { #expect(try replica.audit().count == 0) }
    #expect(a.store.position.digest == b.store.position.digest)
    // An edit of another column says nothing of the text.
    try b.write("UPDATE t SET number = 2")
    try b.foldAll()
    try a.pull(from: b)
    try c.pull(from: b)
    for replica in [a, c] {
      #expect(try replica.value(bytes) == .string(text.uppercased()))
      #expect(try replica.value("SELECT number FROM t") == .integer(2))
    }
    // What a program writes there holds everywhere.
    try b.write("UPDATE t SET text = 'Müller'")
    try b.foldAll()
    try a.pull(from: b)
    #expect(try a.value("SELECT text FROM t") == .string("Müller"))
  }

  @Test(arguments: torn) func `keeps a row whose key it cannot show`(text: String) throws {
    let (a, b, c) = try site("CREATE TABLE t(id TEXT PRIMARY KEY, number INTEGER)")
    try a.write(
      """
      INSERT INTO t VALUES (CAST(x'\(text)' AS TEXT), 1), ('plain', 2),
        (CAST(x'6dfc6c6c6572' AS TEXT), 3)
      """)
    try a.foldAll()
    try b.pull(from: a)
    try c.pull(from: b)
    try b.foldAll()
    try a.pull(from: b)
    let parked = "SELECT count(*) FROM _flotilla_shelf WHERE why = 'constraint'"
    #expect(try b.application.rows("SELECT id FROM t") == [[.string("plain")]])
    #expect(try b.value(parked) == .integer(2))
    for replica in [a, c] { #expect(try replica.value("SELECT count(*) FROM t") == .integer(3)) }
    #expect(a.store.position.digest == b.store.position.digest)
    try a.write("DELETE FROM t WHERE number <> 2")
    try a.foldAll()
    try b.pull(from: a)
    #expect(try b.value(parked) == .integer(0))
    #expect(try b.audit().count == 0)
  }
}
