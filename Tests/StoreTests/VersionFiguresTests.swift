import Replication
import SQLite
import Testing

@testable import Store

/// What is kept to tell people how much there is, beside what the tables show.
@Suite struct VersionFiguresTests {
  private static let schema = "CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL, n INTEGER)"

  private func replicas() throws -> [TestReplica] {
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[1].pull(from: r[0])
    return r
  }

  /// What is kept, what a walk through the versions finds, and what the figures say.
  private func counts(_ replica: TestReplica) throws -> [Int?] {
    let table = try #require(replica.store.tables.table("word"))
    let sql = "SELECT count(*) FROM _flotilla_version WHERE hash IS NOT NULL AND tbl = \(table.id)"
    return [
      replica.store.versionFigures.live(table.id),
      try replica.application.scalar(sql).integer.map { Int($0) },
      try replica.store.survey.figures().tables.first { $0.name == "word" }?.rows,
    ]
  }

  @Test func `follow rows that are written, deleted, merged and brought back`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO word VALUES ('a', 1), ('b', 2), ('c', 3)")
    // The journal is not folded: what stands in the table counts.
    #expect(try counts(r[0]) == [0, 0, 3])
    try r[0].exchange(with: r[1])
    #expect(try r.map(counts) == [[3, 3, 3], [3, 3, 3]])
    try r[1].write("DELETE FROM word WHERE w <> 'a'; UPDATE word SET n = 4")
    try r[1].exchange(with: r[0])
    #expect(try r.map(counts) == [[1, 1, 1], [1, 1, 1]])
    try r[0].write("INSERT INTO word VALUES ('b', 5)")
    try r[0].exchange(with: r[1])
    for replica in r { try replica.reopen() }
    #expect(try r.map(counts) == [[2, 2, 2], [2, 2, 2]])
  }

  @Test func `do not count what is parked, and follow a table that goes and comes`() throws {
    let r = try (1...2).map {
      try TestReplica(
        $0, schema: "CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL, n INTEGER UNIQUE)",
        tracking: $0 == 1 ? ["word"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO word VALUES ('a', 1)")
    try r[1].write("INSERT INTO word VALUES ('b', 1), ('c', 2)")
    try r[0].exchange(with: r[1])
    #expect(try r.map(counts) == [[3, 3, 2], [3, 3, 2]])
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    try r[1].write("CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL, n INTEGER UNIQUE)")
    try r[1].foldAll()
    try r[1].repair(from: r[0])
    #expect(try r.map(counts) == [[3, 3, 2], [3, 3, 2]])
    try r[0].store.untrack(["word"], at: r[0].now)
    try r[0].foldAll()
    try r[0].write("DELETE FROM word WHERE w = 'c'")
    try r[0].store.track(["word"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    #expect(try counts(r[0])[0] == counts(r[0])[1])
  }

  @Test func `are taken from the versions where an earlier Flotilla has not kept them`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO word VALUES ('a', 1), ('b', 2)")
    try r[0].foldAll()
    try r[0].write("DROP TABLE _flotilla_count")
    try r[0].write("DELETE FROM _flotilla_meta WHERE name = 'newestStamp'")
    try r[0].reopen()
    #expect(try counts(r[0]) == [2, 2, 2])
    let newest = try #require(
      try r[0].application.scalar("SELECT max(stamp) FROM _flotilla_version").integer)
    #expect(!r[0].store.versionFigures.mayExceed(Stamp(clamping: newest)))
    #expect(r[0].store.versionFigures.mayExceed(Stamp(clamping: newest - 1)))
  }

  @Test func `are as before after a transaction that was rolled back`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO word VALUES ('a', 1)")
    try r[0].foldAll()
    try r[0].write("INSERT INTO word VALUES ('b', 2)")
    struct Failure: Error {}
    #expect(throws: StoreError.self) {
      try r[0].store.transaction {
        var edits = r[0].store.beginEdits()
        _ = try r[0].store.foldSlice(&edits, at: r[0].now)
        throw Failure()
      }
    }
    try r[0].foldAll()
    #expect(try counts(r[0]) == [2, 2, 2])
  }

  @Test func `tell of a stamp from the future without a look at each version`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO word VALUES ('a', 1)")
    try r[0].foldAll()
    let now = r[0].now
    let limit = Stamp(millisecondsSince1970: now.wall + SiteClock.future)
    #expect(!r[0].store.versionFigures.mayExceed(limit))
    #expect(try r[0].store.futureCount(at: now) == 0)
    let table = try #require(r[0].store.tables.table("word"))
    let key = try #require(table.key([.text(Array("f".utf8))]))
    let dot = Dot(r[1].origin, 1)
    let late = Version(
      dot: dot, created: dot, stamp: limit.successor, hash: 1, isDeleted: false)
    try r[0].store.transaction { try r[0].store.rowVersions.keep(late, table, key, old: nil) }
    #expect(r[0].store.versionFigures.mayExceed(limit))
    #expect(try r[0].store.futureCount(at: now) == 1)
    try r[0].reopen()
    #expect(try r[0].store.futureCount(at: now) == 1)
  }
}
