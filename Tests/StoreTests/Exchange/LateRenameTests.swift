import Replication
import SQLite
import Testing

@testable import Store

/// A migration renames a column in place and drops its neighbour, and no row there tells which of
/// the two is left: an edit that comes from a machine that has both does.
@Suite struct LateRenameTests {
  static let migration =
    "BEGIN; ALTER TABLE person RENAME COLUMN name TO full_name; "
    + "ALTER TABLE person DROP COLUMN fax; COMMIT"
  static let kept = "SELECT id || coalesce(full_name, '-') || coalesce(city, '-') FROM person"
  static let before =
    "SELECT id || coalesce(name, '-') || coalesce(fax, '-') || coalesce(city, '-') FROM person"

  private func replicas(_ count: UInt64 = 2) throws -> [TestReplica] {
    let schema =
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, fax TEXT, city TEXT)"
    let r = try (1...count).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    try r[0].write(
      """
      INSERT INTO person VALUES ('a', 'Ann', '11', 'Bern'), ('b', 'Bob', '22', 'Genf'),
        ('c', 'Cy', '33', 'Biel'), ('d', NULL, '44', 'Chur')
      """)
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write(Self.migration)
    try r[0].foldAll()
    return r
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<3 {
      for one in r { for other in r where one !== other { try one.pull(from: other) } }
    }
  }

  private func rows(_ replica: TestReplica, _ sql: String) throws -> [String] {
    try replica.application.prepareRows(sql + " ORDER BY id")
  }

  private func firstName(_ replica: TestReplica) throws -> String? {
    try replica.store.connection.scalar(
      "SELECT first FROM _flotilla_named WHERE tbl = 'person' AND name = 'full_name'"
    ).string
  }

  /// Edits of either machine in the gap, and what both show after it.
  static let edits: [(old: String, new: String, shown: [String])] = [
    (
      "UPDATE person SET city = 'Basel' WHERE id = 'a'", "",
      ["aAnnBasel", "bBobGenf", "cCyBiel", "d-Chur"]
    ),
    (
      "UPDATE person SET name = 'Anna' WHERE id = 'a'", "",
      ["aAnnaBern", "bBobGenf", "cCyBiel", "d-Chur"]
    ),
    (
      "UPDATE person SET city = 'Basel' WHERE id = 'a'",
      "UPDATE person SET full_name = 'Rob' WHERE id = 'b'",
      ["aAnnBasel", "bRobGenf", "cCyBiel", "d-Chur"]
    ),
    (
      "UPDATE person SET city = 'Basel' WHERE id = 'a'",
      "UPDATE person SET city = 'Lyss' WHERE id = 'b'; "
        + "UPDATE person SET full_name = 'Di' WHERE id = 'd'",
      ["aAnnBasel", "bBobLyss", "cCyBiel", "dDiChur"]
    ),
    (
      "INSERT INTO person VALUES ('e', 'Eva', '55', 'Thun'); "
        + "UPDATE person SET name = 'Cyd' WHERE id = 'c'",
      "INSERT INTO person VALUES ('f', 'Fay', 'Visp')",
      ["aAnnBern", "bBobGenf", "cCydBiel", "d-Chur", "eEvaThun", "fFayVisp"]
    ),
  ]

  @Test(arguments: edits.indices, [false, true])
  func `an edit from elsewhere tells which column it was`(case index: Int, first: Bool) throws {
    let (old, new, shown) = Self.edits[index]
    let r = try replicas()
    #expect(try firstName(r[0]) == "full_name")
    if !new.isEmpty { try r[0].write(new) }
    if first { try r[1].pull(from: r[0]) }
    try r[1].write(old)
    try settle(r)
    #expect(try firstName(r[0]) == "name")
    #expect(try rows(r[0], Self.kept) == shown)
    let theirs = try rows(
      r[1], "SELECT id || coalesce(name, '-') || coalesce(city, '-') FROM person")
    #expect(theirs == shown)
    try r[1].write(Self.migration)
    try settle(r)
    for replica in r {
      #expect(try rows(replica, Self.kept) == shown)
      #expect(try !replica.store.columns.kept().flatMap(\.columns).contains("name"))
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// What nobody has said anything of goes from no table.
  @Test func `until then nothing is emptied`() throws {
    let r = try replicas(3)
    // Of this one nothing is told: the column that was dropped has changed.
    try r[1].write("UPDATE person SET fax = '99', city = 'Basel' WHERE id = 'a'")
    try r[0].write("UPDATE person SET city = 'Lyss' WHERE id = 'b'")
    try settle(r)
    #expect(try firstName(r[0]) == "full_name")
    #expect(try rows(r[0], Self.kept) == ["aAnnBasel", "bBobLyss", "cCyBiel", "d-Chur"])
    let theirs = ["aAnn99Basel", "bBob22Lyss", "cCy33Biel", "d-44Chur"]
    for replica in r[1...] { #expect(try rows(replica, Self.before) == theirs) }
    try r[0].write("UPDATE person SET full_name = 'Rob' WHERE id = 'b'")
    try settle(r)
    #expect(try rows(r[0], Self.kept) == ["aAnnBasel", "bRobLyss", "cCyBiel", "d-Chur"])
    for replica in r[1...] { #expect(try rows(replica, Self.before) == theirs) }
    // This one tells.
    try r[2].write("UPDATE person SET city = 'Brig' WHERE id = 'c'")
    try settle(r)
    #expect(try firstName(r[0]) == "name")
    let last = ["aAnnBasel", "bRobLyss", "cCyBrig", "d-Chur"]
    #expect(try rows(r[0], Self.kept) == last)
    for replica in r[1...] {
      #expect(
        try rows(replica, Self.before) == ["aAnn99Basel", "bRob22Lyss", "cCy33Brig", "d-44Chur"])
      try replica.write(Self.migration)
    }
    try settle(r)
    for replica in r { #expect(try rows(replica, Self.kept) == last) }
  }

  /// Two have migrated, and the edit of the one comes to the other.
  @Test func `an edit of another machine that has migrated empties nothing`() throws {
    let r = try replicas(3)
    try r[2].write(Self.migration)
    try r[2].foldAll()
    try r[2].write("UPDATE person SET city = 'Thun' WHERE id = 'a'")
    try r[0].pull(from: r[2])
    try r[1].pull(from: r[2])
    try r[0].write("UPDATE person SET full_name = 'Rob' WHERE id = 'a'")
    try r[1].pull(from: r[0])
    let theirs = ["aAnn11Thun", "bBob22Genf", "cCy33Biel", "d-44Chur"]
    #expect(try rows(r[1], Self.before) == theirs)
    try r[1].write("UPDATE person SET city = 'Brig' WHERE id = 'c'")
    for _ in 1...2 { try settle(r) }
    #expect(try rows(r[1], Self.before) == ["aRob11Thun", "bBob22Genf", "cCy33Brig", "d-44Chur"])
    for replica in [r[0], r[2]] {
      #expect(try rows(replica, Self.kept) == ["aRobThun", "bBobGenf", "cCyBrig", "d-Chur"])
    }
  }

  /// What came for `name` while nobody knew that it is `full_name` is later than what stands there.
  @Test(arguments: [false, true])
  func `what has come meanwhile is shown`(byHand: Bool) throws {
    let r = try replicas()
    try r[1].write("UPDATE person SET name = 'Anna', fax = '99' WHERE id = 'a'")
    try settle(r)
    #expect(try rows(r[0], Self.kept) == ["aAnnBern", "bBobGenf", "cCyBiel", "d-Chur"])
    if byHand {
      try r[0].store.map("person", "name", to: "full_name", at: r[0].now)
    } else {
      try r[1].write("UPDATE person SET city = 'Brig' WHERE id = 'c'")
    }
    try settle(r)
    let city = byHand ? "Biel" : "Brig"
    #expect(try rows(r[0], Self.kept) == ["aAnnaBern", "bBobGenf", "cCy\(city)", "d-Chur"])
    #expect(
      try rows(r[1], Self.before) == ["aAnna99Bern", "bBob22Genf", "cCy33\(city)", "d-44Chur"])
    for replica in r { #expect(try replica.store.conflictLog.list(all: true).isEmpty) }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// Both columns had one value in the row that comes: it does not tell which of them is left.
  @Test func `a row with one value in both columns tells nothing`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, n INTEGER)"
    let r = try (1...2).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? ["t"] : [])
    }
    try r[0].write("INSERT INTO t VALUES (1, 'x', 'x', 1), (2, 'a2', 'b2', 2)")
    try r[1].pull(from: r[0])
    try r[0].write(
      "BEGIN; ALTER TABLE t RENAME COLUMN b TO c; ALTER TABLE t DROP COLUMN a; COMMIT")
    try r[0].foldAll()
    try r[1].write("UPDATE t SET n = 8 WHERE id = 1")
    try settle(r)
    let name = "SELECT first FROM _flotilla_named WHERE tbl = 't' AND name = 'c'"
    #expect(try r[0].value(name) == .string("c"))
    try r[1].write("UPDATE t SET n = 9 WHERE id = 2")
    try settle(r)
    #expect(try r[0].value(name) == .string("b"))
    try r[0].write("UPDATE t SET c = c || '!'")
    try settle(r)
    #expect(
      try r[1].application.prepareRows("SELECT id || a || b || n FROM t ORDER BY id")
        == ["1xx!8", "2a2b2!9"])
  }

  /// A value that its author counts for nothing, for it is his default, was renamed by nobody.
  @Test func `another default is no rename`() throws {
    let schema = { (active: Int) in
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, city TEXT, active INTEGER DEFAULT \(active),
        seen INTEGER)
      """
    }
    let r = try (0...1).map {
      try TestReplica(UInt64($0 + 1), schema: schema($0), tracking: $0 == 0 ? ["t"] : [])
    }
    try r[1].pull(from: r[0])
    try r[1].write("INSERT INTO t VALUES (1, 'Bern', 1, 1)")
    try settle(r)
    try r[0].write("ALTER TABLE t DROP COLUMN seen")
    try r[0].foldAll()
    try r[1].write("UPDATE t SET city = 'Basel'")
    try settle(r)
    #expect(try r[0].application.prepareRows("SELECT city || active FROM t") == ["Basel1"])
    #expect(
      try r[0].value("SELECT count(*) FROM _flotilla_named WHERE name <> first") == .integer(0))
  }

  /// Two of three were renamed at once.
  @Test func `several columns are told at once`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT, n INTEGER)"
    let r = try (1...2).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? ["t"] : [])
    }
    try r[0].write("INSERT INTO t VALUES (1, 'a1', 'b1', 'c1', 1), (2, 'a2', 'b2', 'c2', 2)")
    try r[1].pull(from: r[0])
    let migration =
      "BEGIN; ALTER TABLE t RENAME COLUMN a TO x; ALTER TABLE t RENAME COLUMN c TO y; "
      + "ALTER TABLE t DROP COLUMN b; COMMIT"
    try r[0].write(migration)
    try r[0].foldAll()
    try r[1].write("UPDATE t SET n = 9 WHERE id = 2")
    try settle(r)
    let named = try r[0].store.connection.rows(
      "SELECT name, first FROM _flotilla_named WHERE tbl = 't' AND name <> first ORDER BY name")
    #expect(named.map { $0.map { $0.string ?? "" } } == [["x", "a"], ["y", "c"]])
    #expect(
      try r[0].application.prepareRows("SELECT id || x || y || n FROM t ORDER BY id")
        == ["1a1c11", "2a2c29"])
  }
}
