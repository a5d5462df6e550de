import Replication
import SQLite
import Testing

@testable import Store

/// New rows go into their table several with one statement, and nobody can tell.
@Suite struct NewRowsTests {
  private static let schema = """
    CREATE TABLE t(
      id INTEGER PRIMARY KEY NOT NULL, a TEXT UNIQUE, b INT CHECK(b <> 13), c BLOB, d REAL
    );
    CREATE TABLE child(
      id TEXT PRIMARY KEY NOT NULL, t INTEGER NOT NULL REFERENCES t, n INT
    ) WITHOUT ROWID;
    CREATE TABLE plain(id TEXT PRIMARY KEY NOT NULL, n INT);
    CREATE TABLE seen(id TEXT, n INT);
    CREATE TRIGGER see AFTER INSERT ON plain BEGIN INSERT INTO seen VALUES (new.id, new.n); END
    """

  private func replica(_ number: UInt64, merging rows: Int) throws -> TestReplica {
    var pace = Pace()
    pace.mergedRows = rows
    return try TestReplica(number, schema: Self.schema, pace: pace)
  }

  private func shown(by replica: TestReplica) throws -> [[String]] {
    [
      try replica.content("t"), try replica.content("child"), try replica.content("plain"),
      try replica.application.prepareRows(
        "SELECT hex(key) || why FROM _flotilla_shelf WHERE tbl IS NOT NULL ORDER BY 1"),
      try replica.application.prepareRows(
        "SELECT name || hex(key) || reason FROM _flotilla_conflict ORDER BY 1"),
    ]
  }

  /// The same rows are merged by one replica many at a time, and by another one by one.
  @Test(arguments: Seeded.seeds(20))
  func `stand as if each had come alone`(seed: UInt64) throws {
    var random = Seeded(seed)
    let author = try TestReplica(
      1, schema: Self.schema, tracking: ["t", "child", "plain"])
    // Both are one node to others: the same rows of their own are to meet the same ones.
    let receivers = [try replica(2, merging: 100_000), try replica(2, merging: 1)]
    for receiver in receivers { try receiver.pull(from: author) }
    for _ in 0..<3 {
      for _ in 0..<random.below(120) { try author.write(edit(&random)) }
      try author.foldAll()
      let own = (0..<random.below(10)).map { _ in edit(&random) }
      for receiver in receivers {
        for edit in own { try receiver.write(edit) }
        try receiver.pull(from: author)
        try receiver.foldAll()
      }
      let all = try receivers.map { try shown(by: $0) }
      #expect(all[0] == all[1], "repeat with: FLOTILLA_SEED=\(seed)")
    }
    #expect(try receivers[0].content("t").count > 5)
  }

  private func edit(_ random: inout Seeded) -> String {
    let (key, number) = (1 + random.below(200), random.below(60))
    switch random.below(12) {
    case 0: return "DELETE FROM t WHERE id = \(key)"
    case 1: return "UPDATE OR IGNORE t SET b = b + 1, a = 'u\(number)' WHERE id = \(key)"
    case 2, 3:
      return "INSERT OR REPLACE INTO child VALUES ('c\(key)', \(key), \(number))"
    case 4, 5: return "INSERT OR REPLACE INTO plain VALUES ('p\(key)', \(number))"
    case 6: return "INSERT OR IGNORE INTO t VALUES (\(key), NULL, NULL, zeroblob(3000), 0.5)"
    default:
      let a = random.chance(30) ? "'u\(number)'" : "NULL"
      return "INSERT OR IGNORE INTO t VALUES (\(key), \(a), \(number % 13), x'00', \(number).5)"
    }
  }

  /// Fills a table at one replica, and gives another one that has not merged it yet.
  private func pair(
    _ schema: String, _ schemaThere: String, rows: Int, _ row: (Int) -> String
  ) throws -> (TestReplica, TestReplica) {
    let author = try TestReplica(1, schema: schema, tracking: ["t"])
    let other = try TestReplica(2, schema: schemaThere)
    try other.pull(from: author)
    try author.write((0..<rows).map { "INSERT INTO t VALUES (\(row($0)))" }.joined(separator: ";"))
    try author.foldAll()
    return (author, other)
  }

  @Test func `that break a constraint of this machine alone wait, and the others stand`() throws {
    let table = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n INT"
    let (author, other) = try pair(
      table + ")", table + " CHECK(n % 10 <> 7))", rows: 64
    ) { "'k\($0 + 100)', \($0)" }
    try other.pull(from: author)
    #expect(try other.value("SELECT count(*) FROM t") == .integer(58))
    #expect(try other.value("SELECT count(*) FROM t WHERE n % 10 = 7") == .integer(0))
    #expect(try other.value("SELECT count(*) FROM _flotilla_shelf") == .integer(6))
  }

  @Test func `that a strict table does not take wait, and the others stand`() throws {
    let (author, other) = try pair(
      "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n INT)",
      "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n INT) STRICT", rows: 64
    ) { "'k\($0 + 100)', \($0 % 16 == 9 ? "'nine'" : "\($0)")" }
    try other.pull(from: author)
    #expect(try other.value("SELECT count(*) FROM t") == .integer(60))
    #expect(try other.value("SELECT count(*) FROM _flotilla_shelf") == .integer(4))
    #expect(try other.value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
  }

  @Test func `put what stood there, and nobody knew, into the log`() throws {
    let table = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n INT)"
    let (author, other) = try pair(table, table, rows: 64) { "'k\($0 + 100)', \($0)" }
    // Written past the triggers.
    try other.application.set(.triggers, to: false)
    try other.write("INSERT INTO t VALUES ('k120', 20), ('k130', -1)")
    try other.application.set(.triggers, to: true)
    try other.pull(from: author)
    #expect(try other.content("t") == author.content("t"))
    #expect(try other.value("SELECT count(*) FROM _flotilla_conflict") == .integer(1))
  }

  @Test func `of many columns go in fewer at a time`() throws {
    let columns = (0..<60).map { "c\($0) INT" }.joined(separator: ", ")
    let table = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, \(columns))"
    let values = (0..<60).map { "\($0)" }.joined(separator: ", ")
    let (author, other) = try pair(table, table, rows: 40) { "'k\($0)', \(values)" }
    try other.pull(from: author)
    #expect(try other.content("t") == author.content("t"))
  }

  @Test func `keep an index of words that a trigger keeps`() throws {
    let table = """
      CREATE TABLE t(id INTEGER PRIMARY KEY NOT NULL, a TEXT);
      CREATE VIRTUAL TABLE words USING fts5(a, content='t', content_rowid='id');
      CREATE TRIGGER word AFTER INSERT ON t BEGIN
        INSERT INTO words(rowid, a) VALUES (new.id, new.a);
      END;
      """
    let (author, other) = try pair(table, table, rows: 40) { "\($0 + 1), 'word\($0)'" }
    try other.pull(from: author)
    #expect(try other.content("t") == author.content("t"))
    #expect(
      try other.value("SELECT count(*) FROM words WHERE words MATCH 'word7'") == .integer(1))
  }
}
