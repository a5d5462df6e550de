import Replication
import SQLite
import Testing

@testable import Store

/// Rows that cannot stand beside others without an anchor to say so.
@Suite struct `A row that is parked` {
  private static let schema =
    "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, n INTEGER)"

  /// An item whose box is parked waits beside its table, and claims its serial number.
  static let boxes = """
    CREATE TABLE box(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
    CREATE TABLE item(
      id TEXT PRIMARY KEY NOT NULL, serial INTEGER UNIQUE, box TEXT REFERENCES box);
    """

  private func replicas(_ count: UInt64 = 2) throws -> [TestReplica] {
    let all = try (1...count).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["t"] : [])
    }
    for replica in all.dropFirst() { try replica.pull(from: all[0]) }
    return all
  }

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT id || ' ' || u FROM t ORDER BY id")
  }

  @Test func `is the one that was created later, whoever hears of which first`() throws {
    for order in [true, false] {
      let all = try replicas()
      try all[order ? 0 : 1].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
      try all[order ? 1 : 0].write("INSERT INTO t VALUES ('second', 'x', 1)", at: 20)
      try all[0].exchange(with: all[1])
      try all[1].exchange(with: all[0])
      // A later edit does not change who was there first.
      #expect(try all.map(rows) == [["first x"], ["first x"]])
      try all[0].write("UPDATE t SET n = 2", at: 30)
      try all[0].exchange(with: all[1])
      #expect(try all.map(rows) == [["first x"], ["first x"]])
      for replica in all {
        #expect(try replica.store.tableSurvey.parkedRows().map(\.why) == ["constraint"])
      }
    }
  }

  @Test func `is settled as it was read, or not at all`() throws {
    let all = try replicas()
    try all[0].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
    try all[1].write("INSERT INTO t VALUES ('second', 'x', 1)", at: 20)
    try all[0].pull(from: all[1])
    func parked() throws -> ParkedRow {
      try #require(try all[0].store.tableSurvey.parkedRows().first)
    }
    let read = try parked()
    #expect(try read.stands(on: all[0].application))
    try all[1].write("UPDATE t SET n = 2 WHERE id = 'second'", at: 30)
    try all[0].pull(from: all[1])
    #expect(try !read.stands(on: all[0].application))
    let later = try parked()
    #expect(try later.id == read.id && later.stands(on: all[0].application))
    try later.giveUp(isDeleted: true, at: all[0].clock, on: all[0].application)
    #expect(try !later.stands(on: all[0].application))
    try all[0].foldAll()
    #expect(try all[0].store.tableSurvey.parkedRows().isEmpty)
  }

  /// A machine makes the table late, and puts rows in before anybody looks. One has the key of a
  /// row that waits for the table, and the unique value of another one.
  @Test func `takes no row away that a program has written where its own waits`() throws {
    let first = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    let second = try TestReplica(2, schema: "CREATE TABLE other(id TEXT PRIMARY KEY)")
    try first.write("INSERT INTO t VALUES ('j', 'b', 1)", at: 5_000)
    try first.write("INSERT INTO t VALUES ('k', 'a', 1)", at: 6_000)
    try second.pull(from: first)
    try second.write(
      "BEGIN; \(Self.schema); INSERT INTO t VALUES ('j', 'c', 2), ('k', 'b', 3); COMMIT", at: 60)
    for _ in 0..<3 { try second.exchange(with: first) }
    let all = [first, second]
    #expect(try rows(first) == rows(second))
    let stands = try rows(first).contains("k b")
    let logged = try all.flatMap { try $0.store.conflictLog.list(all: true) }
    let parked = try second.store.tableSurvey.parkedRows()
    let isLogged = logged.contains { $0.loser?.values.last?.value == .integer(3) }
    let isParked = parked.contains { $0.values.contains { $0.value == .integer(3) } }
    #expect(stands || isLogged || isParked)
  }

  /// It is in no table, so it would be nowhere.
  @Test func `is in the log of its author once its table is replicated no more`() throws {
    let all = try replicas()
    try all[0].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
    try all[1].write("INSERT INTO t VALUES ('second', 'x', 1)", at: 20)
    for _ in 0..<2 { try all[0].exchange(with: all[1]) }
    try all[0].store.untrack(["t"], at: all[0].now)
    try all[1].exchange(with: all[0])
    #expect(try all.map(rows) == [["first x"], ["first x"]])
    #expect(try all[0].store.conflictLog.list(all: true).isEmpty)
    let lost = try all[1].store.conflictLog.list(all: true)
    #expect(lost.map { $0.loser?.values.first?.value } == [.text(Array("second".utf8))])
    #expect(lost.map(\.reason) == ["parked"])
  }

  @Test func `comes back when its value is free, also by a program`() throws {
    let all = try replicas()
    try all[0].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
    try all[1].write("INSERT INTO t VALUES ('second', 'x', 1)", at: 20)
    try all[0].exchange(with: all[1])
    try all[1].exchange(with: all[0])
    try all[0].write("UPDATE t SET u = 'y' WHERE id = 'first'", at: 30)
    #expect(try rows(all[0]) == ["first y", "second x"])
    try all[0].exchange(with: all[1])
    #expect(try rows(all[1]) == ["first y", "second x"])
  }

  @Test func `gives way to what a program writes that could not see it`() throws {
    let all = try replicas(3)
    try all[0].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
    try all[1].write("INSERT INTO t VALUES ('second', 'x', 1)", at: 20)
    try all[0].exchange(with: all[1])
    try all[1].exchange(with: all[0])
    // One transaction frees the value and takes it: the parked row was never in sight.
    try all[0].write(
      """
      BEGIN; DELETE FROM t WHERE id = 'first'; INSERT INTO t VALUES ('third', 'x', 1); COMMIT
      """, at: 30)
    #expect(try rows(all[0]) == ["third x"])
    for replica in all.dropFirst() { try replica.pull(from: all[0]) }
    try all[2].pull(from: all[1])
    try all[1].exchange(with: all[0])
    #expect(try all.map(rows) == [["third x"], ["third x"], ["third x"]])
    #expect(all.allSatisfy { $0.store.position.digest == all[0].store.position.digest })
    try all[2].write("DELETE FROM t WHERE id = 'third'", at: 40)
    try all[0].pull(from: all[2])
    #expect(try rows(all[0]) == ["second x"])
  }

  @Test func `keeps what hangs under it when it gives way`() throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE);
      CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t, v TEXT)
      """
    let all = try (1...3).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["t", "c"] : [])
    }
    for replica in all.dropFirst() { try replica.pull(from: all[0]) }
    try all[2].write("INSERT INTO t VALUES (1, 'x')", at: 10)
    try all[1].write("INSERT INTO t VALUES (2, 'x')", at: 20)
    try all[0].pull(from: all[1])
    try all[0].write("INSERT INTO c VALUES (7, 2, 'of 2')", at: 25)
    try all[0].pull(from: all[2])
    try all[0].write("BEGIN; DELETE FROM t; INSERT INTO t VALUES (3, 'x'); COMMIT", at: 30)
    try KeysTests.settle(all)
    for replica in all {
      #expect(try replica.application.prepareRows("SELECT id || u FROM t") == ["3x"])
    }
    try all[1].write("DELETE FROM t WHERE id = 3", at: 40)
    try KeysTests.settle(all)
    let hanging = "SELECT t.id || u || v FROM t JOIN c ON c.t = t.id"
    for replica in all {
      #expect(try replica.application.prepareRows(hanging) == ["2xof 2"])
    }
  }

  @Test func `takes the place of two that were created later`() throws {
    let schema = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, w TEXT UNIQUE)"
    let all = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["t"] : [])
    }
    try all[1].pull(from: all[0])
    try all[1].write("INSERT INTO t VALUES ('both', 'x', 'y')", at: 10)
    try all[0].write("INSERT INTO t VALUES ('one', 'x', 'z'), ('two', 'a', 'y')", at: 20)
    try all[0].write("INSERT INTO t VALUES ('three', 'b', 'c')", at: 30)
    try all[0].pull(from: all[1])
    #expect(try rows(all[0]) == ["both x", "three b"])
    try all[1].pull(from: all[0])
    #expect(try rows(all[1]) == ["both x", "three b"])
    try all[0].write("UPDATE t SET u = 'q' WHERE id = 'both'", at: 40)
    #expect(try rows(all[0]) == ["both q", "one x", "three b"])
  }

  @Test func `leaves what triggers keep derived right when it takes a place`() throws {
    let schema =
      Self.schema + """
        ; CREATE TABLE cache(id TEXT, u TEXT);
        CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO cache VALUES (NEW.id, NEW.u); END;
        CREATE TRIGGER gone AFTER DELETE ON t BEGIN DELETE FROM cache WHERE id = OLD.id; END
        """
    let all = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["t"] : [])
    }
    try all[1].pull(from: all[0])
    try all[1].write("INSERT INTO t VALUES ('first', 'x', 1)", at: 10)
    try all[0].write("INSERT INTO t VALUES ('second', 'x', 1), ('third', 'y', 1)", at: 20)
    try all[0].exchange(with: all[1])
    for replica in all {
      #expect(try rows(replica) == ["first x", "third y"])
      let cache = "SELECT id || ' ' || u FROM cache ORDER BY id"
      #expect(try replica.application.prepareRows(cache) == ["first x", "third y"])
      #expect(replica.store.derived.trouble == nil)
    }
  }

  /// A customer is parked, and its order with it. An order of somebody else claims the same.
  @Test(
    arguments: [
      "UNIQUE INDEX i ON o(n)", "UNIQUE INDEX i ON o(name COLLATE NOCASE)",
      "UNIQUE INDEX i ON o(x, n)", "UNIQUE INDEX i ON o(n) WHERE name > 'A'",
      "UNIQUE INDEX i ON o(lower(name))",
    ], [false, true])
  func `claims its values while its parent keeps it out`(index: String, isOpenedAnew: Bool) throws {
    let schema = """
      CREATE TABLE k(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
      CREATE TABLE o(
        id TEXT PRIMARY KEY NOT NULL, n REAL, name TEXT, k TEXT REFERENCES k, x DEFAULT 'x');
      CREATE \(index);
      """
    for isEarlier in [true, false] {
      let all = try (1...3).map {
        try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["k", "o"] : [])
      }
      for replica in all.dropFirst() { try replica.pull(from: all[0]) }
      try all[0].write("INSERT INTO k VALUES ('first', 'same')", at: 10)
      try all[1].write("INSERT INTO k VALUES ('second', 'same')", at: 20)
      try all[1].write("INSERT INTO o(id, n, name, k) VALUES ('p', 7, 'Ann', 'second')", at: 30)
      try all[0].pull(from: all[1])
      #expect(try parked(all[0]) == ["constraint", "parent"])
      if isOpenedAnew { try all[0].reopen() }
      let other = "INSERT INTO o(id, n, name) VALUES ('z', '7.0', 'ANN')"
      try all[2].write(other, at: isEarlier ? 25 : 40)
      try all[0].pull(from: all[2])
      #expect(try ids(all[0]) == (isEarlier ? ["z"] : []))
      let whys = ["constraint", "constraint"] + (isEarlier ? [] : ["parent"])
      #expect(try parked(all[0]) == whys)
      try all[0].write("DELETE FROM k WHERE id = 'first'", at: 50)
      #expect(try ids(all[0]) == (isEarlier ? ["z"] : ["p"]))
      try KeysTests.settle(all)
      #expect(try all.map(ids) == [[String]](repeating: isEarlier ? ["z"] : ["p"], count: 3))
    }
  }

  private func parked(_ replica: TestReplica) throws -> [String] {
    try replica.store.tableSurvey.parkedRows().map(\.why).sorted()
  }

  private func ids(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT id FROM o ORDER BY id")
  }

  /// Somebody has given a parked row up, and what was in its way has gone, before a node looks.
  @Test func `a row that was given up does not come back`() throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v UNIQUE)", tracking: ["t"])
    let other = try TestReplica(
      2, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v UNIQUE)")
    try other.pull(from: replica)
    try replica.write("INSERT INTO t VALUES ('k1', 'same')")
    other.clock += 60_000
    try other.write("INSERT INTO t VALUES ('k2', 'same')")
    for _ in 1...2 { try replica.exchange(with: other) }
    var parked: ParkedRow?
    try replica.store.tableSurvey.eachParkedRow {
      parked = $0
      return true
    }
    #expect(parked?.key.values == [.text(Array("k1".utf8))])
    try replica.write("DELETE FROM t WHERE id = 'k2'")
    try parked?.giveUp(isDeleted: true, at: replica.now.wall, on: replica.application)
    try replica.reopen()
    try replica.foldAll()
    for _ in 1...2 { try replica.exchange(with: other) }
    for one in [replica, other] {
      #expect(try one.content("t") == [])
      #expect(try one.value("SELECT count(*) FROM _flotilla_dismissed") == .integer(0))
    }
  }
}
