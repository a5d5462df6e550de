import Replication
import SQLite
import Testing

@testable import Store

/// `tag` takes NULL at a machine that has migrated, and not yet at another one, which shows
/// something else there. The NULL is kept until it can be shown.
@Suite struct StandInTests {
  /// Declarations of `tag` before and after, and what a row shows for NULL before.
  struct Change: Sendable {
    var before: String
    var after: String
    var shown: String

    init(_ before: String, _ after: String, _ shown: String) {
      (self.before, self.after, self.shown) = (before, after, shown)
    }
  }

  static let changes = [
    Change("TEXT NOT NULL DEFAULT 'none'", "TEXT DEFAULT 'none'", "none"),
    Change("TEXT NOT NULL DEFAULT 'none'", "TEXT", "none"),
    Change("TEXT NOT NULL DEFAULT 'none'", "TEXT DEFAULT 'other'", "none"),
    Change("TEXT NOT NULL", "TEXT", "x"),
    Change("TEXT NOT NULL", "TEXT DEFAULT 'other'", "x"),
  ]

  /// Replicas with the rows a and b, of which the first one has migrated and emptied `tag` of a.
  private func replicas(
    _ change: Change, n: String = "1", _ count: Int = 2
  ) throws -> [TestReplica] {
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, tag \(change.before), n)"
    let r = try (1...UInt64(count)).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["note"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO note VALUES ('a', 'x', \(n)), ('b', 'y', 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try migrate(r[0], change.after)
    try r[0].write("UPDATE note SET tag = NULL WHERE id = 'a'")
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    #expect(try tags(r[1]) == [change.shown, "y"])
    return r
  }

  private func migrate(_ replica: TestReplica, _ tag: String) throws {
    try replica.write(
      """
      BEGIN; CREATE TABLE new__note(id TEXT PRIMARY KEY NOT NULL, tag \(tag), n);
      INSERT INTO new__note(id, tag, n) SELECT id, tag, n FROM note; DROP TABLE note;
      ALTER TABLE new__note RENAME TO note; COMMIT
      """)
    try replica.foldAll()
  }

  private func tags(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT coalesce(tag, 'NULL') FROM note ORDER BY id")
  }

  /// All hear of all: every table shows the same, as its versions say, and nothing waits.
  private func expectEqual(_ r: [TestReplica], _ expected: [String]) throws {
    for _ in 1...3 {
      for one in r { for other in r where other !== one { try one.pull(from: other) } }
    }
    for replica in r {
      #expect(try tags(replica) == expected)
      #expect(try replica.content("note") == r[0].content("note"))
      #expect(replica.store.position.digest == r[0].store.position.digest)
      #expect(try replica.application.prepareRows("SELECT why FROM _flotilla_shelf") == [])
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
    }
  }

  /// Its versions say nothing of the column, and no new ones are made: an edit of the row tells.
  @Test func `a row waits for a required column until one who has a default edits it`() throws {
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, n)"
    let r = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["note"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("DROP TABLE note; CREATE TABLE note(id TEXT PRIMARY KEY, n, tag TEXT NOT NULL)")
    try r[1].write("INSERT INTO note VALUES ('a', 1)")
    try r[0].pull(from: r[1])
    try r[1].write("ALTER TABLE note ADD COLUMN tag TEXT NOT NULL DEFAULT 'none'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try r[0].store.survey.figures().parked == 1)
    try r[1].write("UPDATE note SET n = 2")
    try r[0].pull(from: r[1])
    #expect(try tags(r[0]) == ["none"] && r[0].store.survey.figures().parked == 0)
  }

  @Test(arguments: changes)
  func `a NULL that came too early is shown once the column takes it`(change: Change) throws {
    let r = try replicas(change)
    try r[1].reopen()
    try migrate(r[1], change.after)
    #expect(try tags(r[1]) == ["NULL", "y"])
    try expectEqual(r, ["NULL", "y"])
  }

  @Test(arguments: changes)
  func `an edit of another column leaves it NULL`(change: Change) throws {
    let r = try replicas(change)
    try r[1].write("UPDATE note SET n = 7 WHERE id = 'a'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try tags(r[0]) == ["NULL", "y"])
    try migrate(r[1], change.after)
    try expectEqual(r, ["NULL", "y"])
    #expect(try r[1].application.prepareRows("SELECT n FROM note WHERE id = 'a'") == ["7"])
  }

  @Test(arguments: changes)
  func `what a program writes there stands`(change: Change) throws {
    let r = try replicas(change)
    try r[1].write("UPDATE note SET tag = 'w' WHERE id = 'a'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try tags(r[0]) == ["w", "y"])
    try migrate(r[1], change.after)
    try expectEqual(r, ["w", "y"])
  }

  @Test(arguments: changes)
  func `a row that a program deletes before anybody has looked is gone`(change: Change) throws {
    let r = try replicas(change)
    try r[1].write("DELETE FROM note WHERE id = 'a'")
    try migrate(r[1], change.after)
    try expectEqual(r, ["y"])
  }

  @Test(arguments: ["1", "zeroblob(3000000)"])
  func `who shows something else passes the NULL on`(n: String) throws {
    for change in Self.changes {
      let r = try replicas(change, n: n, 3)
      try r[2].pull(from: r[1])
      #expect(try tags(r[2]) == [change.shown, "y"])
      try migrate(r[2], change.after)
      #expect(try tags(r[2]) == ["NULL", "y"])
      try migrate(r[1], change.after)
      try expectEqual(r, ["NULL", "y"])
    }
  }

  @Test(arguments: ["TEXT NOT NULL DEFAULT 'none'", "TEXT DEFAULT 'none'"])
  func `a column that goes meanwhile and comes back is NULL`(back: String) throws {
    let change = Self.changes[0]
    let r = try replicas(change)
    try r[1].write("ALTER TABLE note DROP COLUMN tag")
    try r[1].foldAll()
    try r[1].write("UPDATE note SET n = 7 WHERE id = 'a'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try tags(r[0]) == ["NULL", "y"])
    try r[1].write("ALTER TABLE note ADD COLUMN tag \(back)")
    try r[1].foldAll()
    try migrate(r[1], change.after)
    #expect(try tags(r[1])[0] == "NULL")
    #expect(try tags(r[0]) == ["NULL", "y"])
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// A column that takes no NULL any more, where one machine is yet to make that of it.
  static let stricter = [
    Change("TEXT", "TEXT NOT NULL", "x"),
    Change("TEXT", "TEXT NOT NULL DEFAULT 'none'", "none"),
    Change("TEXT DEFAULT 'none'", "TEXT NOT NULL DEFAULT 'none'", "none"),
    Change("TEXT DEFAULT 'other'", "TEXT NOT NULL DEFAULT 'none'", "none"),
  ]

  /// The first replica has migrated, and hears of a row that the second one has emptied since.
  private func stricterReplicas(_ change: Change) throws -> [TestReplica] {
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, tag \(change.before), n)"
    let r = try (1...3).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["note"] : [])
    }
    try r[0].write("INSERT INTO note VALUES ('a', 'x', 1), ('b', 'y', 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try migrate(r[0], change.after)
    try r[1].write("UPDATE note SET tag = NULL WHERE id = 'a'")
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    #expect(try tags(r[0]) == [change.shown, "y"])
    return r
  }

  /// Makes the migration that forbids NULL, and fills the column where it stands.
  private func fill(_ replica: TestReplica, _ change: Change, with value: String) throws {
    try replica.write(
      """
      BEGIN; CREATE TABLE new__note(id TEXT PRIMARY KEY NOT NULL, tag \(change.after), n);
      INSERT INTO new__note SELECT id, coalesce(tag, '\(value)'), n FROM note; DROP TABLE note;
      ALTER TABLE new__note RENAME TO note; COMMIT
      """)
    try replica.foldAll()
  }

  @Test(arguments: stricter)
  func `what a migration puts in the place of NULL stands everywhere`(change: Change) throws {
    let r = try stricterReplicas(change)
    for replica in r.dropFirst() { try fill(replica, change, with: "filled") }
    try expectEqual(r, ["filled", "y"])
  }

  @Test(arguments: stricter)
  func `an edit where a column takes NULL no more says what it shows`(change: Change) throws {
    let r = try stricterReplicas(change)
    try r[0].reopen()
    try r[0].write("UPDATE note SET n = 7 WHERE id = 'a'")
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    #expect(try tags(r[1]) == [change.shown, "y"])
    for replica in r.dropFirst() { try fill(replica, change, with: "filled") }
    try expectEqual(r, [change.shown, "y"])
    #expect(try r[2].application.prepareRows("SELECT n FROM note WHERE id = 'a'") == ["7"])
  }
}
