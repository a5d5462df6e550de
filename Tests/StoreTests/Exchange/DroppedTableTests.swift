import Replication
import SQLite
import Testing

@testable import Store

/// A tracked table that an application drops at one node is a changed schema, not deleted rows.
@Suite struct DroppedTableTests {
  static let words = LateSchemaTests.word
  static let schema = LateSchemaTests.schema

  /// All have the table; the second has its rows, the third has not heard of them.
  func line() throws -> [TestReplica] {
    let r = try (1...3).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO word VALUES ('Alpha', 1), ('beta', 2), ('Gamma', 3)")
    try r[1].pull(from: r[0])
    try r[1].write("UPDATE word SET meaning = 'edited' WHERE w = 'beta'")
    try r[0].exchange(with: r[1])
    for replica in r { try replica.store.lives.setDelivered(replica.ownSeq) }
    return r
  }

  @Test func `who has dropped a table takes its rows from nobody`() throws {
    let r = try line()
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    try r[2].pull(from: r[1])
    try r[2].pull(from: r[0])
    #expect(try r[2].content("word") == r[0].content("word"))
    try r[1].pull(from: r[2])
    #expect(try r[0].content("word").count == 3)
    #expect(r[0].store.position.frontier == r[2].store.position.frontier)
  }

  @Test func `a drop that is seen while an export is opened counts for it`() throws {
    let r = try line()
    try r[1].write("DROP TABLE word")
    try r[2].pull(from: r[1])
    try r[2].pull(from: r[0])
    #expect(try r[2].content("word") == r[0].content("word"))
  }

  @Test func `what was dropped comes again from others and is passed on`() throws {
    let r = try line()
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    #expect(r[1].store.position.lost == 3)
    #expect(r[1].store.position.digest != r[0].store.position.digest)
    try r[1].repair(from: r[0])
    #expect(r[1].store.position.lost == 0)
    #expect(r[1].store.position.digest == r[0].store.position.digest)
    try r[2].pull(from: r[1])
    #expect(try r[2].content("word") == r[0].content("word"))
    try r[1].write(Self.schema)
    try r[1].foldAll()
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Nobody saw it missing.
  @Test func `a table that is dropped and created in one go has deleted nothing`() throws {
    let r = try line()
    let before = r[1].store.position.frontier
    try r[1].write("BEGIN; DROP TABLE word; \(Self.schema); COMMIT")
    try r[1].foldAll()
    #expect(r[1].store.position.frontier == before)
    #expect(r[1].store.position.lost == 3)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    try r[2].pull(from: r[0])
    #expect(try r[0].content("word").count == 3)
    try r[1].repair(from: r[0])
    #expect(r[1].store.position.lost == 0)
    #expect(try r[1].content("word").count == 3)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// As a migration that computes new keys does: the old rows must not stand beside the new ones.
  @Test func `a table that is made anew with other keys has deleted the old rows`() throws {
    let r = try line()
    try r[1].write(
      "BEGIN; CREATE TABLE keep AS SELECT * FROM word; DROP TABLE word; \(Self.schema);"
        + "INSERT INTO word SELECT 'K' || w, meaning FROM keep; DROP TABLE keep; COMMIT")
    try r[1].foldAll()
    #expect(r[1].store.position.lost == 0)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[0].content("word").count == 3)
    #expect(try r[0].content("word") == r[1].content("word"))
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `of a table that is made anew with some of its rows the others were deleted`() throws {
    let r = try line()
    try r[1].write(
      "BEGIN; CREATE TABLE keep AS SELECT * FROM word WHERE w = 'Alpha'; DROP TABLE word;"
        + "\(Self.schema); INSERT INTO word SELECT * FROM keep; DROP TABLE keep; COMMIT")
    try r[1].foldAll()
    #expect(r[1].store.position.lost == 0)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[0].content("word").count == 1)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `rows that a program deletes before a migration copies none are deleted`() throws {
    let r = try line()
    try r[1].write("DELETE FROM word")
    try r[1].write(
      "BEGIN; CREATE TABLE keep AS SELECT * FROM word; DROP TABLE word;"
        + "\(Self.schema); INSERT INTO word SELECT * FROM keep; DROP TABLE keep; COMMIT")
    try r[1].foldAll()
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[0].content("word").isEmpty)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `other rows pass through, and only what is lost stays behind`() throws {
    let r = try line()
    for replica in r { try replica.write("CREATE TABLE note(id TEXT PRIMARY KEY, n INTEGER)") }
    try r[1].write("DROP TABLE word; INSERT INTO note VALUES ('a', 1)")
    try r[1].store.track(["note"], rule: nil, at: r[1].now)
    try r[1].foldAll()
    try r[2].pull(from: r[1])
    #expect(try r[2].content("note").count == 1)
    #expect(try r[2].content("word").isEmpty)
    try r[1].write("INSERT INTO note VALUES ('b', 2)")
    try r[2].pull(from: r[1])
    #expect(try r[2].content("note").count == 2)
    try r[2].pull(from: r[0])
    try r[0].pull(from: r[1])
    #expect(try r[2].content("word") == r[0].content("word"))
    #expect(try r[2].content("note") == r[0].content("note"))
  }

  @Test func `a table that comes back with its rows has the versions that it had`() throws {
    let r = try line()
    try r[1].write("CREATE TABLE old AS SELECT * FROM word; DROP TABLE word")
    try r[1].foldAll()
    try r[1].write(
      Self.schema + "INSERT INTO word SELECT * FROM old WHERE w <> 'beta'; DROP TABLE old;"
        + "UPDATE word SET meaning = 'new' WHERE w = 'gamma'")
    let before = r[1].store.position.frontier
    try r[1].foldAll()
    let after = r[1].store.position.frontier
    #expect(after.distance(above: before) == 1)
    try r[0].pull(from: r[1])
    try r[2].pull(from: r[1])
    try r[2].pull(from: r[0])
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'gamma'") == .string("new"))
    #expect(try r[0].content("word").count == 3)
    try r[1].repair(from: r[0])
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Drops the table and makes it again, in one go or after it was seen missing.
  private func makeAgain(_ replica: TestReplica, isMissed: Bool) throws {
    try replica.write("BEGIN; DROP TABLE word")
    if isMissed {
      try replica.write("COMMIT")
      try replica.foldAll()
      try replica.write("BEGIN")
    }
    try replica.write("\(Self.schema); COMMIT")
    try replica.foldAll()
  }

  @Test(arguments: [false, true])
  func `what is written in the table made again was not written over`(isMissed: Bool) throws {
    let r = try line()
    try makeAgain(r[1], isMissed: isMissed)
    try r[1].write("INSERT INTO word VALUES ('alpha', 'again'), ('Gamma', 3)")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'alpha'") == .string("again"))
    // The row that is as it was is no edit.
    let lost = try r[0].store.conflictLog.list(all: true)
    #expect(lost.map { $0.loser?.values.last?.value } == [.integer(1)])
    #expect(lost.first?.winner?.author == r[1].origin)
    try r[2].pull(from: r[0])
    try r[1].repair(from: r[0])
    for replica in r.dropFirst() {
      #expect(try replica.content("word") == r[0].content("word"))
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
    }
  }

  /// An application empties a cache like this.
  @Test(arguments: [false, true])
  func `what comes and goes in the table made again deletes nothing`(isMissed: Bool) throws {
    let r = try line()
    try makeAgain(r[1], isMissed: isMissed)
    try r[1].write("INSERT INTO word VALUES ('alpha', 'again'); DELETE FROM word")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try r[0].content("word").count == 3)
    try r[1].repair(from: r[0])
    #expect(try r[1].content("word") == r[0].content("word"))
    #expect(try Verdict(r.dropLast(), Self.words).faults == [])
  }

  /// A table is copied, dropped, and filled from the copy, as some migrations do. Between the two
  /// others have edited rows and deleted one.
  @Test func `old rows that a table comes back with undo nothing`() throws {
    let r = try line()
    try r[1].write("CREATE TABLE old AS SELECT * FROM word; DROP TABLE word")
    try r[1].foldAll()
    try r[0].write(
      "UPDATE word SET meaning = 'new' WHERE w = 'alpha'; DELETE FROM word WHERE w = 'beta'")
    try r[1].pull(from: r[0])
    try r[1].write("\(Self.schema); INSERT INTO word SELECT * FROM old; DROP TABLE old")
    try r[1].foldAll()
    for _ in 0..<2 { try r[0].exchange(with: r[1]) }
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'alpha'") == .string("new"))
    #expect(try r[0].content("word").count == 2)
    #expect(try r[0].content("word") == r[1].content("word"))
    #expect(try r[0].store.conflictLog.list(all: true).isEmpty)
  }

  /// A migration may have made them of those of before, and whoever dumped a table has seen it.
  @Test func `other rows that a table comes back with are written over the lost ones`() throws {
    let r = try line()
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    try r[1].write("BEGIN; \(Self.schema); INSERT INTO word VALUES ('Alpha', 'back'); COMMIT")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'alpha'") == .string("back"))
    #expect(try r[0].store.conflictLog.list(all: true).isEmpty)
  }

  /// SQLite gives the numbers of before again.
  @Test func `a row in the table made again is another one than that of its number`() throws {
    let schema = "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);"
    let visits = "CREATE TABLE visit(id TEXT PRIMARY KEY, person REFERENCES person(id));"
    let r = try (1...2).map {
      try TestReplica($0, schema: schema + visits, tracking: $0 == 1 ? ["person", "visit"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO person(name) VALUES ('Anna')")
    try r[0].exchange(with: r[1])
    try r[1].write("BEGIN; DROP TABLE person; \(schema) COMMIT")
    try r[1].foldAll()
    try r[1].write("INSERT INTO person(name) VALUES ('Bert')")
    try r[1].foldAll()
    for _ in 0..<3 { try r[0].exchange(with: r[1]) }
    let names = "SELECT group_concat(name) FROM (SELECT name FROM person ORDER BY name)"
    for replica in r { #expect(try replica.value(names) == .string("Anna,Bert")) }
  }

  @Test func `edits that nobody was sent are gone with their table, and hold up nothing`() throws {
    let r = try line()
    for replica in r { try replica.write("CREATE TABLE note(id TEXT PRIMARY KEY, n INTEGER)") }
    try r[0].store.track(["note"], rule: nil, at: r[0].now)
    try r[1].pull(from: r[0])
    try r[1].write("UPDATE word SET meaning = 'unsent' WHERE w = 'beta'")
    try r[1].foldAll()
    try r[1].write("DROP TABLE word; INSERT INTO note VALUES ('later', 1)")
    try r[1].foldAll()
    // What others sent or were sent is waited for.
    #expect(r[1].store.position.lost == 2)
    try r[2].pull(from: r[0])
    try r[2].pull(from: r[1])
    // It passes on what was written later: nothing is missing before it.
    #expect(r[2].store.position.frontier[r[1].origin] == r[1].ownSeq)
    try r[0].pull(from: r[2])
    #expect(try r[0].content("note").count == 1)
    #expect(r[0].store.position.frontier == r[1].store.position.frontier)
    // The rest comes again, also the row that the edit had changed.
    try r[1].repair(from: r[0])
    try r[1].write(Self.schema)
    try r[1].foldAll()
    #expect(try r[1].content("word") == r[0].content("word"))
    #expect(r[1].store.position.digest == r[0].store.position.digest)
  }

  @Test func `an edit that nobody was sent is issued again if its table comes back`() throws {
    let r = try line()
    try r[1].write(
      "UPDATE word SET meaning = 'unsent' WHERE w = 'beta'; INSERT INTO word VALUES ('new', 4)")
    try r[1].foldAll()
    let before = try r[1].value("SELECT max(stamp) >> 16 FROM _flotilla_version")
    try r[1].write("CREATE TABLE old AS SELECT * FROM word; DROP TABLE word")
    try r[1].foldAll()
    try r[1].store.lives.setDelivered(r[1].ownSeq)
    try r[1].write(Self.schema + "INSERT INTO word SELECT * FROM old; DROP TABLE old")
    try r[1].foldAll()
    #expect(r[1].store.position.lost == 0)
    // Made when they were made.
    #expect(try r[1].value("SELECT max(stamp) >> 16 FROM _flotilla_version") == before)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'beta'") == .string("unsent"))
    #expect(try r[2].content("word").count == 4)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// The second name says that a migration keeps the table there for a moment.
  @Test(arguments: ["old", "word_old"])
  func `what a renamed table lacks when it comes back was deleted`(name: String) throws {
    let r = try line()
    try r[1].write("ALTER TABLE word RENAME TO \(name)")
    try r[1].foldAll()
    try r[2].pull(from: r[1])
    #expect(try r[2].content("word").count == (name == "old" ? 3 : 0))
    try r[1].write(
      Self.schema + "INSERT INTO word SELECT * FROM \(name) WHERE w <> 'beta'; DROP TABLE \(name)")
    let before = r[1].store.position.frontier
    try r[1].foldAll()
    #expect(r[1].store.position.frontier.distance(above: before) == 1)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[2].content("word").count == 2)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test(arguments: ["old", "word_old"])
  func `rows that others replace while a table is renamed go when it comes back`(
    name: String
  ) throws {
    let r = try line()
    try r[1].write("ALTER TABLE word RENAME TO \(name)")
    try r[1].foldAll()
    try r[0].write("DELETE FROM word WHERE w = 'Alpha'")
    try r[0].write("UPDATE word SET meaning = 'of others' WHERE w IN ('beta', 'gamma')")
    try r[1].pull(from: r[0])
    #expect(r[1].store.position.lost == 0)
    try r[1].reopen()
    let before = r[1].store.position.frontier
    try r[1].write("ALTER TABLE \(name) RENAME TO word")
    try r[1].foldAll()
    #expect(r[1].store.position.frontier == before)
    #expect(try r[1].content("word").count == 2)
    #expect(try r[1].store.conflictLog.list(all: true).isEmpty)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `a row that was written in a renamed table is an edit, whatever others did`() throws {
    let r = try line()
    try r[1].write("ALTER TABLE word RENAME TO word_old")
    try r[1].foldAll()
    try r[0].write("DELETE FROM word")
    try r[1].pull(from: r[0])
    try r[1].write("UPDATE word_old SET meaning = 'written' WHERE w = 'beta'")
    try r[1].write("ALTER TABLE word_old RENAME TO word")
    try r[1].foldAll()
    #expect(try r[1].value("SELECT group_concat(w) FROM word") == .string("beta"))
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    try r[2].pull(from: r[0])
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Nobody had looked when its table got another name, and all rows come again meanwhile.
  @Test func `a row that was deleted before its table was renamed stays deleted`() throws {
    let r = try line()
    try r[1].write("DELETE FROM word WHERE w = 'beta'; ALTER TABLE word RENAME TO word_old")
    try r[1].foldAll()
    try r[1].repair(from: r[0])
    try r[1].write("UPDATE word_old SET meaning = 'written' WHERE w = 'gamma'")
    try r[1].write("ALTER TABLE word_old RENAME TO word")
    try r[1].foldAll()
    #expect(try r[1].content("word").count == 2)
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    try r[2].pull(from: r[0])
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'gamma'") == .string("written"))
    #expect(try r[0].content("word").count == 2)
    #expect(try r[0].store.conflictLog.list(all: true).isEmpty)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `tables and rows that wait are listed with the reason`() throws {
    let r = try line()
    #expect(try r[1].store.tableSurvey.waitingTables() == [])
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    let waiting = try #require(r[1].store.tableSurvey.waitingTables().first)
    #expect(waiting.name == "word" && waiting.rows == 0 && waiting.lost == 3)
    #expect(waiting.reason.contains("no table"))
    try r[1].repair(from: r[0])
    try r[1].write("CREATE VIEW word AS SELECT 1 AS w")
    try r[1].foldAll()
    let view = try #require(r[1].store.tableSurvey.waitingTables().first)
    #expect(view.reason.contains("is a view") && view.remedy != nil)
    #expect(view.rows == 3 && view.lost == 0)
    #expect(
      try r[1].store.tableSurvey.shelvedRows() == [
        ShelvedRows(table: "word", reason: .missingTable, rows: 3)
      ])
  }

  @Test func `an end of tracking makes the frontier whole again`() throws {
    let r = try line()
    for replica in r.prefix(2) {
      try replica.write("DROP TABLE word")
      try replica.foldAll()
    }
    try r[2].pull(from: r[1])
    #expect(r[2].store.position.frontier != r[1].store.position.frontier)
    try r[1].store.untrack(["word"], at: r[1].now)
    try r[1].reopen()
    try r[2].pull(from: r[1])
    #expect(r[2].store.position.frontier == r[1].store.position.frontier)
  }
}

extension TestReplica {
  /// The number of its last edit.
  fileprivate var ownSeq: UInt64 { store.position.frontier[store.own] }

  /// Takes all buckets of another replica, as after a comparison of digests.
  func repair(from other: TestReplica) throws {
    let (_, batches) = try other.export(.buckets(Array(0..<Digest.bucketCount)))
    try merge(batches, .repair, from: other)
  }
}
