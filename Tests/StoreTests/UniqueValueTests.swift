import Replication
import SQLite
import Testing

@testable import Store

/// Rows that claim unique values which others have, without an anchor.
@Suite struct `Rows that are parked` {
  private static let schema = """
    CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a TEXT UNIQUE COLLATE NOCASE, b INT, c INT, d);
    CREATE UNIQUE INDEX two ON t(b, d);
    CREATE UNIQUE INDEX part ON t(c) WHERE c > 1;
    CREATE UNIQUE INDEX made ON t(abs(b));
    CREATE TABLE plain(id TEXT PRIMARY KEY NOT NULL, no INTEGER UNIQUE);
    """

  private func pair() throws -> [TestReplica] {
    let first = try TestReplica(1, schema: Self.schema, tracking: ["t", "plain"])
    let second = try TestReplica(2, schema: Self.schema)
    try second.exchange(with: first)
    return [first, second]
  }

  @Test(arguments: Seeded.seeds(12))
  func `are the same everywhere, and the same when all are tried anew`(seed: UInt64) throws {
    var random = Seeded(seed)
    let replicas = try pair()
    let repeated = Comment("repeat with: FLOTILLA_SEED=\(seed) … --filter UniqueValueTests")
    for _ in 0..<12 {
      for _ in 0..<(1 + random.below(6)) { try write(random.pick(replicas), &random) }
      for replica in replicas { try replica.foldAll() }
      try replicas[0].exchange(with: replicas[1])
      try replicas[0].exchange(with: replicas[1])
      for table in ["t", "plain"] {
        let content = try replicas.map { try $0.content(table) }
        #expect(content[0] == content[1], repeated)
        let replica = random.pick(replicas)
        let before = try replica.content(table)
        try replica.reopen()
        try replica.foldAll()
        #expect(try replica.content(table) == before, repeated)
      }
    }
  }

  @Test func `come back with their children where a migration is made before anybody looks`() throws
  {
    let schema = """
      CREATE TABLE ward(id TEXT PRIMARY KEY, no INTEGER UNIQUE);
      CREATE TABLE bed(id TEXT PRIMARY KEY, ward TEXT REFERENCES ward)
      """
    let first = try TestReplica(1, schema: schema, tracking: ["ward", "bed"])
    let second = try TestReplica(2, schema: schema)
    try second.exchange(with: first)
    try first.write("INSERT INTO ward VALUES ('north', 1)")
    try first.foldAll()
    second.clock = first.clock + 1_000
    try second.write("INSERT INTO ward VALUES ('south', 1); INSERT INTO bed VALUES ('s1', 'south')")
    try second.foldAll()
    try second.exchange(with: first)
    #expect(try Set(first.store.tableSurvey.parkedRows().map(\.table)) == ["bed", "ward"])
    try first.write("DELETE FROM ward; CREATE TABLE other(a); CREATE INDEX i ON ward(no, id)")
    try first.foldAll()
    #expect(try first.store.tableSurvey.parkedRows().isEmpty)
    #expect(try first.content("bed").count == 1)
    try second.exchange(with: first)
    #expect(try second.content("bed") == first.content("bed"))
  }

  private func write(_ replica: TestReplica, _ random: inout Seeded) throws {
    let key = random.pick(["p", "q", "r", "s", "u", "v"])
    let word = random.pick(["'x'", "'X'", "'y'", "NULL"])
    let (one, two) = (random.below(5) - 2, random.below(4))
    let sql = random.pick([
      "INSERT OR REPLACE INTO t VALUES ('\(key)', \(word), \(one), \(two), 1)",
      "INSERT OR IGNORE INTO t VALUES ('\(key)', \(word), \(one), \(two), \(two))",
      "UPDATE OR IGNORE t SET a = \(word) WHERE id = '\(key)'",
      "UPDATE OR IGNORE t SET b = \(one), c = \(two) WHERE id = '\(key)'",
      "DELETE FROM t WHERE id = '\(key)'",
      "INSERT OR REPLACE INTO plain VALUES ('\(key)', \(two))",
      "UPDATE OR IGNORE plain SET no = \(two) WHERE id = '\(key)'",
      "DELETE FROM plain WHERE id = '\(key)'",
    ])
    do {
      try replica.write(sql)
    } catch let error as SQLiteError {
      guard error.isConstraint else { throw error }
    }
  }

  @Test func `cost nothing where something else changes`() throws {
    let replicas = try pair()
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    for (name, replica) in zip(["a", "b"], replicas) {
      try replica.write("\(numbers) INSERT INTO plain SELECT '\(name)' || i, i FROM n")
      try replica.foldAll()
    }
    try replicas[0].exchange(with: replicas[1])
    for replica in replicas { try replica.foldAll() }
    #expect(try replicas.map { try $0.store.survey.figures().parked } == [200, 200])
    let second = replicas[1]
    let before = try second.store.connection.scalar("SELECT total_changes()").integer ?? 0
    try second.write("INSERT INTO plain VALUES ('new', 1000)")
    try second.foldAll()
    let after = try second.store.connection.scalar("SELECT total_changes()").integer ?? 0
    #expect(after - before < 100)
    let standing = try second.value("SELECT id FROM plain WHERE no = 7")
    try second.write("DELETE FROM plain WHERE no = 7")
    try second.foldAll()
    let other = try second.value("SELECT id FROM plain WHERE no = 7")
    #expect(other != .null && other != standing)
    #expect(try second.store.survey.figures().parked == 199)
  }
}
