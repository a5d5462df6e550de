import Replication
import SQLite
import Testing

@testable import Store

/// Tables whose constraints say themselves what becomes of a row that breaks them.
@Suite struct ConflictClauseTests {
  @Test(arguments: ["ABORT", "FAIL", "IGNORE", "REPLACE", "ROLLBACK"])
  func `of two rows with one value the same stands everywhere`(clause: String) throws {
    let replicas = try KeysTests.site(
      2,
      schema: """
        CREATE TABLE t(id TEXT PRIMARY KEY, u TEXT UNIQUE ON CONFLICT \(clause), v);
        CREATE TABLE pair(id TEXT PRIMARY KEY, a, b, v, UNIQUE (a, b) ON CONFLICT \(clause));
        """, tables: ["t", "pair"])
    for (index, name) in ["a", "b"].enumerated() {
      KeysTests.later(replicas[index], than: replicas)
      try replicas[index].write(
        """
        INSERT INTO t VALUES ('\(name)', 'x', 1), ('\(name)2', '\(name)', 2);
        INSERT INTO pair VALUES ('\(name)', 1, 2, 3);
        """)
      try replicas[index].foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.prepareRows("SELECT id FROM t ORDER BY 1") == ["a", "a2", "b2"])
      #expect(try replica.prepareRows("SELECT id FROM pair") == ["a"])
      #expect(try replica.store.survey.figures().parked == 2)
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
    // What was in the way goes, and an edit claims another value.
    try replicas[1].write("DELETE FROM t WHERE id = 'a'; UPDATE pair SET a = 9 WHERE id = 'a'")
    try replicas[1].foldAll()
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.prepareRows("SELECT id FROM t ORDER BY 1") == ["a2", "b", "b2"])
      #expect(try replica.prepareRows("SELECT id || a FROM pair ORDER BY 1") == ["a9", "b1"])
      #expect(try replica.store.survey.figures().parked == 0)
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
  }

  /// The receiver has a constraint that the author did not have.
  @Test(arguments: ["ABORT", "IGNORE", "REPLACE", "ROLLBACK"])
  func `a row that takes no NULL here waits`(clause: String) throws {
    let first = try TestReplica(
      1, schema: "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT)", tracking: ["t"])
    let second = try TestReplica(
      2,
      schema: """
        CREATE TABLE t(
          id TEXT PRIMARY KEY, v TEXT NOT NULL ON CONFLICT \(clause), CHECK (v <> 'no'))
        """)
    try second.exchange(with: first)
    try first.write("INSERT INTO t VALUES ('k', NULL), ('l', 'x')")
    try first.foldAll()
    try KeysTests.settle([first, second])
    #expect(try second.prepareRows("SELECT id || v FROM t") == ["lx"])
    #expect(try second.store.survey.figures().parked == 1)
    #expect(try first.prepareRows("SELECT count(*) FROM t WHERE v IS NULL") == ["1"])
  }

  @Test(arguments: [
    ("UNIQUE ON CONFLICT ROLLBACK", true), ("unique on conflict replace", true),
    ("UNIQUE ON CONFLICT ABORT", false), ("UNIQUE DEFAULT 'on conflict replace'", false),
    ("REFERENCES t(id) ON DELETE CASCADE", false), ("UNIQUE /* ON CONFLICT FAIL */", false),
  ])
  func `is told by the text of the table`(constraint: String, resolves: Bool) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(id TEXT PRIMARY KEY, v \(constraint))")
    let schema = try #require(try TableSchema.read("t", on: connection))
    #expect(schema.resolvesConflicts == resolves)
  }

  /// SQLite rolls a whole transaction back if a statement of a trigger wants that. What is written
  /// after it would be committed by itself.
  @Test func `a derived trigger that rolls back leaves nothing half`() throws {
    let (first, second) = try DerivedTests.caching("n UNIQUE ON CONFLICT ROLLBACK")
    #expect(throws: StoreError.self) { try second.pull(from: first) }
    #expect(try second.prepareRows("SELECT count(*) FROM t") == ["0"])
    #expect(try second.prepareRows("SELECT count(*) FROM cache") == ["1"])
    // It is off from then on, and the exchange succeeds.
    try second.pull(from: first)
    #expect(try second.content("t") == first.content("t"))
    #expect(second.store.derived.trouble?.contains("cache.n") == true)
    #expect(second.store.position.digest == first.store.position.digest)
  }

  @Test func `nothing runs in a transaction that SQLite has rolled back`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(v UNIQUE ON CONFLICT ROLLBACK)")
    #expect {
      try connection.transaction { () throws(SQLiteError) in
        try connection.run("INSERT INTO t VALUES (1)")
        _ = try? connection.run("INSERT INTO t VALUES (1)")
        try connection.run("INSERT INTO t VALUES (2)")
      }
    } throws: { "\($0)".contains("SQLite has rolled the transaction back") }
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(0))
    _ = try connection.transaction { () throws(SQLiteError) in
      try connection.run("INSERT INTO t VALUES (3)")
    }
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(1))
  }
}
