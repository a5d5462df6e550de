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
    let logs = try [joiner, site].map { try $0.store.conflictList(all: true).count }
    #expect(logs.reduce(0, +) == 1, "\(logs)")
    #expect(try joiner.content(table) == site.content(table))
    #expect(joiner.store.position.digest == site.store.position.digest)
  }
}
