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
}
