import Replication
import SQLite
import Testing

@testable import Store

/// A table that somebody else tracks under the name of one that is here.
@Suite struct ConsentTests {
  static let note = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT);"
  static let mine = "INSERT INTO note VALUES ('own', 'private'), ('both', 'here');"

  /// The second has a table of its own with rows; the first tracks one of that name. A third one
  /// hears of all that from the second alone.
  private func site(_ schema: String = note + mine) throws -> [TestReplica] {
    let r = [
      try TestReplica(1, schema: Self.note, isJoining: false),
      try TestReplica(2, schema: schema, isJoining: false),
      try TestReplica(3, schema: Self.note, isJoining: false),
    ]
    try r[0].write("INSERT INTO note VALUES ('both', 'there'), ('gone', 'x'), ('new', 'y')")
    try r[0].store.track(["note"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    return r
  }

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.prepareRows("SELECT id || ' ' || coalesce(body, '') FROM note ORDER BY id")
  }

  @Test func `is neither sent nor changed, and the rows of others are passed on`() throws {
    let r = try site()
    try r[1].pull(from: r[0])
    try r[1].write("UPDATE note SET body = 'still private' WHERE id = 'own'")
    try r[1].foldAll()
    #expect(try rows(r[1]) == ["both here", "own still private"])
    try r[0].pull(from: r[1])
    try r[2].pull(from: r[1])
    #expect(try rows(r[0]) == ["both there", "gone x", "new y"])
    #expect(try rows(r[2]) == rows(r[0]))
    let waiting = try #require(try r[1].store.tableSurvey.waitingTables().first)
    #expect(waiting.question?.rowsHere == 2 && waiting.rows == 3)
    #expect(try r[1].store.survey.figures().parked == 3)
    // Whatever comes later, and however often the file is opened.
    try r[1].reopen()
    try r[0].write("DELETE FROM note WHERE id = 'gone'")
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    #expect(try r[1].value("SELECT count(*) FROM _flotilla_journal") == .integer(0))
    #expect(try rows(r[1]) == ["both here", "own still private"])
  }

  @Test func `goes below what the site has once its owner says that it is meant`() throws {
    let r = try site()
    try r[1].pull(from: r[0])
    try r[0].write("DELETE FROM note WHERE id = 'gone'")
    try r[0].foldAll()
    try r[1].write("INSERT INTO note VALUES ('gone', 'here, too')")
    try r[1].pull(from: r[0])
    try r[1].store.admit(["note"], at: r[1].now)
    try r[1].foldAll()
    #expect(try rows(r[1]) == ["both there", "new y", "own private"])
    try r[0].pull(from: r[1])
    try r[2].pull(from: r[0])
    #expect(try rows(r[0]) == rows(r[1]))
    #expect(try rows(r[2]) == rows(r[1]))
    // What gave way is kept whole.
    let log = try r[1].prepareRows("SELECT reason FROM _flotilla_conflict ORDER BY id")
    #expect(log == ["unseen", "unseen"])
    try r[1].write("UPDATE note SET body = 'shared' WHERE id = 'own'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try rows(r[0]).contains("own shared"))
  }

  @Test func `stays out for good once its owner says that it is not`() throws {
    let r = try site()
    try r[1].pull(from: r[0])
    try r[1].store.decline(["note"])
    #expect(try r[1].store.tableSurvey.waitingTables().isEmpty)
    #expect(try r[1].store.survey.figures().parked == 0)
    try r[1].reopen()
    try r[0].store.untrack(["note"], at: r[0].now)
    try r[1].pull(from: r[0])
    try r[0].store.track(["note"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    #expect(try r[1].store.tableSurvey.askedTables().isEmpty)
    #expect(try rows(r[1]) == ["both here", "own private"])
    // A word of the same owner ends that.
    try r[1].store.admit(["note"], at: r[1].now)
    try r[1].foldAll()
    #expect(try rows(r[1]).contains("both there"))
  }

  /// A tool that makes a table anew drops the old one first.
  @Test func `is not taken for another one when it was away for a moment`() throws {
    let r = try site()
    try r[1].pull(from: r[0])
    try r[1].write("CREATE TABLE keep AS SELECT * FROM note; DROP TABLE note")
    try r[1].foldAll()
    #expect(try r[1].store.tableSurvey.waitingTables().first?.question == nil)
    try r[1].write(Self.note + "INSERT INTO note SELECT * FROM keep")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try rows(r[0]) == ["both there", "gone x", "new y"])
    #expect(try r[1].store.tableSurvey.askedTables() == ["note"])
  }

  /// There is nothing to ask.
  @Test func `goes on by itself if it is empty or comes later`() throws {
    for schema in ["", Self.note] {
      let r = try site(schema)
      try r[1].pull(from: r[0])
      if schema.isEmpty { try r[1].write(Self.note + "INSERT INTO note VALUES ('late', 'z')") }
      try r[1].foldAll()
      #expect(try r[1].store.tableSurvey.askedTables().isEmpty)
      #expect(try rows(r[1]).contains("both there"))
      try r[0].pull(from: r[1])
      #expect(try rows(r[0]) == rows(r[1]))
    }
  }

  @Test func `is the site's if it was replicated before`() throws {
    let r = try site(Self.note)
    try r[1].pull(from: r[0])
    try r[0].store.untrack(["note"], at: r[0].now)
    try r[1].pull(from: r[0])
    try r[1].write("INSERT INTO note VALUES ('meanwhile', 'z')")
    try r[0].store.track(["note"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try rows(r[0]).contains("meanwhile z"))
  }

  @Test func `is the site's if it was made since the site takes in new tables`() throws {
    let r = [
      try TestReplica(1, isJoining: false), try TestReplica(2, schema: Self.mineBefore),
    ]
    try r[0].store.track([], rule: nil, takesNew: true, at: r[0].now)
    try r[1].pull(from: r[0])
    try r[1].store.endFirstCopy()
    for replica in r { try replica.write(Self.note) }
    try r[1].write("INSERT INTO note VALUES ('own', 'of a migration')")
    #expect(try r[1].store.untracked.new().map(\.name) == ["note"])
    // What was there before is asked about, and is not new.
    try r[0].write("CREATE TABLE old(id TEXT PRIMARY KEY)")
    for name in ["note", "old"] { try r[0].store.track([name], rule: nil, at: r[0].now) }
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try rows(r[0]) == ["own of a migration"])
    #expect(try r[1].store.tableSurvey.askedTables() == ["old"])
    #expect(try r[0].value("SELECT count(*) FROM old") == .integer(0))
  }

  static let mineBefore = "CREATE TABLE old(id TEXT PRIMARY KEY); INSERT INTO old VALUES ('mine')"

  @Test func `of a file that joins is the site's`() throws {
    let r = try site()
    let joiner = try TestReplica(4, schema: Self.note + Self.mine)
    try joiner.pull(from: r[0])
    try joiner.store.endFirstCopy()
    try joiner.foldAll()
    #expect(try joiner.store.tableSurvey.askedTables().isEmpty)
    #expect(try rows(joiner) == ["both there", "gone x", "new y", "own private"])
  }

  @Test func `the setting is no table, and an anchor's rule is not for it`() throws {
    let r = try TestReplica(1, schema: Self.note, isJoining: false)
    try r.store.track(["note"], rule: nil, takesNew: true, at: r.now)
    #expect(try r.store.trackedTables().map(\.name) == ["note"])
    #expect(try r.store.tables.tablesWithoutRule() == ["note"])
    #expect(try r.store.survey.figures().tables.map(\.name) == ["note"])
    #expect(try r.store.tableSurvey.waitingTables().isEmpty)
    #expect(try r.store.untracked.areTakenIn())
    try r.store.track([], rule: nil, takesNew: false, at: r.now)
    #expect(try !r.store.untracked.areTakenIn())
  }

  @Test func `a table that was untracked or is a book or a copy is not new`() throws {
    let r = try TestReplica(1, schema: Self.note, isJoining: false)
    try r.store.track(["note"], rule: nil, takesNew: true, at: r.now)
    try r.store.untrack(["note"], at: r.now)
    try r.write(
      """
      CREATE TABLE django_migrations(id INTEGER PRIMARY KEY, app, name, applied);
      CREATE TABLE new_note(id TEXT PRIMARY KEY); CREATE TABLE keyless(a);
      CREATE TABLE visit(id TEXT PRIMARY KEY);
      """)
    let kinds = Dictionary(
      uniqueKeysWithValues: try r.store.untracked.all().map { ($0.name, $0.kind) })
    #expect(kinds["note"] == .old && kinds["django_migrations"] == .book)
    #expect(kinds["new_note"] == .scratch(of: "note") && kinds["visit"] == .new)
    #expect(try r.store.untracked.new().map(\.name) == ["keyless", "new_note", "visit"])
  }
}
