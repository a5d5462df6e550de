import Replication
import SQLite
import Testing

@testable import Store

/// What a store keeps so that the edits of a member can be undone, and how they are found.
@Suite struct UndoBookTests {
  private static let schema = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT)"
  private static let member = Identity(high: 2, low: 0)
  private static let minute: Int64 = 60_000

  /// One that keeps what is replaced, and a member that writes; both have the rows a and b.
  private func pair() throws -> (TestReplica, TestReplica) {
    let keeper = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    let other = try TestReplica(2, schema: Self.schema)
    try keeper.store.members.note([
      KnownAuthor(origin: other.origin, node: Self.member, name: "other", life: 1)
    ])
    try keeper.store.undo.begin()
    try edit("INSERT INTO t VALUES ('a', 'one'), ('b', 'two')", at: keeper)
    try other.pull(from: keeper)
    return (keeper, other)
  }

  private func write(_ sql: String, at other: TestReplica, _ keeper: TestReplica) throws {
    try edit(sql, at: other)
    try keeper.pull(from: other)
  }

  /// Writes at the time of the replica's clock.
  private func edit(_ sql: String, at replica: TestReplica) throws {
    try replica.write(sql)
    try replica.write("UPDATE _flotilla_journal SET at = \(replica.clock)")
    try replica.foldAll()
  }

  private func found(_ keeper: TestReplica, since moment: Int64) throws -> [String] {
    try keeper.store.undoable(of: Self.member, since: moment).rows.map { row in
      let key = keeper.store.tables.named(row.key, of: row.table)["id"]
      let before = row.before.map { $0.isDeleted ? "none" : word($0.values.last?.value) }
      return [word(key), row.way.rawValue, row.isLate ? "late" : nil, before ?? "-"]
        .compactMap(\.self).joined(separator: " ")
    }
  }

  private func word(_ value: Replication.Value?) -> String {
    guard case .text(let bytes)? = value else { return "\(value ?? .null)" }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `what another one writes over is kept, and so is what was older than ten minutes`()
    throws
  {
    let (keeper, other) = try pair()
    (keeper.clock, other.clock) = (keeper.clock + Self.minute, keeper.clock + Self.minute)
    let first = keeper.clock
    try write("UPDATE t SET v = 'first' WHERE id = 'a'", at: other, keeper)
    (keeper.clock, other.clock) = (
      keeper.clock + 120 * Self.minute, other.clock + 120 * Self.minute
    )
    let second = keeper.clock
    try write("UPDATE t SET v = 'second' WHERE id = 'a'", at: other, keeper)
    try write("UPDATE t SET v = 'third' WHERE id = 'a'", at: other, keeper)
    let (whole, last) = (try found(keeper, since: first), try found(keeper, since: second))
    #expect(whole == ["a put-back one"])
    #expect(last == ["a put-back first"])
    #expect(try found(keeper, since: keeper.clock + Self.minute).isEmpty)
    #expect(try keeper.value("SELECT count(*) FROM _flotilla_replaced") == .integer(2))
  }

  @Test func `a life that a member has signed for and never shown is one of its own`() throws {
    let (keeper, _) = try pair()
    let hidden = try TestReplica(3, schema: Self.schema)
    try hidden.pull(from: keeper)
    let since = keeper.clock
    hidden.clock = since + Self.minute
    var reach = Reach(origin: hidden.origin, node: Self.member, life: 9, seq: 9, run: 1)
    reach.signature = [UInt8](repeating: 1, count: Reach.signatureLength)
    try keeper.store.transaction { _ = try keeper.store.lives.keep([reach]) }
    try write("INSERT INTO t VALUES ('c', 'evil')", at: hidden, keeper)
    #expect(try found(keeper, since: since) == ["c remove -"])
    #expect(try keeper.store.members.author(of: hidden.origin) == Self.member)
    // The life itself is noted once it is shown.
    #expect(try keeper.store.members.authors().allSatisfy { $0.origin != hidden.origin })
  }

  @Test func `what is dated before and came later is told as late`() throws {
    let (keeper, other) = try pair()
    let noted = keeper.clock
    try keeper.store.tendUndo(at: keeper.now)
    let since = noted + 5 * Self.minute
    other.clock = noted + 2 * Self.minute
    try write("INSERT INTO t VALUES ('between', '')", at: other, keeper)
    other.clock = noted - 600 * Self.minute
    try write("INSERT INTO t VALUES ('backdated', '')", at: other, keeper)
    other.clock = since + Self.minute
    try write("INSERT INTO t VALUES ('since', '')", at: other, keeper)
    let told = try found(keeper, since: since).sorted()
    #expect(told == ["backdated remove late -", "since remove -"])
    // Before the first note nobody knows.
    let unknown = try keeper.store.undoable(of: Self.member, since: noted - Self.minute)
    #expect(!unknown.knowsArrivals && !unknown.rows.contains(where: \.isLate))
  }

  @Test func `where nothing is kept, or a later state is missing, a person decides`() throws {
    let (keeper, other) = try pair()
    let third = try TestReplica(3, schema: Self.schema)
    try third.pull(from: keeper)
    let since = keeper.clock + Self.minute
    for replica in [keeper, other, third] { replica.clock = since + Self.minute }
    // Of a the keeper gets what was made over an edit that it never saw.
    try edit("UPDATE t SET v = 'unseen' WHERE id = 'a'", at: third)
    try other.pull(from: third)
    try write("UPDATE t SET v = 'spoilt'", at: other, keeper)
    #expect(
      try found(keeper, since: since).sorted() == [
        "a older one", "b put-back two",
      ])
    try keeper.write("DROP TABLE _flotilla_replaced")
    #expect(
      try found(keeper, since: since).sorted() == [
        "a unknown -", "b unknown -",
      ])
  }

  @Test func `what is kept does not grow old by a time that peers have moved`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
    try write("UPDATE t SET v = 'spoilt' WHERE id = 'a'", at: other, keeper)
    var moved = keeper.now
    (moved.site, moved.unmoved) = (keeper.clock + 32 * 1_440 * Self.minute, keeper.clock)
    try keeper.store.tendUndo(at: moved)
    #expect(try found(keeper, since: since) == ["a put-back one"])
    // Nor while the time of the site is not known.
    try keeper.store.tendUndo(
      at: Instant(uptime: 0, wall: moved.moment, site: nil))
    #expect(try found(keeper, since: since) == ["a put-back one"])
    moved.unmoved = moved.site
    try keeper.store.tendUndo(at: moved)
    #expect(try found(keeper, since: since) == ["a unknown -"])
  }

  @Test func `a row that others edited since is theirs to judge`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
    try write("UPDATE t SET v = 'spoilt' WHERE id = 'a'", at: other, keeper)
    try edit("UPDATE t SET v = v || '!' WHERE id = 'a'", at: keeper)
    let told = try found(keeper, since: since)
    #expect(told == ["a edited-since one"])
    // An earlier moment, at which nobody has written down what had come, shows no less.
    #expect(try found(keeper, since: since - 10 * Self.minute) == ["a edited-since one"])
    // Who has put it back has undone it.
    try edit("UPDATE t SET v = 'one' WHERE id = 'a'", at: keeper)
    let rest = try found(keeper, since: since)
    #expect(rest.isEmpty)
  }

  @Test func `who first says the same hides nothing by it`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
    try edit("UPDATE t SET v = 'for a moment' WHERE id = 'a'", at: other)
    try write("UPDATE t SET v = 'one' WHERE id = 'a'", at: other, keeper)
    (keeper.clock, other.clock) = (keeper.clock + Self.minute, other.clock + Self.minute)
    try write("UPDATE t SET v = 'spoilt' WHERE id = 'a'", at: other, keeper)
    let told = try found(keeper, since: since)
    #expect(told == ["a put-back one"])
  }

  @Test func `what a member has made and taken away itself is not told`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
    try write("INSERT INTO t VALUES ('c', 'new'), ('d', 'new')", at: other, keeper)
    try write("DELETE FROM t WHERE id = 'c'", at: other, keeper)
    let told = try found(keeper, since: since)
    #expect(told == ["d remove -"])
  }

  @Test func `a row that gave way to one that the member has taken away again is told`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    keeper.clock = since - 1_000
    try edit("INSERT INTO t VALUES ('x', 'honest')", at: keeper)
    other.clock = since + Self.minute
    try write("INSERT INTO t VALUES ('x', 'evil')", at: other, keeper)
    other.clock += Self.minute
    try write("DELETE FROM t WHERE id = 'x'", at: other, keeper)
    #expect(try keeper.value("SELECT count(*) FROM t WHERE id = 'x'") == .integer(0))
    #expect(try found(keeper, since: since) == ["x put-back honest"])
  }

  /// Two rows were made apart with one number: one of them goes on under another.
  @Test func `a row that had to leave its number to the member's is not put back there`() throws {
    for isEdited in [false, true] {
      let keeper = try TestReplica(1, schema: KeysTests.clinic, tracking: ["patient", "lab"])
      let other = try TestReplica(2, schema: KeysTests.clinic)
      try other.pull(from: keeper)
      try keeper.store.members.note([
        KnownAuthor(origin: other.origin, node: Self.member, name: "other", life: 1)
      ])
      try keeper.store.undo.begin()
      try keeper.store.tendUndo(at: keeper.now)
      let since = keeper.clock + Self.minute
      (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
      try edit("INSERT INTO patient VALUES (3, 'Bob')", at: other)
      (keeper.clock, other.clock) = (keeper.clock + 1_000, other.clock + 1_000)
      try edit("INSERT INTO patient VALUES (3, 'Ann')", at: keeper)
      if isEdited { try edit("UPDATE patient SET name = 'Anna' WHERE id = 3", at: keeper) }
      try KeysTests.settle([keeper, other])
      let ann = isEdited ? "Anna" : "Ann"
      let all = try keeper.application.prepareRows("SELECT id || name FROM patient ORDER BY 1")
      #expect(all == ["3Bob", "4\(ann)"])
      #expect(try found(keeper, since: since).map { $0.suffix(8) } == ["remove -"])
    }
  }

  /// The log may have the key alone of what the book has whole.
  @Test func `of one state that is known twice the one counts that says what it was`() throws {
    for isLater in [false, true] {
      let (keeper, other) = try pair()
      try keeper.store.tendUndo(at: keeper.now)
      let table = try #require(keeper.store.tables.table("t"))
      let key = try #require(table.key([.text(Array("a".utf8))]))
      let version = try #require(try keeper.store.versions.version(table: table.id, key: key))
      let since = keeper.clock + Self.minute
      (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
      func noteKey() throws {
        try keeper.store.conflicts.put(
          "t", key, at: keeper.clock, .older, loser: nil,
          winner: ConflictSide(version, table.keyEntry(key)))
      }
      if !isLater { try noteKey() }
      try write("UPDATE t SET v = 'spoilt' WHERE id = 'a'", at: other, keeper)
      if isLater { try noteKey() }
      #expect(try found(keeper, since: since) == ["a put-back one"])
    }
  }

  @Test func `rows about which a person decides hide none that can be put back`() throws {
    let (keeper, other) = try pair()
    try keeper.store.tendUndo(at: keeper.now)
    let since = keeper.clock + Self.minute
    (keeper.clock, other.clock) = (since + Self.minute, since + Self.minute)
    try write("INSERT INTO t VALUES ('c', ''), ('d', ''), ('e', ''), ('f', '')", at: other, keeper)
    try edit("UPDATE t SET v = 'more' WHERE id IN ('c', 'd')", at: keeper)
    var bounds = UndoableRows.Bounds()
    func told() throws -> UndoableRows {
      try keeper.store.undoable(of: Self.member, since: since, bounds)
    }
    (bounds.rows, bounds.others) = (2, 1)
    let all = try told()
    #expect(all.rows.map(\.way) == [.editedSince, .remove, .remove])
    #expect(all.untold == 1 && !all.isCut)
    bounds.rows = 1
    #expect(try told().isCut && told().rows.map(\.way) == [.editedSince, .remove])
    // One row is told of however long it is.
    (bounds.rows, bounds.bytes) = (2, 0)
    let long = try told()
    #expect(long.rows.map(\.way) == [.remove] && long.untold == 2 && long.isCut)
  }

  /// To see whether an edit fits, the anchor puts it into its table first.
  @Test func `an anchor keeps a row as it stood, not as the edit made it`() throws {
    let site = try AnchorSite("newest-wins")
    let anchor = site.anchor.store
    try anchor.members.note([
      KnownAuthor(origin: site.a.origin, node: Self.member, name: "a", life: 1)
    ])
    try anchor.undo.begin()
    try site.anchor.write("INSERT INTO note(id, text) VALUES ('q', 'asked')", at: 2)
    try site.meet()
    let since: Int64 = 1_799_000_050_000
    try site.a.write("UPDATE note SET text = 'spoilt' WHERE id = 'r'", at: 100)
    try site.a.write("DELETE FROM note WHERE id = 'q'", at: 101)
    try site.meet()
    #expect(try site.anchor.text() == "spoilt" && site.anchor.text("q") == nil)
    let rows = try anchor.undoable(of: Self.member, since: since).rows
    let told = rows.map { "\($0.way.rawValue) \(word($0.before?.values.last?.value))" }
    #expect(told.sorted() == ["put-back asked", "put-back base"])
  }

  @Test func `numbers that somebody else has written end nothing`() throws {
    let (keeper, other) = try pair()
    try keeper.write(
      """
      INSERT INTO _flotilla_replaced(id, name, key, at, origin, seq, stamp, side)
      SELECT value, 't', x'00', 0, 0, 0, 0, zeroblob(3000000) FROM
      (SELECT -9223372036854775807 AS value UNION ALL SELECT 9223372036854775806)
      """)
    try write("UPDATE t SET v = 'first' WHERE id = 'a'", at: other, keeper)
    try write("UPDATE t SET v = 'second' WHERE id = 'b'", at: other, keeper)
    #expect(try keeper.value("SELECT v FROM t WHERE id = 'b'") == .string("second"))
  }

  @Test func `no more is kept than fits`() throws {
    let (keeper, other) = try pair()
    keeper.store.undo.bounds.bytes = 20_000
    for round in 0..<100 {
      try write(
        "UPDATE t SET v = hex(zeroblob(1000)) || \(round) WHERE id = 'a'", at: other, keeper)
      try edit("UPDATE t SET v = hex(zeroblob(1000)) || 'back' WHERE id = 'a'", at: keeper)
      try other.pull(from: keeper)
    }
    let bytes = try keeper.value("SELECT sum(length(side)) FROM _flotilla_replaced").integer ?? 0
    #expect(bytes > 10_000 && bytes < 30_000, "\(bytes)")
    // The latest is among them.
    let long = String(repeating: "00", count: 1_000)
    try write("UPDATE t SET v = 'spoilt' WHERE id = 'a'", at: other, keeper)
    let told = try found(keeper, since: keeper.clock - Self.minute)
    #expect(told == ["a put-back \(long)back"])
  }
}
