import Replication
import SQLite
import Testing

@testable import Store

/// Who joins with a copy of the site's file that went through the same migrations loses nothing:
/// rows that are equal cost no line in the log, however many they are.
@Suite struct JoiningFileTests {
  private static let schema = """
    CREATE TABLE s(id INTEGER PRIMARY KEY, x TEXT);
    CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT);
    """

  private static func rows(_ count: Int) -> String {
    """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
    INSERT INTO t SELECT i, 'a' || i, 'b' || i, 'c' || i FROM n
    """
  }

  @Test(
    arguments: [
      "ALTER TABLE t RENAME COLUMN b TO bb", "ALTER TABLE t DROP COLUMN b",
      "ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'none'", "ALTER TABLE t RENAME TO tt",
    ], [20, 3_000])
  func `differs by what was written meanwhile alone`(migration: String, count: Int) throws {
    let site = try TestReplica(1, schema: Self.schema + Self.rows(count), tracking: ["s", "t"])
    try site.write(migration)
    try site.foldAll()
    let joiner = try TestReplica(2, schema: Self.schema + Self.rows(count))
    try joiner.write(migration)
    let table = migration.hasSuffix("tt") ? "tt" : "t"
    try joiner.write("UPDATE \(table) SET c = 'of my own' WHERE id = 7")
    // A long exchange comes in several steps, in the order in which rows were edited.
    let (covers, batches) = try site.export(above: joiner.store.position.frontier)
    for batch in batches { try joiner.mergeSlice([batch], covers: covers, from: site) }
    for _ in 0..<2 {
      try joiner.pull(from: site)
      try joiner.foldAll()
      try site.pull(from: joiner)
    }
    // Whichever of the two values stands, the other one is in a log.
    let logs = try [joiner, site].map { try $0.store.conflictLog.list(all: true).count }
    #expect(logs.reduce(0, +) == 1, "\(logs)")
    #expect(try joiner.content(table) == site.content(table))
    #expect(joiner.store.position.digest == site.store.position.digest)
  }

  /// Of a table of keys alone a row that the site has deleted says no more than its delete.
  /// Its owner may say later that the table is the same one.
  @Test(arguments: [false, true], [20, 3_000])
  func `keeps a row that the site has deleted in the log`(isJoining: Bool, count: Int) throws {
    let schema = """
      CREATE TABLE pair(a INTEGER, b INTEGER, PRIMARY KEY(a, b));
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO pair SELECT i, i FROM n
      """
    let site = try TestReplica(1, schema: schema, tracking: ["pair"])
    try site.write("DELETE FROM pair WHERE a = 7")
    try site.foldAll()
    let other = try TestReplica(2, schema: schema, isJoining: isJoining)
    let (covers, batches) = try site.export(above: other.store.position.frontier)
    for batch in batches { try other.mergeSlice([batch], covers: covers, from: site) }
    try other.pull(from: site)
    if !isJoining { try other.store.track(["pair"], rule: nil, at: other.now) }
    try other.foldAll()
    #expect(try other.value("SELECT count(*) FROM pair WHERE a = 7") == .integer(0))
    let key = Key([.integer(7), .integer(7)], collations: [])
    #expect(try other.store.conflictLog.list(all: true).map(\.key) == [key])
  }

  @Test func `takes no unique value from a row of the site`() throws {
    let schema = """
      CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, email TEXT UNIQUE, name TEXT);
      CREATE TABLE post(id TEXT PRIMARY KEY NOT NULL, person TEXT REFERENCES person(id));
      """
    let site = try TestReplica(1, schema: schema, tracking: ["person", "post"])
    try site.write(
      "INSERT INTO person VALUES ('1', 'x@y', 'Ann'); INSERT INTO post VALUES ('p', '1')")
    try site.foldAll()
    let joiner = try TestReplica(
      2, schema: schema + "INSERT INTO person VALUES ('2', 'x@y', 'Anna')", isJoining: true)
    try joiner.pull(from: site)
    // It stays behind, whatever its machine writes into it.
    try joiner.write("UPDATE person SET name = 'An' WHERE id = '2'")
    try joiner.foldAll()
    try site.pull(from: joiner)
    for replica in [site, joiner] {
      #expect(try replica.application.prepareRows("SELECT name FROM person") == ["Ann"])
      #expect(try replica.application.prepareRows("SELECT id FROM post") == ["p"])
      #expect(try replica.store.tableSurvey.parkedRows().count == 1)
    }
  }
}
