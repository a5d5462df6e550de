import Replication
import SQLite
import Testing

@testable import Store

/// What an edit costs beside rows that are parked: as much beside ten as beside a hundred.
@Suite struct ParkedCostTests {
  /// How many rows of the file a fold changes.
  private func changes(_ replica: TestReplica) throws -> Int64 {
    func total() throws -> Int64 {
      try #require(try replica.store.connection.scalar("SELECT total_changes()").integer)
    }
    let before = try total()
    try replica.foldAll()
    return try total() - before
  }

  private func parked(_ replica: TestReplica) throws -> [String] {
    try replica.store.tableSurvey.parkedRows().map(\.why)
  }

  /// A machine has a stricter schema than the one whose rows come. Some of these claim the value of
  /// a row besides that was made later.
  private func strict(_ count: Int) throws -> (replica: TestReplica, author: TestReplica) {
    let author = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v, j)", tracking: ["t"])
    let replica = try TestReplica(
      2,
      schema: """
        CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, v NOT NULL CHECK(v < 90), j);
        CREATE UNIQUE INDEX of_json ON t(json_extract(j, '$.a'))
        """)
    try replica.pull(from: author)
    try author.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO t SELECT 10 * i, 'u' || i, 95, NULL FROM n
      UNION ALL SELECT 10 * i + 1, NULL, NULL, NULL FROM n
      UNION ALL SELECT 10 * i + 2, NULL, 1, 'no JSON' FROM n
      """, at: 10)
    try replica.write("INSERT INTO t VALUES (1, 'u1', 1, NULL), (2, 'u2', 2, NULL)", at: 20)
    try replica.pull(from: author)
    return (replica, author)
  }

  @Test func `a row that breaks a constraint by itself is not tried at each commit`() throws {
    var costs: [Int64] = []
    for count in [5, 50] {
      let (replica, author) = try strict(count)
      #expect(try parked(replica).count == 3 * count)
      try replica.write("UPDATE t SET v = v + 1")
      costs.append(try changes(replica))
      // What it says has changed: it fits.
      try author.write("UPDATE t SET v = 3 WHERE id IN (20, 21)", at: 40)
      try author.write("UPDATE t SET j = '{\"a\": 1}' WHERE id = 22", at: 40)
      try replica.pull(from: author)
      #expect(try parked(replica).count == 3 * count - 2)
      let rows = try replica.application.prepareRows("SELECT id FROM t ORDER BY id")
      #expect(rows == ["1", "20", "21", "22"])
    }
    #expect(costs[0] == costs[1])
    #expect(costs[0] > 0)
  }

  @Test func `a row that breaks a constraint by itself is tried by another schema`() throws {
    let (replica, _) = try strict(5)
    try replica.write("UPDATE t SET v = v + 1", at: 30)
    try replica.write(
      """
      BEGIN; CREATE TABLE new(id INTEGER PRIMARY KEY, u UNIQUE, v, j);
      INSERT INTO new SELECT * FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t; COMMIT
      """, at: 40)
    try replica.foldAll()
    #expect(try parked(replica) == ["constraint", "constraint"])
    #expect(try replica.value("SELECT count(*) FROM t").integer == 15)
  }

  /// Two machines bring in the same customers, and each has orders of its own for them.
  @Test func `what waits for parked parents is not touched at each commit`() throws {
    let schema = """
      CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
      CREATE TABLE invoice(
        id TEXT PRIMARY KEY NOT NULL, number INT UNIQUE, note TEXT,
        customer TEXT NOT NULL REFERENCES customer);
      """
    var costs: [Int64] = []
    for count in [5, 50] {
      let all = try (1...2).map {
        try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["customer", "invoice"] : [])
      }
      try all[1].pull(from: all[0])
      for (number, replica) in all.enumerated() {
        try replica.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          INSERT INTO customer SELECT \(number) || ' ' || i, i FROM n;
          INSERT INTO invoice SELECT id, 1000 * \(number) + mail, NULL, id FROM customer
          """, at: Int64(10 + number))
      }
      try all[0].pull(from: all[1])
      #expect(try parked(all[0]).count == 2 * count)
      try all[0].write("UPDATE invoice SET note = 'x' WHERE number = 2")
      costs.append(try changes(all[0]))
      #expect(try parked(all[0]).filter { $0 == "parent" }.count == count)
    }
    #expect(costs[0] > 0)
    #expect(costs[0] == costs[1])
  }

  private struct Failure: Error {}

  /// A program holds the lock, or a commit would take too many rows along: it is given up.
  @Test func `a rollback leaves what is known of parked rows`() throws {
    let (replica, _) = try strict(5)
    let parking = replica.store.parking
    let table = try #require(replica.store.tables.table("t"))
    try replica.write("DELETE FROM t WHERE id = 1; UPDATE t SET v = 7 WHERE id = 2")
    #expect(throws: StoreError.self) {
      try replica.store.transaction {
        var edits = replica.store.beginEdits()
        _ = try replica.store.foldSlice(&edits, at: replica.now)
        try replica.store.finish(&edits)
        throw Failure()
      }
    }
    #expect(parking.freed.isEmpty && !parking.isUnsure)
    // What it has tried is to be tried again, and nothing else.
    let due = try #require(parking.obstacles[table.id]?.takeDue())
    #expect(Set(due.map(\.values)) == [[.integer(1)], [.integer(2)]])
  }

  @Test func `what a rollback has tried is tried again`() throws {
    let schema = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u UNIQUE)"
    let first = try TestReplica(1, schema: schema, tracking: ["t"])
    let second = try TestReplica(2, schema: schema)
    try second.pull(from: first)
    try first.write("INSERT INTO t VALUES ('first', 'x')", at: 10)
    try second.write("INSERT INTO t VALUES ('second', 'x')", at: 20)
    try first.exchange(with: second)
    try first.write("DELETE FROM t WHERE id = 'first'")
    for _ in 1...2 {
      #expect(throws: StoreError.self) {
        try first.store.transaction {
          var edits = first.store.beginEdits()
          _ = try first.store.foldSlice(&edits, at: first.now)
          try first.store.finish(&edits)
          #expect(try first.store.connection.scalar("SELECT id FROM t").string == "second")
          throw Failure()
        }
      }
    }
    try first.foldAll()
    #expect(try first.application.prepareRows("SELECT id FROM t") == ["second"])
    try second.exchange(with: first)
    #expect(try second.application.prepareRows("SELECT id FROM t") == ["second"])
  }
}
