import Testing

/// The server's people change their tables while the mirror follows.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A schema of the server that changes` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v NUMERIC(10,2), w TEXT);
    INSERT INTO t VALUES (1, 1.25, 'one'), (2, 2, 'two');
    """

  @Test func `is noticed, and a table that fits again comes back by itself`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t MODIFY v DECIMAL(10,1)")
      // What the server made of 1.25 is put right, or held if it cannot be.
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      try await office.site("INSERT INTO t VALUES (3, 7.77, 'three')")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 2 }
      #expect(areHeld)
      #expect(try await office.server("SELECT count(*) FROM t WHERE id = 3") == "0")
      #expect(try await office.site("SELECT v FROM t WHERE id = 1") == "1.25")
      try await office.server("ALTER TABLE t MODIFY v DOUBLE(10,2)")
      let stops = try await eventually {
        (try await office.status()["stopped"] as? [Any])?.count == 1
      }
      #expect(stops)
      try await office.server("ALTER TABLE t MODIFY v DECIMAL(12,2)")
      try await office.serverComesTo("1.25\n2.00\n7.77", "SELECT v FROM t ORDER BY id")
      let areFree = try await eventually { try await office.status()["held_count"] as? Int == 0 }
      #expect(areFree)
    }
  }

  @Test func `never has a row take the place of another one`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t MODIFY w VARCHAR(20) UNIQUE")
      try await office.site("INSERT INTO t VALUES (9, 9, 'one')")
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      #expect(try await office.server("SELECT id, v FROM t ORDER BY id") == "1\t1.25\n2\t2.00")
    }
  }

  @Test func `holds the rows that a trigger objects to, and a NULL that is not taken`()
    async throws
  {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v DECIMAL(10,2), w TEXT,
          at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
        EXECUTE IMMEDIATE "CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW
          IF NEW.w = 'no' THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 31001; END IF"
        """)
      _ = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v NUMERIC(10,2), w TEXT, at DATETIME)")
      try await office.site(
        """
        INSERT INTO t VALUES (1, 1, 'no', '2026-01-01 00:00:00'), (2, 1, 'x', NULL),
          (3, 1, 'yes', '2026-01-01 00:00:00')
        """)
      try await office.serverComesTo("3", "SELECT id FROM t")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 2 }
      let status = try await office.status()
      #expect(areHeld, "\(status)")
    }
  }

  @Test func `leaves no trigger behind whose foreign key is gone`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE p(id BIGINT PRIMARY KEY);
        CREATE TABLE c(id BIGINT PRIMARY KEY, p BIGINT, CONSTRAINT f FOREIGN KEY (p)
          REFERENCES p(id) ON DELETE CASCADE);
        INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1)
        """)
      _ = try await office.open(
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER);
        """)
      let triggers = """
        SELECT count(*) FROM information_schema.triggers
        WHERE trigger_name LIKE 'flotilla%\\_c0\\_%'
        """
      #expect(try await office.server(triggers) != "0")
      try await office.server("ALTER TABLE c DROP FOREIGN KEY f")
      try await office.serverComesTo("0", triggers)
      try await office.server("DELETE FROM p WHERE id = 1")
      try await office.siteComesTo("0", "SELECT count(*) FROM p")
    }
  }

  @Test func `may be one with a strange name`() async throws {
    try await Office.with { office in
      try await office.server(
        "CREATE DATABASE `a.b_c``d`; GRANT ALL ON `a.b\\_c``d`.* TO flo@localhost")
      try await office.site(Self.schema)
      let made = try await office.flotilla("init", "shop.db", "--all", "--name", "anchor")
      #expect(made.status == 0)
      let url = "mysql://flo@localhost/a.b_c%60d?socket=\(office.folder)/socket"
      let added = try await office.flotilla(
        "mirror", "shop.db", "add", url, "--password-file", "password", "--yes", "--create")
      try #require(added.status == 0, "\(added.text)")
      _ = try await office.serve()
      try await office.follows()
      try await office.server("UPDATE t SET w = 'there' WHERE id = 1", in: "a.b_c`d")
      try await office.siteComesTo("there", "SELECT w FROM t WHERE id = 1")
      let removed = try await office.flotilla("mirror", "shop.db", "remove")
      #expect(removed.status == 0, "\(removed.text)")
      #expect(try await office.server("SHOW TABLES", in: "a.b_c`d") == "t")
      #expect(try await office.server("SHOW TRIGGERS", in: "a.b_c`d") == "")
    }
  }
}
