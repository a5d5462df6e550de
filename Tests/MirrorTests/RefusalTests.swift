import Testing

/// What the site cannot take at the moment, or never.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `What the site refuses` {
  private static let family = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, stock INTEGER REFERENCES stock(id));
    CREATE TABLE stock(id INTEGER PRIMARY KEY, above INTEGER REFERENCES stock(id));
    """
  private static let there = """
    CREATE TABLE item(id BIGINT PRIMARY KEY, stock BIGINT);
    CREATE TABLE stock(id BIGINT PRIMARY KEY, above BIGINT);
    """

  @Test func `waits for its parents when both are filled from the server`() async throws {
    try await Office.with { office in
      try await office.server(
        Self.there + """
          INSERT INTO stock SELECT seq, IF(seq < 1500, seq + 1, NULL) FROM seq_1_to_1500;
          INSERT INTO item SELECT seq, 1501 - seq FROM seq_1_to_1500;
          INSERT INTO item VALUES (9000, 9000)
          """)
      _ = try await office.open(Self.family)
      #expect(try await office.site("SELECT count(*) FROM item") == "1500")
      #expect(try await office.site("SELECT count(*) FROM stock") == "1500")
      // An orphan is held: nothing is taken from the server by a comparison.
      #expect(try await office.server("SELECT count(*) FROM item") == "1501")
      #expect(try await office.status()["held_count"] as? Int == 1)
      try await office.server("INSERT INTO stock VALUES (9000, NULL)")
      try await office.siteComesTo("1", "SELECT count(*) FROM stock WHERE id = 9000")
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(try await office.site("SELECT count(*) FROM item") == "1501")
      #expect(try await office.status()["held_count"] as? Int == 0)
    }
  }

  @Test func `waits for parents that stand behind it in the journals`() async throws {
    try await Office.with { office in
      try await office.server(Self.there)
      _ = try await office.open(Self.family)
      try await office.server(
        """
        START TRANSACTION;
        INSERT INTO item SELECT seq, seq FROM seq_1_to_2500;
        INSERT INTO stock SELECT seq, IF(seq < 2500, seq + 1, NULL) FROM seq_1_to_2500; COMMIT
        """)
      try await office.siteComesTo("2500\t2500", Self.counts)
      try await office.server(
        "START TRANSACTION; DELETE FROM stock; DELETE FROM item; COMMIT")
      try await office.siteComesTo("0\t0", Self.counts)
      #expect(try await office.server(Self.counts) == "0\t0")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text.prefix(300))")
    }
  }

  private static let counts = "SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM stock)"

  @Test func `stays on the server while its parent is held`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE p(id BIGINT PRIMARY KEY, n BIGINT UNSIGNED);
        CREATE TABLE c(id BIGINT PRIMARY KEY, p BIGINT)
        """)
      _ = try await office.open(
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER);
        CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id));
        """)
      try await office.server(
        "INSERT INTO p VALUES (1, 18446744073709551615); INSERT INTO c VALUES (1, 1)")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 2 }
      #expect(areHeld)
      #expect(try await office.server("SELECT * FROM c") == "1\t1")
      try await office.server("UPDATE p SET n = 5")
      try await office.siteComesTo("5", "SELECT n FROM p")
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(try await office.site("SELECT * FROM c") == "1\t1")
      #expect(try await office.status()["held_count"] as? Int == 0)
    }
  }

  @Test func `does not undo or pass over what comes with it`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE ON CONFLICT ROLLBACK,
          w TEXT UNIQUE ON CONFLICT IGNORE);
        CREATE TRIGGER undo BEFORE INSERT ON t WHEN NEW.v = 'undo'
          BEGIN SELECT RAISE(ROLLBACK, 'no'); END;
        CREATE TRIGGER pass BEFORE INSERT ON t WHEN NEW.v = 'pass'
          BEGIN SELECT RAISE(IGNORE); END;
        INSERT INTO t VALUES (1, 'one', 'one');
        """, "--create")
      try await office.server(
        """
        START TRANSACTION;
        INSERT INTO t VALUES (2, 'two', 'two'), (3, 'undo', 'c'), (4, 'pass', 'd'),
          (5, 'one', 'e'), (6, 'f', 'one'), (7, 'seven', 'seven'); COMMIT
        """)
      let wanted = "1\tone\tone\n2\ttwo\ttwo\n7\tseven\tseven"
      try await office.siteComesTo(wanted, "SELECT * FROM t ORDER BY id")
      try await office.serverComesTo(wanted, "SELECT * FROM t ORDER BY id")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""undo""#) && conflicts.text.contains(#""pass""#))
    }
  }

  @Test func `is logged when it is overwritten, and held no more once both are equal`()
    async throws
  {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE v(id BIGINT PRIMARY KEY, n BIGINT UNSIGNED);
        INSERT INTO v VALUES (1, 1), (2, 2), (3, 3)
        """)
      _ = try await office.open("CREATE TABLE v(id INTEGER PRIMARY KEY, n INTEGER)")
      try await office.server("UPDATE v SET n = 18446744073709551615 WHERE id < 3")
      try await office.site("UPDATE v SET n = -7 WHERE id = 3")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 3 }
      #expect(areHeld)
      try await office.site("UPDATE v SET n = 5 WHERE id = 1")
      try await office.serverComesTo("5", "SELECT n FROM v WHERE id = 1")
      try await office.server("UPDATE v SET n = 6 WHERE id = 3")
      try await office.siteComesTo("6", "SELECT n FROM v WHERE id = 3")
      // The third is mended by hand on the server.
      try await office.server("UPDATE v SET n = 2 WHERE id = 2")
      let isFree = try await eventually { try await office.status()["held_count"] as? Int == 0 }
      #expect(isFree)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("18446744073709551615"), "\(conflicts.text)")
      #expect(conflicts.text.contains(#""n":-7"#), "\(conflicts.text)")
    }
  }
}
