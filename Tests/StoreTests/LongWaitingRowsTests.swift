import Replication
import SQLite
import Testing

@testable import Store

/// A member parks a row of 60 MB, and whoever edits any row afterwards must not read it.
@Suite struct `The tables in which rows wait` {
  private static let schema = "CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL, n INTEGER UNIQUE)"

  /// Two of which the second has parked a row.
  private func replicas() throws -> [TestReplica] {
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO word VALUES ('a', 1)")
    try r[1].write("INSERT INTO word VALUES ('b', 1), ('c', 2)")
    try r[0].exchange(with: r[1])
    return r
  }

  /// Of the tables whose rows may be long those where SQLite reads one to find its neighbour.
  private func clustered(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      """
      SELECT s.name FROM main.sqlite_schema AS s, pragma_table_info(s.name) AS c
      WHERE s.name GLOB '_flotilla_*' AND c.name = 'row' AND s.sql LIKE '%WITHOUT ROWID'
      ORDER BY 1
      """)
  }

  @Test func `have rowids, so that a long row is not read to find another one`() throws {
    for replica in try replicas() { #expect(try clustered(replica) == []) }
  }

  @Test func `of a version before get them, and keep what is in them`() throws {
    let r = try replicas()
    let all = "SELECT hex(key) || why || hex(row) FROM _flotilla_shelf"
    let kept = try r[1].application.prepareRows(all)
    #expect(kept.count == 1)
    for replica in r {
      try replica.application.execute(
        """
        CREATE TABLE kept AS SELECT * FROM _flotilla_shelf;
        DROP TABLE _flotilla_shelf;
        CREATE TABLE _flotilla_shelf(
          tbl INTEGER NOT NULL, key BLOB NOT NULL, why TEXT NOT NULL, row BLOB,
          PRIMARY KEY(tbl, key)
        ) WITHOUT ROWID;
        INSERT INTO _flotilla_shelf SELECT tbl, key, why, row FROM kept;
        DROP TABLE kept;
        """)
      #expect(try clustered(replica) == ["_flotilla_shelf"])
      try replica.reopen()
      #expect(try clustered(replica) == [])
    }
    #expect(try r[1].application.prepareRows(all) == kept)
    // Its place is free, and it comes.
    try r[0].write("DELETE FROM word WHERE n = 1")
    try r[0].exchange(with: r[1])
    #expect(try r[1].application.prepareRows(all) == [])
    let words = try r.map { try $0.application.prepareRows("SELECT n || w FROM word ORDER BY 1") }
    #expect(words[0] == words[1] && words[0].count == 2)
  }

  @Test func `are read some in a commit when a node starts, if the rows are long`() throws {
    let schema = """
      CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE line(id INTEGER PRIMARY KEY, word TEXT REFERENCES word, text TEXT);
      """
    let author = try TestReplica(1, schema: schema, tracking: ["word", "line"])
    let other = try TestReplica(2, schema: schema)
    try author.write("INSERT INTO word VALUES ('w1'), ('w2'), ('w3')")
    try author.foldAll()
    try other.exchange(with: author)
    try other.write("DELETE FROM word")
    try other.foldAll()
    for number in 1...3 {
      try author.write("INSERT INTO line VALUES (\(number), 'w\(number)', hex(zeroblob(1100000)))")
    }
    try author.foldAll()
    try other.pull(from: author)
    let waiting = "SELECT count(*) FROM _flotilla_shelf WHERE watch IS NOT NULL"
    #expect(try other.value(waiting) == .integer(3))
    try other.reopen()
    try other.write("INSERT INTO word VALUES ('other')")
    _ = try other.store.fold(at: other.now)
    #expect(other.store.parking.recall?.last != nil)
    try other.write("INSERT INTO word VALUES ('w1'), ('w2'), ('w3')")
    try other.foldAll()
    #expect(try other.value(waiting) == .integer(0))
    #expect(try other.value("SELECT count(*) FROM line") == .integer(3))
  }
}
