import Replication
import SQLite
import Testing

@testable import Store

/// A migration makes a table anew at one node, as Django and Alembic do for SQLite, and another one
/// has not made it yet. What the migration puts into rows is nobody's edit.
@Suite struct RemadeTableTests {
  /// Two replicas with the rows a to c; an hour later the second one is to hear of the first again.
  private func replicas(
    _ columns: String, _ rows: String, inserting named: String? = nil, slice: Int = 500
  ) throws -> (TestReplica, TestReplica) {
    var pace = Pace()
    pace.comparedRows = slice
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, \(columns))"
    let a = try TestReplica(1, schema: schema, tracking: ["note"], pace: pace)
    let b = try TestReplica(2, schema: schema, pace: pace)
    try b.pull(from: a)
    try a.write("INSERT INTO note\(named.map { "(\($0))" } ?? "") VALUES \(rows)")
    try a.foldAll()
    try b.exchange(with: a)
    for replica in [a, b] { replica.clock += 3_600_000 }
    return (a, b)
  }

  /// What `SQLiteDatabaseSchemaEditor` of Django does to a table.
  private func remake(_ replica: TestReplica, _ columns: String, from values: String) throws {
    try replica.write(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE new__note(id TEXT PRIMARY KEY NOT NULL, \(columns));
      INSERT INTO new__note SELECT id, \(values) FROM note;
      DROP TABLE note;
      ALTER TABLE new__note RENAME TO note;
      COMMIT
      """)
  }

  private func shown(_ replica: TestReplica, _ columns: String) throws -> [String] {
    try replica.application.prepareRows("SELECT id || ' ' || \(columns) FROM note ORDER BY id")
  }

  /// `unseen` is what the log of the second one has of kept values that a program has not seen.
  private func expectEqual(
    _ a: TestReplica, _ b: TestReplica, unseen: [Replication.Value] = []
  ) throws {
    try a.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try a.content("note") == b.content("note"))
    #expect(a.store.position.digest == b.store.position.digest)
    for replica in [a, b] {
      #expect(
        try replica.application.prepareRows(
          "SELECT why FROM _flotilla_shelf WHERE why <> 'columns'") == [])
      let losers = try replica.store.conflictLog.list(all: true).map {
        $0.loser?.values.last?.value
      }
      #expect(losers == (replica === b ? unseen : []))
    }
  }

  @Test func `values that wait for a column enter where a migration has filled it`() throws {
    let (a, b) = try replicas("n", "('a', 1), ('b', 2), ('c', 3)")
    try a.write("ALTER TABLE note ADD COLUMN email TEXT NOT NULL DEFAULT ''")
    try a.write("UPDATE note SET email = 'a@site' WHERE id = 'a'")
    try a.foldAll()
    try b.pull(from: a)
    try b.write("UPDATE note SET n = 7 WHERE id = 'a'")
    try remake(b, "n, email TEXT NOT NULL", from: "n, ''")
    try b.foldAll()
    #expect(try shown(b, "n || email") == ["a 7a@site", "b 2", "c 3"])
    try expectEqual(a, b)
  }

  @Test func `what a program has written into a new column before anybody looked stays`() throws {
    let (a, b) = try replicas("n", "('a', 1), ('b', 2), ('c', 3)")
    try a.write("ALTER TABLE note ADD COLUMN email TEXT NOT NULL DEFAULT ''")
    try a.write("UPDATE note SET email = 'old'")
    try a.foldAll()
    try b.pull(from: a)
    try remake(b, "n, email TEXT NOT NULL", from: "n, ''")
    try b.write("UPDATE note SET email = 'new' WHERE id = 'b'")
    try b.foldAll()
    try expectEqual(a, b, unseen: [.text(Array("old".utf8))])
    #expect(try shown(a, "email") == ["a old", "b new", "c old"])
  }

  /// A column was GENERATED, and is an ordinary one now: both have it made of what it showed.
  @Test func `what is written elsewhere stands over what a migration computes here`() throws {
    let (a, b) = try replicas(
      "n, gross GENERATED ALWAYS AS (n * 2) VIRTUAL", "('a', 1), ('b', 2), ('c', 3)",
      inserting: "id, n")
    try remake(a, "n, gross", from: "n, gross")
    try a.foldAll()
    try a.write("UPDATE note SET gross = 100 WHERE id = 'a'")
    try a.foldAll()
    try b.pull(from: a)
    // What its own program has made of a row since says more than what that had elsewhere.
    try b.write("UPDATE note SET n = 30 WHERE id = 'c'")
    try b.foldAll()
    try remake(b, "n, gross", from: "n, gross")
    try b.foldAll()
    try expectEqual(a, b, unseen: [.integer(6), .integer(2)])
    #expect(try shown(a, "gross") == ["a 100", "b 4", "c 60"])
  }

  @Test(arguments: [1, 500])
  func `an edit made before a migration elsewhere stands over what that put there`(
    slice: Int
  ) throws {
    let (a, b) = try replicas("n", "('a', 1), ('b', 2), ('c', 3)", slice: slice)
    try b.write("UPDATE note SET n = 20 WHERE id = 'b'")
    try b.foldAll()
    a.clock += 3_600_000
    try remake(a, "n, email TEXT NOT NULL", from: "n, ''")
    // A kill between two slices forgets nothing of what the migration did.
    _ = try a.store.fold(at: a.now)
    try a.reopen()
    try a.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try shown(a, "n || email") == ["a 1", "b 20", "c 3"])
    #expect(try shown(b, "n") == ["a 1", "b 20", "c 3"])
    try remake(b, "n, email TEXT NOT NULL", from: "n, ''")
    try b.foldAll()
    try expectEqual(a, b)
    #expect(try shown(b, "n || email") == ["a 1", "b 20", "c 3"])
  }

  @Test(arguments: [9, 20])
  func `an edit made before a migration of many columns stands over what that put there`(
    count: Int
  ) throws {
    let names = (1...count).map { "c\($0)" }
    for isNew in [true, false] {
      let old = isNew ? ["n"] : ["n"] + names.map { $0 + " VARCHAR(10)" }
      let filled = isNew ? "" : names.map { ", '\($0)'" }.joined()
      let empty = isNew ? "" : names.map { _ in ", NULL" }.joined()
      let (a, b) = try replicas(
        old.joined(separator: ", "), "('a', 1\(filled)), ('b', 2\(empty)), ('c', 3\(filled))")
      try b.foldAll()
      try b.write("UPDATE note SET n = 20 WHERE id = 'b'; UPDATE note SET n = 25 WHERE id = 'c'")
      try b.foldAll()
      a.clock += 3_600_000
      let new = ["n"] + names.map { $0 + " VARCHAR(20) NOT NULL" }
      let from = ["n"] + names.map { isNew ? "''" : "coalesce(\($0), '')" }
      let migrate = { (replica: TestReplica) in
        try self.remake(
          replica, new.joined(separator: ", "), from: from.joined(separator: ", "))
      }
      try migrate(a)
      // A program was at this row before anybody looked: that is an edit of now.
      if isNew { try a.write("UPDATE note SET n = 30 WHERE id = 'c'") }
      try a.foldAll()
      for _ in 1...2 { try b.exchange(with: a) }
      let third = isNew ? "c 30" : "c 25"
      #expect(try shown(a, "n") == ["a 1", "b 20", third])
      #expect(try shown(b, "n") == ["a 1", "b 20", third])
      if isNew { #expect(try a.store.conflictLog.list(all: true).isEmpty) }
      #expect(try b.store.conflictLog.list(all: true).count == (isNew ? 1 : 0))
      try migrate(b)
      try b.foldAll()
      for _ in 1...2 { try b.exchange(with: a) }
      #expect(try a.content("note") == b.content("note"))
      #expect(a.store.position.digest == b.store.position.digest)
    }
  }

  @Test func `an edit made before a column is GENERATED elsewhere stands over what that shows`()
    throws
  {
    let (a, b) = try replicas("n, gross", "('a', 1, 2), ('b', 2, 4), ('c', 3, 6)")
    try b.foldAll()
    try b.write("UPDATE note SET n = 20, gross = 40 WHERE id = 'b'")
    try b.foldAll()
    a.clock += 3_600_000
    let generated = "n, gross GENERATED ALWAYS AS (n * 2) VIRTUAL"
    try remake(a, generated, from: "n")
    try a.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    for replica in [a, b] {
      #expect(try shown(replica, "n || ' ' || gross") == ["a 1 2", "b 20 40", "c 3 6"])
    }
    try a.write("UPDATE note SET n = 30 WHERE id = 'c'")
    try a.foldAll()
    try b.exchange(with: a)
    try remake(b, generated, from: "n")
    try b.foldAll()
    try expectEqual(a, b)
    for replica in [a, b] {
      #expect(try shown(replica, "n || ' ' || gross") == ["a 1 2", "b 20 40", "c 30 60"])
    }
  }

  /// Both machines give a column another type, apart. Programs write at the second one between its
  /// migration and the next look at the file; nobody writes at the first one.
  @Test(arguments: [
    ("n INTEGER", "100", "n VARCHAR(20)", "'00123'"), ("n TEXT", "'7'", "n INTEGER", "8"),
    ("n INTEGER", "100", "n REAL", "2.5"), ("n REAL", "1.5", "n TEXT", "'2.50'"),
    ("n NUMERIC", "'12'", "n TEXT", "'013'"), ("n TEXT", "'1.5'", "n NUMERIC", "16"),
    ("n", "1", "n TEXT", "'2'"), ("n INTEGER", "100", "n TEXT NOT NULL DEFAULT ''", "''"),
  ])
  func `an edit made after a column got another type stands over what others copied`(
    old: String, value: String, new: String, edit: String
  ) throws {
    let rows = ["a", "b", "c"].map { "('\($0)', \(value), 'x')" }.joined(separator: ", ")
    for isFirst in [true, false] {
      let (one, other) = try replicas("\(old), w", rows)
      let (a, b) = isFirst ? (one, other) : (other, one)
      try remake(a, "\(new), w", from: "n, w")
      try a.foldAll()
      b.clock += 60_000
      try remake(b, "\(new), w", from: "n, w")
      try b.write(
        "UPDATE note SET n = \(edit) WHERE id = 'a'; UPDATE note SET w = 'y' WHERE id = 'b'")
      try b.foldAll()
      for _ in 1...2 { try b.exchange(with: a) }
      for replica in [a, b] {
        #expect(try shown(replica, "(n IS \(edit)) || w") == ["a 1x", "b 0y", "c 0x"])
        #expect(try replica.store.conflictLog.list(all: true).isEmpty)
      }
      try expectEqual(one, other)
    }
  }

  @Test func `what a program wrote into a new column stands over what others were filled with`()
    throws
  {
    for isFirst in [true, false] {
      let (one, other) = try replicas("n", "('a', 1), ('b', 2), ('c', 3), ('d', 4)")
      let (a, b) = isFirst ? (one, other) : (other, one)
      try remake(a, "n, email TEXT NOT NULL", from: "n, 'none'")
      try a.foldAll()
      b.clock += 60_000
      try remake(b, "n, email TEXT NOT NULL", from: "n, 'none'")
      try b.write("UPDATE note SET email = 'new' WHERE id = 'a'")
      try b.foldAll()
      for _ in 1...2 { try b.exchange(with: a) }
      for replica in [a, b] {
        #expect(try shown(replica, "n || email") == ["a 1new", "b 2none", "c 3none", "d 4none"])
      }
      try expectEqual(one, other)
    }
  }

  @Test func `a filled column that becomes NOT NULL makes no edits that win`() throws {
    let (a, b) = try replicas("n, sku TEXT", "('a', 1, NULL), ('b', 2, NULL), ('c', 3, 'x')")
    try b.write("UPDATE note SET n = 20 WHERE id = 'b'")
    try b.foldAll()
    a.clock += 3_600_000
    try remake(a, "n, sku VARCHAR(20) NOT NULL", from: "n, coalesce(sku, '')")
    try a.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try shown(a, "n || sku") == ["a 1", "b 20", "c 3x"])
    try b.write("UPDATE note SET n = 30 WHERE id = 'c'")
    try remake(b, "n, sku VARCHAR(20) NOT NULL", from: "n, coalesce(sku, '')")
    try b.foldAll()
    try expectEqual(a, b)
    #expect(try shown(a, "n || sku") == ["a 1", "b 20", "c 30x"])
  }

  /// The migration makes an image of the row, which a row that was made first keeps out.
  @Test(arguments: [(1, 2, 1), (2, 1, 1), (2, 2, 2)])
  func `what is parked as a migration left it is logged where a program writes its key`(
    maker: Int, writer: Int, logging: Int
  ) throws {
    let schema =
      "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, code UNIQUE, tag TEXT DEFAULT 'old')"
    let r = try (0..<3).map {
      try TestReplica(UInt64($0 + 1), schema: schema, tracking: $0 == 0 ? ["note"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO note VALUES ('r', '7', 'first')", at: 10)
    try r[1].write("INSERT INTO note VALUES ('p', '7', 'new')", at: 20)
    try r[2].pull(from: r[1])
    try remake(r[maker], "code UNIQUE, tag TEXT DEFAULT 'new'", from: "code, tag")
    try r[maker].foldAll()
    try r[3 - maker].pull(from: r[maker])
    try r[writer].pull(from: r[0])
    #expect(try r[writer].store.tableSurvey.parkedRows().count == 1)
    try r[writer].write("INSERT INTO note VALUES ('p', '8', 'again')", at: 30)
    for _ in 1...3 {
      for one in r { for other in r where other !== one { try one.pull(from: other) } }
    }
    for (number, replica) in r.enumerated() {
      #expect(try shown(replica, "code || tag") == ["p 8again", "r 7first"])
      let losers = try replica.store.conflictLog.list(all: true).map {
        $0.loser?.values.last?.value
      }
      #expect(losers == (number == logging ? [.text(Array("new".utf8))] : []))
    }
  }

  @Test func `a NULL from elsewhere is the default where the column is NOT NULL`() throws {
    let (a, b) = try replicas("n, sku TEXT", "('a', 1, NULL), ('b', 2, 'y')")
    try a.write("UPDATE note SET sku = '' WHERE sku IS NULL")
    try remake(a, "n, sku TEXT NOT NULL DEFAULT ''", from: "n, sku")
    try a.foldAll()
    try b.write("INSERT INTO note VALUES ('c', 3, NULL); UPDATE note SET n = 10 WHERE id = 'a'")
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try shown(a, "n || sku") == ["a 10", "b 2y", "c 3"])
    try b.write("UPDATE note SET sku = '' WHERE sku IS NULL")
    try remake(b, "n, sku TEXT NOT NULL DEFAULT ''", from: "n, sku")
    try b.foldAll()
    try expectEqual(a, b)
  }

  @Test func `a column that a migration leaves out empties no table elsewhere`() throws {
    let (a, b) = try replicas(
      "n, memo TEXT NOT NULL", "('a', 1, 'x'), ('b', 2, 'y'), ('c', 3, 'z')")
    try b.foldAll()
    try b.write("UPDATE note SET n = 20 WHERE id = 'b'")
    try b.foldAll()
    a.clock += 3_600_000
    try remake(a, "n", from: "n")
    try a.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try shown(b, "n || memo") == ["a 1x", "b 20y", "c 3z"])
    #expect(try shown(a, "n") == ["a 1", "b 20", "c 3"])
    try b.write("UPDATE note SET n = 30, memo = 'new' WHERE id = 'c'")
    try a.write("UPDATE note SET n = 10 WHERE id = 'a'")
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try shown(b, "n || memo") == ["a 10x", "b 20y", "c 30new"])
    let before = b.store.position.frontier
    try b.foldAll()
    #expect(b.store.position.frontier == before)
    try remake(b, "n", from: "n")
    try b.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try a.content("note") == b.content("note"))
    #expect(try shown(a, "n") == ["a 10", "b 20", "c 30"])
  }

  @Test func `what a program writes between two migrations is an edit`() throws {
    let (a, b) = try replicas("n, m", "('a', 1, 1), ('b', 2, 2), ('c', 3, 3)", slice: 1)
    try remake(b, "n, m", from: "n, m")
    try b.write("UPDATE note SET n = 'new' WHERE id = 'c'")
    // One row has been looked at when a column goes, in place.
    _ = try b.store.fold(at: b.now)
    try b.write("ALTER TABLE note DROP COLUMN m")
    try b.foldAll()
    try a.write("ALTER TABLE note DROP COLUMN m")
    try expectEqual(a, b)
    #expect(try shown(a, "n") == ["a 1", "b 2", "c new"])
  }

  @Test(arguments: [("REAL", "TEXT", "1.5"), ("TEXT", "INTEGER", "'7'"), ("", "REAL", "3")])
  func `a value of another type counts as it is shown`(
    old: String, new: String, value: String
  ) throws {
    let (a, b) = try replicas("n \(old), m", "('a', NULL, 1), ('b', 2, 2)")
    try remake(a, "n \(new), m", from: "n, m")
    try a.foldAll()
    try b.write("UPDATE note SET n = \(value) WHERE id = 'a'")
    try b.foldAll()
    try a.pull(from: b)
    #expect(try a.audit().count == 0)
    try remake(b, "n \(new), m", from: "n, m")
    try b.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    #expect(try a.content("note") == b.content("note"))
  }

  @Test func `of two new columns none is guessed to be the one that is gone`() throws {
    let (a, b) = try replicas("m INT, r INT", "('a', 1, NULL), ('b', 2, NULL)")
    try a.write("UPDATE note SET r = 5 WHERE id = 'a'; ALTER TABLE note ADD COLUMN n INT")
    try a.foldAll()
    try remake(a, "v INT, m INT, n INT", from: "r, m, n")
    try a.foldAll()
    // Both at once, where every value is NULL; n is in the place in which r was.
    try remake(b, "v INT, m INT, n INT", from: "r, m, NULL")
    try b.foldAll()
    try b.write("UPDATE note SET n = 7, v = 8 WHERE id = 'b'")
    try b.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    for replica in [a, b] {
      #expect(
        try shown(replica, "'m' || m || ' n' || ifnull(n, '') || ' v' || ifnull(v, '')")
          == ["a m1 n v5", "b m2 n7 v8"])
    }
  }

  @Test func `where the other columns have moved, none is guessed by its place`() throws {
    let (a, b) = try replicas("m INT, x, y, z, r INT", "('a', NULL, 1, 2, 3, NULL)")
    try a.write("ALTER TABLE note RENAME m TO v; ALTER TABLE note RENAME r TO w")
    try a.foldAll()
    try remake(a, "w INT, y, x, z, v INT", from: "w, y, x, z, v")
    try a.foldAll()
    // Both at once: w is where m was, and no row tells that it was r.
    try remake(b, "w INT, y, x, z, v INT", from: "r, y, x, z, m")
    try b.foldAll()
    try b.write("UPDATE note SET v = 7, w = 8")
    try b.foldAll()
    for _ in 1...2 { try b.exchange(with: a) }
    for replica in [a, b] { #expect(try shown(replica, "'v' || v || ' w' || w") == ["a v7 w8"]) }
  }
}
