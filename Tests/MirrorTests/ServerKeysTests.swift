import Foundation
import Testing

/// Two programs, one of the site and one of the server, give one number to two rows.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `One number for two rows` {
  private static let schema = """
    CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT,
      mother INTEGER REFERENCES patient(id), who TEXT);
    CREATE TABLE visit(id INTEGER PRIMARY KEY,
      patient INTEGER NOT NULL REFERENCES patient(id), who TEXT);
    CREATE TABLE result(id INTEGER PRIMARY KEY,
      visit INTEGER NOT NULL REFERENCES visit(id), who TEXT);
    CREATE TABLE line(patient INTEGER NOT NULL REFERENCES patient(id), number INTEGER NOT NULL,
      who TEXT, PRIMARY KEY (patient, number));
    CREATE TABLE mark(id TEXT PRIMARY KEY, patient INTEGER, number INTEGER, who TEXT,
      FOREIGN KEY (patient, number) REFERENCES line(patient, number));
    CREATE TABLE tag(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO patient(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four');
    INSERT INTO visit VALUES (1, 1, 'one'), (2, 2, 'two');
    INSERT INTO tag VALUES (1, 'first');
    """

  private static let all = """
    SELECT 'p', id, mother, name, who FROM patient
    UNION ALL SELECT 'v', id, patient, who, NULL FROM visit
    UNION ALL SELECT 'r', id, visit, who, NULL FROM result
    UNION ALL SELECT 'l', patient, number, who, NULL FROM line
    UNION ALL SELECT 'm', patient, number, id, who FROM mark ORDER BY 1, 2, 3, 4
    """

  /// Rows that hang under another one than their author meant, or under none.
  private static let strays = """
    SELECT 'p', c.id FROM patient c LEFT JOIN patient p ON p.id = c.mother
      WHERE c.mother IS NOT NULL AND (p.id IS NULL OR p.name <> c.who)
    UNION ALL SELECT 'v', c.id FROM visit c LEFT JOIN patient p ON p.id = c.patient
      WHERE p.id IS NULL OR p.name <> c.who
    UNION ALL SELECT 'r', c.id FROM result c LEFT JOIN visit p ON p.id = c.visit
      WHERE p.id IS NULL OR p.who <> c.who
    UNION ALL SELECT 'l', c.patient FROM line c LEFT JOIN patient p ON p.id = c.patient
      WHERE p.id IS NULL OR p.name <> c.who
    UNION ALL SELECT 'm', c.patient FROM mark c
      LEFT JOIN line p ON p.patient = c.patient AND p.number = c.number
      WHERE p.patient IS NULL OR p.who <> c.who
    """

  /// How many rows somebody has made.
  private static func count(_ who: String) -> String {
    """
    SELECT (SELECT count(*) FROM patient WHERE name = '\(who)' OR who = '\(who)')
      + (SELECT count(*) FROM visit WHERE who = '\(who)')
      + (SELECT count(*) FROM result WHERE who = '\(who)')
      + (SELECT count(*) FROM line WHERE who = '\(who)')
      + (SELECT count(*) FROM mark WHERE who = '\(who)')
    """
  }

  /// A patient with nine rows that refer to it, and to each other, as either side understands it.
  private static func family(_ who: String) -> String {
    let id = "(SELECT id FROM (SELECT id FROM patient WHERE name = '\(who)') x)"
    let visit = "(SELECT max(id) FROM visit WHERE who = '\(who)')"
    return """
      \(head(who))
      INSERT INTO patient(name, mother, who) SELECT 'of \(who)', id, '\(who)' FROM patient
        WHERE name = '\(who)';
      INSERT INTO visit(patient, who) VALUES (\(id), '\(who)');
      INSERT INTO result(visit, who) VALUES (\(visit), '\(who)'), (\(visit), '\(who)');
      INSERT INTO visit(patient, who) VALUES (\(id), '\(who)');
      INSERT INTO line VALUES (\(id), 1, '\(who)'), (\(id), 2, '\(who)');
      INSERT INTO mark VALUES ('\(who) 1', \(id), 1, '\(who)'), ('\(who) 2', \(id), 2, '\(who)');
      """
  }

  private static func head(_ who: String) -> String {
    "INSERT INTO patient(name) VALUES ('\(who)');"
  }

  private static func whole(_ sql: String, _ begin: String) -> String { "\(begin); \(sql) COMMIT" }

  private func pause(_ office: Office) async throws {
    #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
  }

  private func resume(_ office: Office) async throws {
    #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
  }

  /// Both have all of these families, each under its own patient, and both are equal.
  private func agree(_ office: Office, _ families: [String]) async throws {
    for who in families {
      try await office.siteComesTo("10", Self.count(who))
      try await office.serverComesTo("10", Self.count(who))
    }
    try await office.isInSync()
    try await office.siteComesTo("", Self.strays)
    try await office.serverComesTo("", Self.strays)
    let here = try await office.site(Self.all)
    try await office.serverComesTo(here, Self.all)
  }

  @Test func `has one of them move, with all that refers to it`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await pause(office)
      // The server's row is the later one in one family, the earlier one in the other.
      try await office.site(Self.whole(Self.family("Ann"), "BEGIN"))
      try await office.server(Self.whole(Self.family("Bob"), "BEGIN"))
      try await office.server(Self.whole(Self.family("Cid"), "BEGIN"))
      try await office.site(Self.whole(Self.family("Dan"), "BEGIN"))
      #expect(try await office.site("SELECT id FROM patient WHERE name = 'Ann'") == "5")
      #expect(try await office.server("SELECT id FROM patient WHERE name = 'Bob'") == "5")
      // Nobody but the server has these.
      try await office.server(
        """
        CREATE TABLE invoice(id INT PRIMARY KEY, patient BIGINT,
          FOREIGN KEY (patient) REFERENCES patient(id));
        INSERT INTO invoice VALUES (1, 5)
        """)
      try await resume(office)
      try await agree(office, ["Ann", "Bob", "Cid", "Dan"])
      #expect(
        try await office.server(
          "SELECT p.name FROM invoice i JOIN patient p ON p.id = i.patient") == "Bob")
      #expect(try await office.server("SELECT id FROM patient WHERE name = 'Ann'") == "5")
      let bob = try await office.server("SELECT id FROM patient WHERE name = 'Bob'")
      let log = try await office.flotilla("conflicts", "shop.db", "--all").text
      #expect(log.contains("now \(bob)"), "\(log)")
      let json = try await office.flotilla("conflicts", "shop.db", "--json").text
      #expect(json.contains("key-collision") && json.contains("rekeyed"), "\(json)")
      // The next number of the server is nobody's.
      try await office.server("INSERT INTO patient(name) VALUES ('next')")
      try await office.siteComesTo("1", "SELECT count(*) FROM patient WHERE name = 'next'")
    }
  }

  @Test func `goes on so while both insert all the time`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let end = ContinuousClock.now + .seconds(6)
      async let ours = Self.families("site", until: end) { name in
        try await office.site(Self.whole(Self.family(name), "BEGIN IMMEDIATE"))
        return true
      }
      async let theirs = Self.families("server", until: end) { name in
        try await office.trial(Self.whole(Self.family(name), "BEGIN"), in: "shop").status == 0
      }
      let families = try await ours + theirs
      #expect(families.count > 10)
      try await agree(office, families)
    }
  }

  private static func families(
    _ side: String, until end: ContinuousClock.Instant, _ make: (String) async throws -> Bool
  ) async throws -> [String] {
    var made: [String] = []
    while ContinuousClock.now < end {
      let name = "\(side) \(made.count)"
      if try await make(name) { made.append(name) }
    }
    return made
  }

  @Test func `has one move, and all is equal, though the node is killed then`() async throws {
    try await Office.with { office in
      var node = try await office.open(Self.schema, "--create")
      for round in 0..<3 {
        try await pause(office)
        try await office.server(Self.whole(Self.family("Bob \(round)"), "BEGIN"))
        try await office.site(Self.whole(Self.family("Ann \(round)"), "BEGIN"))
        let former = try await office.server(
          "SELECT id FROM patient WHERE name = 'Bob \(round)'")
        #expect(
          try await office.site("SELECT id FROM patient WHERE name = 'Ann \(round)'") == former)
        try await resume(office)
        let moves = try await eventually {
          try await office.server("SELECT id FROM patient WHERE name = 'Bob \(round)'") != former
        }
        #expect(moves)
        node.die()
        node = try await office.serve()
        try await agree(office, (0...round).flatMap { ["Ann \($0)", "Bob \($0)"] })
      }
    }
  }

  @Test func `is told from a row that both have changed`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await pause(office)
      try await office.site("UPDATE patient SET name = 'site' WHERE id = 1")
      try await office.server("UPDATE patient SET name = 'server' WHERE id = 1")
      // It is another row, and was put where the former one was: nobody inserted it unseen.
      try await office.site("UPDATE patient SET name = 'ours' WHERE id = 4")
      try await office.server(
        "DELETE FROM patient WHERE id = 4; INSERT INTO patient(id, name) VALUES (4, 'theirs')")
      try await resume(office)
      let wanted = "1\tserver\n2\ttwo\n3\tthree\n4\ttheirs"
      try await office.siteComesTo(wanted, "SELECT id, name FROM patient ORDER BY id")
      try await office.isInSync()
      #expect(try await office.server("SELECT id, name FROM patient ORDER BY id") == wanted)
      let log = try await office.flotilla("conflicts", "shop.db", "--json").text
      #expect(log.contains(#""name":"site""#) && log.contains(#""name":"ours""#), "\(log)")
      #expect(!log.contains("rekeyed"), "\(log)")
    }
  }

  @Test func `is one row in a table to which nothing refers, or as the site has chosen`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let chosen = try await office.flotilla(
        "track", "shop.db", "visit", "--on-collision", "log")
      #expect(chosen.status == 0, "\(chosen.text)")
      try await pause(office)
      try await office.site(
        "INSERT INTO tag VALUES (2, 'ours'); INSERT INTO visit VALUES (9, 3, 'three')")
      try await office.server(
        "INSERT INTO tag VALUES (2, 'theirs'); INSERT INTO visit VALUES (9, 4, 'four')")
      try await resume(office)
      try await office.siteComesTo("1\tfirst\n2\ttheirs", "SELECT * FROM tag ORDER BY id")
      try await office.siteComesTo("9\t4", "SELECT id, patient FROM visit WHERE id > 2")
      try await office.isInSync()
      #expect(
        try await office.server("SELECT * FROM tag ORDER BY id") == "1\tfirst\n2\ttheirs")
      let log = try await office.flotilla("conflicts", "shop.db", "--json").text
      #expect(log.contains(#""v":"ours""#) && !log.contains("rekeyed"), "\(log)")
    }
  }

  @Test func `is the other side's where one is gone again`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await pause(office)
      try await office.site("INSERT INTO patient(id, name) VALUES (60, 'ours'), (61, 'ours')")
      try await office.server("INSERT INTO patient(id, name) VALUES (60, 'theirs'), (61, 'theirs')")
      // The node has seen both by then.
      try await Task.sleep(for: .seconds(1))
      try await office.site("DELETE FROM patient WHERE id = 60")
      try await office.server("DELETE FROM patient WHERE id = 61")
      try await resume(office)
      let wanted = "60\ttheirs\n61\tours"
      let sql = "SELECT id, name FROM patient WHERE id > 4 ORDER BY id"
      try await office.siteComesTo(wanted, sql)
      try await office.serverComesTo(wanted, sql)
      try await office.isInSync()
      #expect(try await office.site(sql) == wanted)
    }
  }

  /// What is committed later, or inserted by itself a second later, means the row that its program
  /// has inserted.
  @Test func `moves with what a program of the server is about to write`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await pause(office)
      try await office.site(Self.whole(Self.family("Ann"), "BEGIN"))
      try await office.server("INSERT INTO patient(name) VALUES ('Bob')")
      #expect(try await office.server("SELECT id FROM patient WHERE name = 'Bob'") == "5")
      async let late: Void = {
        try await office.server(
          """
          BEGIN; INSERT INTO visit(id, patient, who) VALUES (70, 5, 'Bob');
          SELECT SLEEP(8) INTO @s; COMMIT
          """)
      }()
      try await office.site("INSERT INTO patient(id, name) VALUES (80, 'Eve')")
      async let slow: Void = {
        try await office.server(
          """
          INSERT INTO patient(id, name) VALUES (80, 'Cid'); SELECT SLEEP(1.5) INTO @s;
          INSERT INTO visit(id, patient, who) VALUES (71, 80, 'Cid')
          """)
      }()
      try await resume(office)
      let moves = try await eventually {
        try await office.server("SELECT id FROM patient WHERE name = 'Bob'") != "5"
      }
      #expect(moves)
      try await office.serverComesTo("5", "SELECT id FROM patient WHERE name = 'Ann'")
      #expect(try await office.server("SELECT count(*) FROM visit WHERE id = 70") == "0")
      try await slow
      try await late
      for id in [70, 71] {
        try await office.siteComesTo("1", "SELECT count(*) FROM visit WHERE id = \(id)")
      }
      try await agree(office, ["Ann"])
    }
  }

  /// The site's row waits for a lock, and what refers to it is there before it.
  @Test func `leaves what the site has sent ahead where it is`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      async let slow: Void = {
        try await office.server(
          """
          BEGIN; \(Self.head("Bob")) SET @bob = LAST_INSERT_ID(); SELECT SLEEP(10) INTO @s;
          INSERT INTO visit(patient, who) VALUES (@bob, 'Bob');
          INSERT INTO result(visit, who) VALUES (LAST_INSERT_ID(), 'Bob');
          INSERT INTO line VALUES (@bob, 7, 'Bob'); COMMIT
          """)
      }()
      let isOpen = try await eventually {
        try await office.server(
          "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; "
            + "SELECT count(*) FROM patient WHERE name = 'Bob'") == "1"
      }
      #expect(isOpen)
      try await office.site(Self.whole(Self.family("Ann"), "BEGIN"))
      try await office.serverComesTo("2", "SELECT count(*) FROM visit WHERE who = 'Ann'")
      #expect(try await office.server("SELECT count(*) FROM patient WHERE name = 'Bob'") == "0")
      try await slow
      try await agree(office, ["Ann"])
      #expect(try await office.site(Self.count("Bob")) == "4")
      #expect(try await office.server("SELECT id FROM patient WHERE name = 'Ann'") == "5")
    }
  }

  @Test func `is told from one by a journal of an earlier version, too`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      node.terminate()
      node.waitUntilExit()
      let number = try await office.server(
        "SELECT number FROM flotilla_table WHERE site_table = 'patient'")
      for letter in ["i", "u", "d"] {
        try await office.server("DROP TRIGGER \(try await office.trigger("\(number)_\(letter)"))")
      }
      try await office.server(
        "ALTER TABLE flotilla_journal_\(number) DROP COLUMN arrived, DROP COLUMN former")
      _ = try await office.serve()
      try await office.follows()
      try await office.isInSync()
      try await pause(office)
      try await office.site(Self.whole(Self.family("Ann"), "BEGIN"))
      try await office.server(Self.whole(Self.family("Bob"), "BEGIN"))
      try await resume(office)
      try await agree(office, ["Ann", "Bob"])
    }
  }
}
