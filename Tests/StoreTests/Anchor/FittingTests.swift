import Replication
import SQLite
import Testing

@testable import Store

/// Edits that the rule accepts and that break a constraint beside what stands.
@Suite struct `What does not fit beside what stands` {
  private static let schema = """
    CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, code TEXT UNIQUE);
    CREATE TABLE bill(id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES note, sum INTEGER)
    """

  private func site(_ rule: String = "client-wins", pace: Pace = Pace()) throws -> AnchorSite {
    let site = try AnchorSite(rule, schema: Self.schema, pace: pace)
    try site.anchor.store.track(["bill"], rule: rule, at: site.anchor.now)
    try site.anchor.write("UPDATE note SET code = 'c' WHERE id = 'r'", at: 2)
    try site.meet()
    return site
  }

  private func codes(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || ' ' || coalesce(code, '-') FROM note ORDER BY id")
  }

  private func bills(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT id || ' ' || note FROM bill ORDER BY id")
  }

  private func expectQuiet(_ site: AnchorSite) throws {
    #expect(try site.isEqual)
    for replica in site.replicas {
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty && replica.pendingTexts.isEmpty)
      #expect(try replica.store.verdicts.unjudgedCount() == 0)
    }
  }

  @Test func `is rejected if another row has its unique value, and a new row is gone`() throws {
    let site = try site()
    // Both are allowed where they are made.
    try site.anchor.write("INSERT INTO note VALUES ('n', 'of the anchor', 'u')", at: 10)
    try site.a.write("INSERT INTO note VALUES ('m', 'of a', 'u')", at: 5)
    try site.meet()
    for replica in site.replicas { #expect(try codes(replica) == ["n u", "r c"]) }
    #expect(try site.a.verdicts() == ["rejected parked client-wins"])
    let log = ["of a lost to (deleted): parked (client-wins)"]
    #expect(try [site.anchor, site.a, site.b].map { try $0.conflicts() } == [log, log, []])
    try expectQuiet(site)
    // The key is free, and a value that is free, too, can be had.
    try site.a.write("INSERT INTO note VALUES ('m', 'again', 'v')", at: 20)
    try site.meet()
    #expect(try site.a.verdicts().last == "accepted client-wins")
    #expect(try codes(site.anchor) == ["m v", "n u", "r c"])
    try expectQuiet(site)
  }

  @Test func `leaves a row as it stands if it is an edit of one`() throws {
    let site = try site()
    try site.anchor.write("INSERT INTO note VALUES ('n', 'of the anchor', 'u')", at: 10)
    try site.a.write("UPDATE note SET text = 'of a', code = 'u' WHERE id = 'r'", at: 20)
    try site.meet()
    for replica in site.replicas { #expect(try codes(replica) == ["n u", "r c"]) }
    #expect(try site.a.verdicts() == ["rejected parked client-wins"])
    #expect(try site.a.conflicts() == ["of a lost to base: parked (client-wins)"])
    try expectQuiet(site)
  }

  @Test func `is accepted if what comes with it makes room`() throws {
    var slow = Pace()
    (slow.judgedAtOnce, slow.judgedWhole, slow.judgedRows) = (0, 0, 2)
    for pace in [Pace(), slow] {
      let site = try site(pace: pace)
      try site.anchor.write("INSERT INTO note VALUES ('s', 'base', 'd')", at: 10)
      try site.meet()
      // Two rows swap, one takes what is freed after it, and a bill comes before its note.
      try site.a.write(
        """
        BEGIN; UPDATE note SET code = NULL WHERE id = 'r';
        UPDATE note SET code = 'c' WHERE id = 's'; UPDATE note SET code = 'd' WHERE id = 'r'; COMMIT
        """, at: 20)
      try site.b.write("INSERT INTO bill VALUES ('b', 'later', 1)", at: 30)
      try site.b.write("INSERT INTO note VALUES ('later', 'x', 'e')", at: 40)
      try site.meet()
      for replica in site.replicas {
        #expect(try codes(replica) == ["later e", "r d", "s c"])
        #expect(try bills(replica) == ["b later"])
        #expect(try replica.conflicts().isEmpty)
      }
      try expectQuiet(site)
    }
  }

  /// Slices of two: of a ring of four rows none fits without the others, nor do the first two with
  /// what fits beside nothing.
  @Test(arguments: [true, false])
  func `is accepted together with what other slices bring`(isSlow: Bool) throws {
    var pace = Pace()
    if isSlow { (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 0, 2) }
    let site = try site(pace: pace)
    try site.anchor.write(
      """
      INSERT INTO note VALUES ('s', 'base', 'd'); INSERT INTO note VALUES ('t', 'base', 'e');
      INSERT INTO note VALUES ('u', 'base', 'f')
      """, at: 10)
    try site.meet()
    try site.anchor.write("INSERT INTO note VALUES ('z', 'of the anchor', 'z')", at: 15)
    try site.b.write(
      """
      INSERT INTO note VALUES ('x', 'of b', 'z'); INSERT INTO bill VALUES ('w', 'x', 1)
      """, at: 20)
    try site.a.write(
      """
      BEGIN; UPDATE note SET code = NULL WHERE id <> 'z';
      UPDATE note SET code = 'd' WHERE id = 'r'; UPDATE note SET code = 'e' WHERE id = 's';
      UPDATE note SET code = 'f' WHERE id = 't'; UPDATE note SET code = 'c' WHERE id = 'u'; COMMIT
      """, at: 30)
    try site.meet()
    for replica in site.replicas {
      #expect(try codes(replica) == ["r d", "s e", "t f", "u c", "z z"])
      #expect(try bills(replica).isEmpty)
    }
    #expect(try site.a.conflicts().isEmpty)
    #expect(try site.b.verdicts().contains("rejected parked client-wins"))
    try expectQuiet(site)
  }

  /// Bob gets the number of Ann, and the bed of Zoe, who gets that of Ann. His result is older than
  /// the swap, so that its turn comes first.
  @Test(arguments: [true, false])
  func `is accepted under a parent that fits together with others`(isSlow: Bool) throws {
    var pace = Pace()
    if isSlow { (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 0, 1) }
    let schema = """
      CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT, bed TEXT UNIQUE);
      CREATE TABLE lab(id TEXT PRIMARY KEY NOT NULL, patient INTEGER REFERENCES patient)
      """
    let site = try AnchorSite("client-wins", schema: schema, pace: pace)
    try site.anchor.store.track(["patient", "lab"], rule: "client-wins", at: site.anchor.now)
    try site.anchor.write("INSERT INTO patient VALUES (1, 'Zoe', 'A'), (2, 'Ann', 'B')", at: 10)
    try site.meet()
    try site.a.write("DELETE FROM patient WHERE id = 2", at: 20)
    try site.a.write("INSERT INTO patient VALUES (2, 'Bob', NULL)", at: 21)
    try site.a.write("INSERT INTO lab VALUES ('l', 2)", at: 22)
    try site.a.write(
      """
      BEGIN; UPDATE patient SET bed = 'B' WHERE id = 1; UPDATE patient SET bed = 'A' WHERE id = 2;
      COMMIT
      """, at: 30)
    try site.meet()
    for replica in site.replicas {
      #expect(
        try replica.application.prepareRows("SELECT name || bed FROM patient ORDER BY id")
          == ["ZoeB", "BobA"])
      #expect(
        try replica.application.prepareRows(
          "SELECT name FROM lab JOIN patient ON patient.id = patient") == ["Bob"])
    }
    #expect(try site.a.verdicts().allSatisfy { $0.hasPrefix("accepted") })
    try expectQuiet(site)
  }

  @Test func `is rejected only for itself, however long what hangs on it`() throws {
    let site = try AnchorSite("client-wins", schema: Self.schema)
    try site.anchor.write(
      """
      CREATE TABLE part(id INTEGER PRIMARY KEY, above INTEGER REFERENCES part, code TEXT UNIQUE)
      """)
    for replica in site.replicas.dropFirst() {
      try replica.write(
        """
        CREATE TABLE part(id INTEGER PRIMARY KEY, above INTEGER REFERENCES part, code TEXT UNIQUE)
        """)
    }
    try site.anchor.store.track(["part"], rule: "client-wins", at: site.anchor.now)
    try site.anchor.write("INSERT INTO part VALUES (1, NULL, 'a'), (2, NULL, 'b')", at: 10)
    try site.meet()
    // Twelve hang on each other, and the first one on a row that nobody has.
    let chain = (10..<22).map { "(\($0), \($0 == 10 ? 9 : $0 - 1), NULL)" }
    try site.a.write("INSERT INTO part VALUES \(chain.joined(separator: ", "))", at: 20)
    try site.a.write(
      """
      BEGIN; UPDATE part SET code = NULL WHERE id < 3; UPDATE part SET code = 'b' WHERE id = 1;
      UPDATE part SET code = 'a' WHERE id = 2; COMMIT
      """, at: 20)
    try site.meet()
    for replica in site.replicas {
      #expect(
        try replica.application.prepareRows("SELECT id || code FROM part ORDER BY id")
          == ["1b", "2a"])
    }
    #expect(try site.isEqual)
  }

  @Test func `is rejected if it refers to a row that is not there`() throws {
    let site = try site()
    try site.anchor.write("DELETE FROM note WHERE id = 'r'", at: 10)
    try site.a.write("INSERT INTO bill VALUES ('b', 'r', 1)", at: 20)
    try site.meet()
    #expect(try site.replicas.allSatisfy { try bills($0).isEmpty })
    #expect(try site.a.store.conflictLog.list(all: true).map(\.reason) == ["parked"])
    try expectQuiet(site)
  }

  @Test func `is rejected if it takes away what another row refers to`() throws {
    let site = try site()
    try site.anchor.write("INSERT INTO bill VALUES ('b', 'r', 1)", at: 10)
    try site.a.write("DELETE FROM note WHERE id = 'r'", at: 20)
    try site.meet()
    for replica in site.replicas {
      #expect(try codes(replica) == ["r c"])
      #expect(try bills(replica) == ["b r"])
    }
    #expect(try site.a.verdicts() == ["rejected parked client-wins"])
    // A reference that was broken before is nobody's fault now.
    try site.anchor.write("UPDATE bill SET note = 'nobody'", at: 30)
    try site.meet()
    try site.b.write("UPDATE bill SET sum = 2", at: 40)
    try site.meet()
    #expect(try site.anchor.value("SELECT sum FROM bill") == .integer(2))
    try expectQuiet(site)
  }

  @Test(arguments: ["text TEXT NOT NULL", "text TEXT CHECK(text <> 'bad')"])
  func `is rejected if the anchor's own schema forbids it`(column: String) throws {
    let strict = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, \(column))"
    let site = try AnchorSite("client-wins")
    try site.anchor.write(
      """
      CREATE TABLE kept AS SELECT * FROM note; DROP TABLE note; \(strict);
      INSERT INTO note SELECT * FROM kept; DROP TABLE kept
      """)
    try site.anchor.foldAll()
    let value = column.contains("CHECK") ? "'bad'" : "NULL"
    try site.a.write("UPDATE note SET text = \(value) WHERE id = 'r'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('n', \(value))", at: 20)
    try site.meet()
    #expect(
      try site.a.verdicts() == ["rejected parked client-wins", "rejected parked client-wins"])
    for replica in site.replicas {
      #expect(try replica.text() == "base" && replica.text("n") == nil)
    }
    try expectQuiet(site)
  }

  @Test func `is both halves of OR REPLACE, or the one that takes the value`() throws {
    let site = try site("server-wins")
    try site.anchor.write("INSERT INTO note VALUES ('s', 'base', 'd')", at: 10)
    try site.meet()
    // Made offline: the delete of the displaced row is rejected, so the new row has no room.
    try site.a.write("INSERT OR REPLACE INTO note VALUES ('t', 'of a', 'd')", at: 20)
    try site.meet()
    #expect(
      try site.a.verdicts() == ["rejected offline server-wins", "rejected parked server-wins"])
    for replica in site.replicas { #expect(try codes(replica) == ["r c", "s d"]) }
    try expectQuiet(site)
  }
}
