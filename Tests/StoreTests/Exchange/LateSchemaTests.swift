import Replication
import SQLite
import Testing

@testable import Store

/// Tables and columns that a replica does not have yet, or no longer.
@Suite struct LateSchemaTests {
  static let word = [TestTable.word]
  static let schema = "CREATE TABLE word\(word[0].sql);"

  /// The middle one of three lacks the table.
  func line() throws -> [TestReplica] {
    let r = try (1...3).map {
      try TestReplica($0, schema: $0 == 2 ? "" : Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[0].write("INSERT INTO word VALUES ('Alpha', 1), ('beta', 2), ('Gamma', 3)")
    return r
  }

  @Test func `rows wait for their table and are passed on meanwhile`() throws {
    let r = try line()
    try r[1].pull(from: r[0])
    #expect(try r[1].store.survey.figures().parked == 3)
    try r[2].pull(from: r[1])
    #expect(try r[2].content("word") == r[0].content("word"))
    try r[1].write(Self.schema)
    try r[1].foldAll()
    #expect(try Verdict(r, Self.word).faults == [])
  }

  /// It was never folded: nobody has looked at it before it was deleted.
  @Test func `a row comes in place of one that a program has written and deleted there`() throws {
    var pace = Pace()
    pace.comparedRows = 1
    let r = try [
      TestReplica(1, schema: Self.schema, tracking: ["word"]), TestReplica(2, pace: pace),
    ]
    try r[0].write("INSERT INTO word VALUES ('Alpha', 1), ('Gamma', 3)")
    try r[1].pull(from: r[0])
    try r[1].write("\(Self.schema) INSERT INTO word VALUES ('a', 0), ('gamma', 'mine')")
    _ = try r[1].store.fold(at: r[1].now)
    try r[1].write("DELETE FROM word WHERE w = 'gamma'")
    try r[1].foldAll()
    #expect(try r[1].store.tableSurvey.shelvedRows() == [])
    #expect(try r[1].value("SELECT meaning FROM word WHERE w = 'gamma'") == .integer(3))
    try r[0].pull(from: r[1])
    #expect(try Verdict(r, Self.word).faults == [])
  }

  /// What is shown of them is `{"w": "Alpha"}`, not `{"0": "Alpha"}`.
  @Test func `keys of rows without a table are called as the site calls them`() throws {
    let r = try line()
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    func keys(_ replica: TestReplica) throws -> Set<[String]> {
      let versions = try replica.application.rows(
        """
        SELECT key FROM _flotilla_version JOIN _flotilla_local ON id = tbl WHERE name = 'word'
        """)
      return Set(
        versions.map { row in
          Array(replica.store.tables.named(Key(bytes: row[0].blob ?? []), of: "word").keys)
        })
    }
    #expect(try keys(r[1]) == [["w"]])
    try r[1].reopen()
    #expect(try keys(r[1]) == [["w"]])
    // The last one hears of it from who lacks the table, and of one row that it is gone alone.
    try r[0].write("DELETE FROM word WHERE w = 'alpha'")
    try r[0].foldAll()
    try r[2].write("DROP TABLE word")
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    #expect(try keys(r[2]) == [["w"]])
    try r[0].write("DROP TABLE word")
    try r[0].reopen()
    #expect(try keys(r[0]) == [["w"]])
  }

  /// One of two rows of one code is parked where the column is there; so it is where it comes late.
  @Test(arguments: [false, true])
  func `a value that waited for its column claims it like any other`(isWritten: Bool) throws {
    let (narrow, wide) = (
      "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, n INTEGER)",
      "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, n INTEGER, code TEXT UNIQUE)"
    )
    let r = try (1...3).map {
      try TestReplica($0, schema: $0 == 2 ? narrow : wide, tracking: $0 == 1 ? ["item"] : [])
    }
    for other in r[1...] { try other.pull(from: r[0]) }
    try r[0].write("INSERT INTO item VALUES ('a', 1, 'p'), ('b', 1, 'q'), ('c', 1, 'r')")
    try r[0].foldAll()
    r[2].clock += 1_000
    try r[2].write("INSERT INTO item VALUES ('d', 1, 'p'), ('e', 1, 'q'), ('f', 1, 's')")
    try r[2].foldAll()
    for other in [r[0], r[2]] { try r[1].pull(from: other) }
    #expect(try r[1].content("item").count == 6)
    r[1].clock += 2_000
    try r[1].write(
      "BEGIN; ALTER TABLE item RENAME TO o; \(wide); INSERT INTO item(id, n) SELECT id, n FROM o;"
        + "DROP TABLE o; COMMIT")
    // Who writes a row before anybody has looked has not seen what it lacks.
    if isWritten { try r[1].write("UPDATE item SET n = 2 WHERE id = 'd'") }
    try r[1].foldAll()
    for _ in 1...3 {
      for one in r { for other in r where one !== other { try one.pull(from: other) } }
    }
    for replica in r {
      #expect(try replica.content("item") == r[0].content("item"))
      #expect(try replica.store.columns.kept().flatMap(\.columns) == [])
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
    let rows = try r[0].application.prepareRows(
      "SELECT id || n || coalesce(code, '-') FROM item ORDER BY id")
    #expect(
      rows
        == (isWritten
          ? ["a1p", "b1q", "c1r", "d2-", "f1s"] : ["a1p", "b1q", "c1r", "f1s"]))
  }

  @Test func `many rows get the column that they waited for`() throws {
    let r = try (1...2).map {
      try TestReplica(
        $0, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY)", tracking: $0 == 1 ? ["t"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("ALTER TABLE t ADD COLUMN a; ALTER TABLE t ADD COLUMN b")
    try r[0].write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1201)
      INSERT INTO t SELECT i, i, i FROM n
      """)
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    try r[1].write("ALTER TABLE t ADD COLUMN a")
    try r[1].foldAll()
    #expect(try r[1].value("SELECT count(*) FROM t WHERE a = id") == .integer(1_201))
    #expect(try r[1].store.columns.kept().map(\.rows) == [1_201])
    try r[1].write("ALTER TABLE t ADD COLUMN b")
    try r[1].foldAll()
    #expect(try r[1].content("t") == r[0].content("t"))
  }

  @Test func `changes of rows that wait for their table arrive everywhere`() throws {
    let r = try line()
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    try r[0].write(
      "UPDATE word SET w = 'ALPHA' WHERE w = 'alpha'; DELETE FROM word WHERE w = 'beta'")
    try r[0].foldAll()
    try r[0].write("UPDATE word SET meaning = 9 WHERE w = 'gamma'")
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    #expect(try r[2].content("word") == r[0].content("word"))
    // Whoever lacks the table still knows which keys are one.
    #expect(Set(r.map(\.store.position.digest.root)).count == 1)
    try r[1].write(Self.schema)
    try r[1].foldAll()
    #expect(try Verdict(r, Self.word).faults == [])
  }

  @Test func `a table that an application fills before anybody looks keeps both`() throws {
    let r = try line()
    try r[1].pull(from: r[0])
    try r[1].write(Self.schema + "INSERT INTO word VALUES ('alpha', 'mine'), ('delta', 4)")
    try r[1].foldAll()
    try r[0].exchange(with: r[1])
    try r[2].pull(from: r[1])
    #expect(try Verdict(r, Self.word).faults == [])
    #expect(try r[0].value("SELECT meaning FROM word WHERE w = 'delta'") == .integer(4))
    #expect(try r[1].store.survey.figures().conflicts == 1)
  }

  @Test func `a table that was dropped and made anew is filled by the others`() throws {
    let r = try line()
    try r[1].write(Self.schema)
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    try r[1].write("DROP TABLE word")
    try r[1].foldAll()
    try r[2].write("INSERT INTO word VALUES ('late', 5)")
    try r[1].exchange(with: r[2])
    try r[1].write(Self.schema)
    try r[1].foldAll()
    try r[0].exchange(with: r[1])
    try r[1].repair(from: r[0])
    #expect(try r[0].value("SELECT count(*) FROM word") == .integer(4))
    #expect(try Verdict(r, Self.word).faults == [])
  }

  static let notes = [
    TestTable(
      name: "note", sql: "(id TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 5)",
      key: [("id", ["'a'"])], collations: [.binary], columns: ["n"])
  ]

  /// Three replicas with rows a and b; the first has columns that the others lack.
  func columns(_ columns: String...) throws -> [TestReplica] {
    let r = try (1...3).map {
      try TestReplica(
        $0, schema: "CREATE TABLE note\(Self.notes[0].sql)", tracking: $0 == 1 ? ["note"] : [])
    }
    try r[0].write("INSERT INTO note VALUES ('a', 1), ('b', 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    for column in columns { try r[0].write("ALTER TABLE note ADD COLUMN \(column)") }
    return r
  }

  static let additions = [
    "c TEXT", "c INTEGER DEFAULT 7", "c TEXT NOT NULL DEFAULT 'x'", "c REAL DEFAULT 7",
  ]
  static let writes = [
    "UPDATE note SET n = 10", "UPDATE note SET n = 10, c = 7", "UPDATE note SET n = 10, c = 'x'",
    "UPDATE OR IGNORE note SET n = 10, c = NULL",
  ]

  /// Whatever the default, an edit by someone who lacks the column neither wipes nor invents it.
  @Test(arguments: additions, writes)
  func `an edit without the column keeps it`(addition: String, write: String) throws {
    let r = try columns(addition)
    try r[0].write(write)
    try r[1].pull(from: r[0])
    let expected = try r[0].prepareRows("SELECT quote(c) FROM note ORDER BY id")
    r[1].clock += 60_000
    try r[1].write("UPDATE note SET n = 11 WHERE id = 'a'")
    try r[2].pull(from: r[1])
    try r[0].pull(from: r[2])
    #expect(try r[0].prepareRows("SELECT quote(c) FROM note ORDER BY id") == expected)
    for replica in r.dropFirst() {
      try replica.write("ALTER TABLE note ADD COLUMN \(addition)")
      try replica.foldAll()
    }
    #expect(try Verdict(r, Self.notes).faults == [])
  }

  @Test(arguments: additions)
  func `a concurrent edit without the column wins whole`(addition: String) throws {
    let r = try columns(addition)
    try r[0].write("UPDATE note SET c = 'set'")
    try r[0].foldAll()
    r[1].clock += 60_000
    try r[1].write("UPDATE note SET n = 11 WHERE id = 'a'")
    try r[0].exchange(with: r[1])
    try r[2].pull(from: r[0])
    for replica in r.dropFirst() {
      try replica.write("ALTER TABLE note ADD COLUMN \(addition)")
      try replica.foldAll()
    }
    #expect(try Verdict(r, Self.notes).faults == [])
  }

  @Test func `a row of a new table waits if what it refers to was just deleted`() throws {
    let parent = "CREATE TABLE word(w TEXT PRIMARY KEY NOT NULL, n);"
    let child = "CREATE TABLE line(id TEXT PRIMARY KEY NOT NULL, w TEXT REFERENCES word);"
    var pace = Pace()
    pace.journalEntries = 1
    let r = [
      try TestReplica(1, schema: parent + child, tracking: ["word", "line"]),
      try TestReplica(2, schema: parent, pace: pace),
    ]
    try r[0].write("INSERT INTO word VALUES ('a', 1), ('b', 1); INSERT INTO line VALUES (1, 'a')")
    try r[1].pull(from: r[0])
    try r[1].write("DELETE FROM word WHERE w = 'a'; UPDATE word SET n = 2; \(child)")
    var hasMore = true
    while hasMore {
      hasMore = try r[1].store.fold(at: r[1].now).hasMore
      #expect(try r[1].application.rows("PRAGMA foreign_key_check").isEmpty)
    }
    #expect(try r[1].store.tableSurvey.parkedRows().map(\.why) == ["reference"])
    try r[0].exchange(with: r[1])
    #expect(try r[0].content("line") == [] && r[1].content("line") == [])
    try r[0].write("INSERT INTO word VALUES ('a', 3)")
    try r[0].exchange(with: r[1])
    #expect(try r[0].content("line").count == 1 && r[0].content("line") == r[1].content("line"))
  }

  @Test func `what is written into a new column before anybody looks stays`() throws {
    let r = try columns("c TEXT")
    try r[0].write("UPDATE note SET c = 'first'")
    try r[1].pull(from: r[0])
    r[1].clock += 60_000
    try r[1].write("ALTER TABLE note ADD COLUMN c TEXT; UPDATE note SET c = 'mine' WHERE id = 'a'")
    try r[1].write("UPDATE note SET n = 3 WHERE id = 'b'")
    try r[0].exchange(with: r[1])
    #expect(try r[0].prepareRows("SELECT c FROM note ORDER BY id") == ["mine", "first"])
    // The program could not see what was kept for the column.
    let unseen = try r[1].store.conflictLog.list(all: true).flatMap { $0.loser?.values ?? [] }
    #expect(unseen.contains { $0.name == "c" && $0.value == .text(Array("first".utf8)) })
    try r[2].write("ALTER TABLE note ADD COLUMN c TEXT")
    try r[2].pull(from: r[0])
    #expect(try Verdict(r, Self.notes).faults == [])
  }
}

extension TestReplica {
  func prepareRows(_ sql: String) throws -> [String] { try application.prepareRows(sql) }
}
