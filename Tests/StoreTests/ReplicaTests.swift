import Foundation
import Replication
import SQLite
import Store
import Testing

@Suite struct ReplicaTests {
  static let schema = """
    CREATE TABLE item(
      id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, n INTEGER DEFAULT 5, x REAL, b BLOB);
    CREATE TABLE line(item TEXT, pos INTEGER, note TEXT COLLATE NOCASE, PRIMARY KEY(item, pos));
    """

  /// A first replica with rows, and a second one that has copied them.
  func pair() throws -> (TestReplica, TestReplica) {
    let first = try TestReplica(
      1,
      schema: Self.schema + """
        INSERT INTO item VALUES ('a', 'A', 1, 0.1, x'00ff'), ('b', 'B', 2, -0.0, NULL);
        INSERT INTO line VALUES ('a', 1, 'one'), ('a', 2, NULL);
        """, tracking: ["item", "line"])
    let second = try TestReplica(2, schema: Self.schema)
    try second.exchange(with: first)
    return (first, second)
  }

  func expectEqual(_ replicas: TestReplica...) throws {
    for table in ["item", "line"] {
      let content = try replicas[0].content(table)
      for other in replicas.dropFirst() {
        #expect(try other.content(table) == content)
      }
    }
    for other in replicas.dropFirst() {
      #expect(other.store.position.digest == replicas[0].store.position.digest)
      #expect(other.store.position.frontier == replicas[0].store.position.frontier)
    }
  }

  @Test func `a second replica copies what the first has tracked`() throws {
    let (first, second) = try pair()
    #expect(try second.content("item").count == 2)
    #expect(try second.content("line").count == 2)
    try expectEqual(first, second)
  }

  @Test func `a joiner has the tables of its site from its first commit`() throws {
    let (first, _) = try pair()
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString).db"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let file = try Connection(path: path, mode: .create)
    let remarks = try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: TestReplica.site, siteName: "Test", node: Identity(high: 3, low: 0),
        nodeName: "node-3", origin: Origin(rawValue: 3)),
      creating: try first.store.schemaCopy.objects() + [
        SchemaObject(kind: .view, name: "bad", sql: "CREATE VIEW bad AS SELECT"),
        SchemaObject(kind: .view, name: "worse", sql: "DROP TABLE item"),
      ])
    #expect(remarks.count == 2)
    #expect(
      try file.prepareRows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('item', 'line', 'bad')")
        == ["item", "line"])
  }

  @Test func `a file that a program took out of WAL mode is put back when it is opened`() throws {
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString).db"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let file = try Connection(path: path, mode: .create)
    try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: TestReplica.site, siteName: "Test", node: Identity(high: 3, low: 0),
        nodeName: "node-3", origin: Origin(rawValue: 3)))
    #expect(try file.rows("PRAGMA journal_mode = DELETE") == [[.string("delete")]])
    let store = try Store(path: path)
    // A connection learns of another one's switch when it reads.
    #expect(try file.scalar("SELECT count(*) FROM _flotilla_origin").integer == 1)
    #expect(try file.scalar("PRAGMA journal_mode").string == "wal")
    #expect(try !store.file.ensureWAL())
  }

  @Test func `inserts, edits and deletes travel both ways`() throws {
    let (first, second) = try pair()
    try first.write("UPDATE item SET n = 7 WHERE id = 'a'; INSERT INTO item(id) VALUES ('c')")
    try second.write("DELETE FROM item WHERE id = 'b'; UPDATE line SET pos = 9 WHERE pos = 2")
    try first.exchange(with: second)
    try expectEqual(first, second)
    #expect(try first.content("item").count == 2)
    #expect(try first.content("line").contains { $0.contains("integer9") })
  }

  @Test func `of two edits of one row the newer wins on both`() throws {
    let (first, second) = try pair()
    try first.write("UPDATE item SET n = 100 WHERE id = 'a'")
    try second.write("UPDATE item SET n = 200 WHERE id = 'a'")
    second.clock += 60_000
    first.clock += 60_000
    try first.exchange(with: second)
    try first.exchange(with: second)
    try expectEqual(first, second)
  }

  @Test func `two rows that exchange a unique value arrive`() throws {
    let (first, second) = try pair()
    try first.write(
      """
      UPDATE item SET name = 'tmp' WHERE id = 'a'; UPDATE item SET name = 'A' WHERE id = 'b';
      UPDATE item SET name = 'B' WHERE id = 'a'
      """)
    try second.pull(from: first)
    try expectEqual(first, second)
    #expect(try second.store.survey.figures().parked == 0)
  }

  @Test func `a push carries fresh edits and leaves no gap`() throws {
    let (first, second) = try pair()
    try first.write("UPDATE item SET n = 11 WHERE id = 'a'")
    let push = try #require(try first.store.fold(at: first.now).push)
    let merge = Merge(
      sender: first.store.node, kind: .push(origin: push.origin, from: push.from, to: push.to),
      batches: [push.batch], rowsBefore: 0, checkBefore: 0,
      end: End(rows: push.rows, check: push.check), movesFrontier: true)
    _ = try second.store.merge(merge, at: second.now)
    try expectEqual(first, second)
    try first.write("UPDATE item SET n = 12 WHERE id = 'a'")
    _ = try first.store.fold(at: first.now)
    try first.write("UPDATE item SET n = 13 WHERE id = 'b'")
    let late = try #require(try first.store.fold(at: first.now).push)
    let error = #expect(throws: StoreError.self) {
      try second.store.merge(
        Merge(
          sender: first.store.node,
          kind: .push(origin: late.origin, from: late.from, to: late.to), batches: [late.batch],
          rowsBefore: 0, checkBefore: 0, end: End(rows: late.rows, check: late.check),
          movesFrontier: true), at: second.now)
    }
    #expect(error?.code == .gap)
    try second.pull(from: first)
    try expectEqual(first, second)
  }

  @Test func `a column that one replica lacks yet is kept beside the row`() throws {
    let (first, second) = try pair()
    try first.write("ALTER TABLE item ADD COLUMN colour TEXT; UPDATE item SET colour = 'red'")
    try second.exchange(with: first)
    try second.write("UPDATE item SET n = 50 WHERE id = 'a'")
    try second.exchange(with: first)
    #expect(try first.content("item").allSatisfy { $0.contains("red") })
    try second.write("ALTER TABLE item ADD COLUMN colour TEXT")
    try second.exchange(with: first)
    try expectEqual(first, second)
  }

  @Test func `a table that is dropped, copied and renamed is captured again`() throws {
    let (first, second) = try pair()
    try first.write(
      """
      CREATE TABLE item2(
        id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, n INTEGER DEFAULT 5, x REAL, b BLOB);
      INSERT INTO item2 SELECT * FROM item WHERE id <> 'b';
      DROP TABLE item; ALTER TABLE item2 RENAME TO item;
      UPDATE item SET n = 77 WHERE id = 'a';
      """)
    try first.exchange(with: second)
    try expectEqual(first, second)
    #expect(try second.content("item").count == 1)
  }

  @Test func `untracking leaves no trace on either side`() throws {
    let (first, second) = try pair()
    try first.store.untrack(["line"], at: first.now)
    try second.exchange(with: first)
    let triggers = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'line'"
    #expect(try second.application.scalar(triggers) == .integer(0))
    try first.write("UPDATE line SET note = 'x'")
    try first.exchange(with: second)
    #expect(try second.content("line") != first.content("line"))
  }

  @Test func `leaving takes everything of Flotilla out of the file`() throws {
    let (first, _) = try pair()
    try first.store.leave()
    let names = try first.application.rows("SELECT name FROM sqlite_schema ORDER BY name")
    #expect(names.allSatisfy { $0[0].string?.contains("_flotilla") == false })
  }

  @Test func `an export by scan ends after its last row`() throws {
    let (first, _) = try pair()
    let path = first.path
    let again = try Store(path: path)
    let opened = try again.openExport(.above(Frontier()), at: first.now)
    var rows: UInt64 = 0
    for _ in 0..<10 {
      guard case .batch(let batch) = try again.readExport(opened.id, at: first.now) else { break }
      rows += batch.rows
    }
    #expect(rows == opened.rows)
    #expect(rows == 6)
  }
}

extension ReplicaTests {
  @Test func `rows deleted with triggers switched off become deletes after all`() throws {
    let (first, second) = try pair()
    try first.application.set(.triggers, to: false)
    try first.write("DELETE FROM item WHERE id = 'a'")
    try first.application.set(.triggers, to: true)
    let third = try TestReplica(3, schema: Self.schema)
    try third.pull(from: first)
    try first.exchange(with: second)
    try third.exchange(with: first)
    try expectEqual(first, second, third)
    #expect(try second.content("item").count == 1)
    #expect(try third.store.survey.figures().parked == 0)
  }
}

extension ReplicaTests {
  @Test func `edits of a table under another name count when it has its own again`() throws {
    let (first, second) = try pair()
    try first.write("ALTER TABLE item RENAME TO other")
    try first.foldAll()
    try first.write("INSERT INTO other(id) VALUES ('c'); DELETE FROM other WHERE id = 'a'")
    try first.foldAll()
    try first.write("ALTER TABLE other RENAME TO item")
    try first.exchange(with: second)
    try expectEqual(first, second)
    #expect(try second.value("SELECT group_concat(id) FROM item") == .string("b,c"))
  }
}
