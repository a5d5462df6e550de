import Replication
import SQLite
import Testing

@testable import Store

/// Migrations that change the key of a table, made on each machine at another time.
@Suite struct KeyChangeTests {
  /// One migration of the table t, whose rows have v beside their keys.
  struct Change: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var before: String
    var after: String
    /// What the new table takes over, and from which columns.
    var copy = ("a, b, v", "a, b, v")
    /// The old key of a number, as SQL, and what finds the row of it afterwards.
    var key: @Sendable (Int) -> String = { "'k\($0)'" }
    var found: @Sendable (Int) -> String = { "a = 'k\($0)'" }

    var migration: String {
      """
      BEGIN IMMEDIATE; CREATE TABLE n(\(after)); INSERT INTO n(\(copy.0)) SELECT \(copy.1) FROM t;
      DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
      """
    }
  }

  static let rest = "b TEXT NOT NULL DEFAULT '1', v TEXT"
  static let changes = [
    Change(
      testDescription: "one more column", before: "a TEXT PRIMARY KEY, \(rest)",
      after: "a TEXT, \(rest), PRIMARY KEY(a, b)"),
    Change(
      testDescription: "one column less", before: "a TEXT, \(rest), PRIMARY KEY(a, b)",
      after: "a TEXT PRIMARY KEY, \(rest)"),
    Change(
      testDescription: "a number becomes a text", before: "a INTEGER PRIMARY KEY, \(rest)",
      after: "a TEXT PRIMARY KEY, \(rest)", key: { "\($0)" }, found: { "a = '\($0)'" }),
    Change(
      testDescription: "a text becomes a number", before: "a TEXT PRIMARY KEY, \(rest)",
      after: "a INTEGER PRIMARY KEY, \(rest)", key: { "'\($0)'" }, found: { "a = \($0)" }),
    Change(
      testDescription: "another name", before: "a TEXT PRIMARY KEY, \(rest)",
      after: "code VARCHAR PRIMARY KEY, \(rest)", copy: ("code, b, v", "a, b, v"),
      found: { "code = 'k\($0)'" }),
    Change(
      testDescription: "another order", before: "a TEXT, \(rest), PRIMARY KEY(a, b)",
      after: "a TEXT, \(rest), PRIMARY KEY(b, a)"),
    Change(
      testDescription: "another collation", before: "a TEXT PRIMARY KEY, \(rest)",
      after: "a TEXT COLLATE NOCASE PRIMARY KEY, \(rest)"),
  ]

  /// Replicas that are equal, with ten rows and a table whose key stays.
  static func site(_ count: UInt64, _ change: Change) throws -> [TestReplica] {
    let schema =
      "CREATE TABLE t(\(change.before)); CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, v);"
    let r = try (1...count).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["t", "u"] : [])
    }
    for number in 0..<10 {
      try r[0].write("INSERT INTO t(a, v) VALUES (\(change.key(number)), 'o')")
    }
    try r[0].write("INSERT INTO u VALUES ('k', 0)")
    for other in r.dropFirst() { try other.exchange(with: r[0]) }
    return r
  }

  static func settle(_ replicas: [TestReplica]) throws {
    for _ in 0..<2 {
      for (index, one) in replicas.enumerated() {
        for other in replicas[..<index] { try one.exchange(with: other) }
      }
    }
  }

  static func set(_ replica: TestReplica, _ row: String, _ value: String) throws {
    try replica.write("UPDATE t SET v = '\(value)' WHERE \(row)")
  }

  static func value(_ replica: TestReplica, _ row: String) throws -> String? {
    try replica.value("SELECT v FROM t WHERE \(row)").string
  }

  static func expectEqual(
    _ replicas: [TestReplica], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let first = replicas[0]
    for other in replicas.dropFirst() {
      for table in ["t", "u"] {
        #expect(
          try other.content(table) == first.content(table), sourceLocation: sourceLocation)
      }
      #expect(
        other.store.position.digest.root == first.store.position.digest.root,
        sourceLocation: sourceLocation
      )
      #expect(
        other.store.position.frontier == first.store.position.frontier,
        sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: changes)
  func `edits before, between and after a migration stand once all have made it`(
    _ change: Change
  ) throws {
    let r = try Self.site(3, change)
    let (old, now) = ({ "a = \(change.key($0))" }, change.found)
    // The third is away for all of it.
    try Self.set(r[2], old(7), "c offline")
    try r[2].write("INSERT INTO t(a, v) VALUES (\(change.key(12)), 'c new')")
    try Self.set(r[0], old(0), "a before")
    try Self.set(r[1], old(1), "b before")
    try r[0].exchange(with: r[1])
    try Self.set(r[1], old(2), "b unsent")
    try Self.set(r[0], old(3), "a unsent")
    try r[0].write("DELETE FROM t WHERE \(old(6))")
    try r[0].write(change.migration)
    try Self.set(r[0], now(4), "a after")
    try r[0].foldAll()
    try Self.set(r[0], now(0), "a gap")
    try Self.set(r[1], old(5), "b gap")
    try r[1].write("INSERT INTO t(a, v) VALUES (\(change.key(11)), 'b new')")
    try r[1].write("DELETE FROM t WHERE \(old(8)); UPDATE u SET v = 1")
    try r[0].exchange(with: r[1])
    try r[0].exchange(with: r[1])
    // All else flows, and the table waits.
    #expect(try r[0].content("u") == r[1].content("u"))
    #expect(try Self.value(r[1], old(0)) == "a before")
    #expect(try Self.value(r[0], now(2)) == "o" && Self.value(r[0], now(8)) == "o")
    #expect(try r[0].store.survey.figures().parked == 0 && r[1].store.survey.figures().parked == 0)
    let waiting = try r[1].store.tableSurvey.waitingKeys()
    #expect(waiting.map(\.isBehind) == [true] && waiting.map(\.rows) == [9])
    #expect(r[0].store.position.digest.root == r[1].store.position.digest.root)

    try r[1].write(change.migration)
    try Self.set(r[1], now(1), "b after")
    try r[0].exchange(with: r[1])
    try r[0].exchange(with: r[1])
    try Self.expectEqual([r[0], r[1]])
    try r[2].exchange(with: r[0])
    #expect(try r[2].content("u") == r[0].content("u"))
    try r[2].write(change.migration)
    try r[2].foldAll()
    try Self.settle(r)
    try Self.expectEqual(r)
    let expected = [
      "a gap", "b after", "b unsent", "a unsent", "a after", "b gap", nil, "c offline", nil, "o",
      nil, "b new", "c new",
    ]
    for (number, value) in expected.enumerated() {
      #expect(try Self.value(r[2], now(number)) == value, "\(number)")
    }
    #expect(try r.flatMap { try $0.store.conflictLog.list(all: true) }.isEmpty)
    #expect(try r.flatMap { try $0.store.tableSurvey.waitingKeys() }.isEmpty)
    #expect(try r.map { try $0.store.survey.figures().parked } == [0, 0, 0])
    // It goes on as if nothing had been.
    try Self.set(r[2], now(9), "after all")
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try Self.value(r[0], now(9)) == "after all")
  }

  @Test(arguments: changes)
  func `two that migrate before they meet make equal rows and no conflict`(
    _ change: Change
  ) throws {
    let r = try Self.site(2, change)
    for one in r { try one.write(change.migration) }
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try r[0].value("SELECT count(*) FROM t").integer == 10)
    #expect(try r.flatMap { try $0.store.conflictLog.list(all: true) }.isEmpty)
  }

  @Test(arguments: changes)
  func `what a table of another key holds is passed on`(_ change: Change) throws {
    let r = try Self.site(3, change)
    try r[0].write(change.migration)
    // The first has migrated, and hands on what the second wrote under the key of before.
    try Self.set(r[1], "a = \(change.key(3))", "from b")
    try r[0].exchange(with: r[1])
    try r[2].pull(from: r[0])
    #expect(try Self.value(r[2], "a = \(change.key(3))") == "from b")
    // One that lacks the table hands on both.
    let bare = try TestReplica(4)
    try bare.pull(from: r[2])
    let late = try TestReplica(5, schema: "CREATE TABLE t(\(change.after));")
    try late.pull(from: bare)
    #expect(try late.value("SELECT count(*) FROM t").integer == 10)
    #expect(late.store.position.digest.root == r[0].store.position.digest.root)
  }

  @Test func `a row that was deleted under the key of before does not come back`() throws {
    let change = Self.changes[0]
    let r = try Self.site(2, change)
    // Nobody has seen the delete when the other migrates, too.
    try r[0].write("DELETE FROM t WHERE a = 'k1'")
    try r[0].foldAll()
    try r[0].write("DELETE FROM t WHERE a = 'k2'")
    for one in r { try one.write(change.migration) }
    try Self.set(r[1], "a = 'k3'", "later")
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try r[0].application.prepareRows("SELECT a FROM t WHERE a IN ('k1', 'k2')") == [])
    #expect(try Self.value(r[0], "a = 'k3'") == "later")
  }

  /// Who has made both before waits for nothing, whoever tells it: the row, or the delete first.
  @Test(arguments: [true, false])
  func `a row that is deleted between two such migrations waits nowhere`(isRowFirst: Bool) throws {
    let changes = [
      Self.changes[2],
      Change(
        testDescription: "", before: Self.changes[2].after,
        after: "a TEXT, \(Self.rest), PRIMARY KEY(a, b)"),
    ]
    let r = try Self.site(3, changes[0])
    for replica in r.prefix(2) {
      for change in changes {
        try replica.write(change.migration)
        try replica.foldAll()
      }
    }
    try r[2].write("INSERT INTO t(a, v) VALUES (77, 'own')")
    let (covers, batches) = try r[2].export(above: r[0].store.position.frontier)
    if isRowFirst { try r[0].merge(batches, .full(covers: covers), from: r[2]) }
    #expect(try r[0].store.tableSurvey.waitingKeys().map(\.rows) == (isRowFirst ? [1] : []))
    try r[2].write(changes[0].migration)
    try r[2].foldAll()
    try r[2].write("DELETE FROM t WHERE a = '77'")
    try r[2].write(changes[1].migration)
    try r[2].foldAll()
    try r[0].pull(from: r[2])
    if !isRowFirst { try r[0].merge(batches, .full(covers: covers), from: r[2]) }
    try r[1].pull(from: r[0])
    for replica in r.prefix(2) {
      #expect(try replica.store.tableSurvey.waitingKeys().isEmpty)
      #expect(try replica.store.tableSurvey.shelvedRows() == [])
    }
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try r[0].value("SELECT count(*) FROM t WHERE a = '77'") == .integer(0))
  }

  @Test func `a key that is computed loses nothing, though nobody can tell the rows`() throws {
    let change = Change(
      testDescription: "", before: "a TEXT PRIMARY KEY, \(Self.rest)",
      after: "id VARCHAR PRIMARY KEY, \(Self.rest)", copy: ("id, b, v", "'K' || a, b, v"))
    let r = try Self.site(2, change)
    try r[0].write(change.migration)
    try Self.set(r[0], "id = 'Kk1'", "a gap")
    try Self.set(r[1], "a = 'k2'", "b gap")
    try r[0].exchange(with: r[1])
    try r[1].write(change.migration)
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try Self.value(r[1], "id = 'Kk1'") == "a gap")
    // What gives way is in the log.
    let lost = try r[1].store.conflictLog.list(all: true).compactMap {
      $0.loser?.values.last?.value
    }
    #expect(lost.contains(.text(Array("b gap".utf8))))
    // The second says that it has made its rows anew.
    #expect(try r[0].store.tableSurvey.waitingKeys().map(\.rows) == [1])
    #expect(r[1].store.position.keys.count == 1)
    let told = r[1].store.position.keys
    try r[0].store.members.note([
      KnownAuthor(origin: r[1].origin, node: r[1].store.node, name: "b", life: 0)
    ])
    #expect(try r[0].store.letGoOfFormer(by: r[1].store.node, keys: told) == 1)
    #expect(try r[0].store.tableSurvey.waitingKeys().isEmpty)
  }

  @Test func `who goes back to the key of before leads again`() throws {
    let change = Self.changes[0]
    let r = try Self.site(2, change)
    try r[0].write(change.migration)
    try r[0].foldAll()
    try r[0].write(
      """
      BEGIN IMMEDIATE; CREATE TABLE n(\(change.before)); INSERT INTO n SELECT * FROM t;
      DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
      """)
    try Self.set(r[0], "a = 'k1'", "back")
    try r[1].write("UPDATE t SET v = 'b' WHERE a = 'k2'")
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try Self.value(r[1], "a = 'k1'") == "back" && Self.value(r[0], "a = 'k2'") == "b")
    #expect(try r.flatMap { try $0.store.tableSurvey.waitingKeys() }.isEmpty)
  }

  @Test(arguments: [false, true])
  func `who makes two such migrations at once shows what is older than edits between them`(
    isAgain: Bool
  ) throws {
    let migrations = [Self.changes[0], Self.changes[5]].map(\.migration)
    let r = try Self.site(3, Self.changes[0])
    try r[0].write(migrations[0])
    try r[0].foldAll()
    try Self.set(r[0], "a = 'k1'", "between")
    try r[0].write("DELETE FROM t WHERE a IN ('k2', 'k3')")
    for other in r.dropFirst() { try other.exchange(with: r[0]) }
    for other in r.dropFirst() {
      for migration in migrations { try other.write(migration) }
      try other.foldAll()
      #expect(try Self.value(other, "a = 'k2'") == nil)
    }
    try r[0].write(migrations[1])
    if isAgain { try r[0].write("INSERT INTO t(a, v) VALUES ('k3', 'again')") }
    try Self.settle(r)
    try Self.expectEqual(r)
    for one in r {
      #expect(try Self.value(one, "a = 'k1'") == "between")
      #expect(try Self.value(one, "a = 'k2'") == nil)
      #expect(try Self.value(one, "a = 'k3'") == (isAgain ? "again" : nil))
    }
  }

  @Test func `a reader that migrates makes no edits`() throws {
    let change = Self.changes[0]
    let r = try Self.site(2, change)
    try r[1].store.allow(Rights(general: .read), delivered: 0, at: r[1].now)
    try r[0].write(change.migration)
    try Self.set(r[0], "a = 'k1'", "a gap")
    try r[1].write(change.migration)
    let before = r[1].store.position.frontier[r[1].origin]
    try r[1].foldAll()
    try r[1].pull(from: r[0])
    #expect(r[1].store.position.frontier[r[1].origin] == before)
    #expect(try r[1].content("t") == r[0].content("t"))
  }

  @Test func `a file of another shape opens again as it was`() throws {
    let change = Self.changes[0]
    let r = try Self.site(2, change)
    try r[0].write(change.migration)
    try r[1].pull(from: r[0])
    let (digest, waiting) = (
      r[1].store.position.digest.root, try r[1].store.tableSurvey.waitingKeys()
    )
    try r[1].reopen()
    #expect(r[1].store.position.digest.root == digest)
    #expect(try r[1].store.tableSurvey.waitingKeys() == waiting)
    try r[1].write(change.migration)
    try r[1].reopen()
    try Self.settle(r)
    try Self.expectEqual(r)
  }

  @Test func `a row that is made again after the migration stands, though the clock went back`()
    throws
  {
    let change = Self.changes[2]
    let r = try Self.site(2, change)
    try r[0].write("DELETE FROM t WHERE a = 3")
    try r[0].foldAll()
    try r[0].write(change.migration)
    try r[0].foldAll()
    r[0].clock -= 86_400_000
    try r[0].write("INSERT INTO t(a, v) VALUES ('3', 'again')")
    try r[0].foldAll()
    // It shows the row as it was before it was deleted.
    try r[1].write(change.migration)
    try r[1].foldAll()
    try Self.settle(r)
    try Self.expectEqual(r)
    #expect(try Self.value(r[0], "a = '3'") == "again")
  }

  @Test func `what was written before the migration is not looked at twice, after a kill`() throws {
    let change = Self.changes[2]
    var pace = Pace()
    pace.journalEntries = 2
    let schema = "CREATE TABLE t(\(change.before)); CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, v)"
    let r = try TestReplica(1, schema: schema, tracking: ["t", "u"], pace: pace)
    for number in 0..<9 { try r.write("INSERT INTO t(a, v) VALUES (\(number), 'o')") }
    try r.foldAll()
    try r.write("UPDATE t SET v = 'before'")
    try r.write(change.migration)
    let fold = { try r.store.fold(at: r.now) }
    #expect(try fold().hasMore)
    try r.write("DELETE FROM t WHERE a = '0'")
    #expect(try fold().hasMore)
    try r.reopen()
    try r.write("INSERT INTO t(a, v) VALUES ('0', 'again')")
    try r.foldAll()
    #expect(try Self.value(r, "a = '0'") == "again")
    #expect(try r.value("SELECT count(*) FROM t WHERE v = 'before'").integer == 8)
  }

  @Test func `untracking forgets the rows of every shape`() throws {
    let change = Self.changes[0]
    let r = try Self.site(2, change)
    try r[0].write(change.migration)
    try r[1].exchange(with: r[0])
    try r[0].store.untrack(["t"], at: r[0].now)
    try Self.settle(r)
    for one in r {
      #expect(try one.value("SELECT count(*) FROM _flotilla_shelf").integer == 0)
      #expect(try one.value("SELECT count(*) FROM _flotilla_shape WHERE name = 't'").integer == 0)
      #expect(
        try one.value("SELECT count(*) FROM _flotilla_local WHERE name GLOB '*held*'").integer == 0)
    }
    #expect(r[0].store.position.digest.root == r[1].store.position.digest.root)
  }
}
