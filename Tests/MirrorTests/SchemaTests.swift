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

  @Test func `rounds nothing, though a column has just lost a digit`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v NUMERIC(10,2), w TEXT);"
          + "INSERT INTO t VALUES (1, 1.5, 'one'), (2, 2, 'two')", "--create")
      // Whatever was in the column for a moment.
      try await office.server(
        """
        CREATE TABLE seen(v DECIMAL(20,6));
        EXECUTE IMMEDIATE "CREATE TRIGGER look AFTER INSERT ON t FOR EACH ROW
          INSERT INTO seen VALUES (NEW.v)";
        EXECUTE IMMEDIATE "CREATE TRIGGER look_too AFTER UPDATE ON t FOR EACH ROW
          INSERT INTO seen VALUES (NEW.v)"
        """)
      for round in 1...3 {
        // The mirror has just looked at the schema, and sent something.
        try await office.site("UPDATE t SET w = 'round \(round)' WHERE id = 2")
        try await office.serverComesTo("round \(round)", "SELECT w FROM t WHERE id = 2")
        try await office.isInSync()
        try await office.server("ALTER TABLE t MODIFY v DECIMAL(10,1)")
        // One row, and as many as go the shortest way.
        try await office.site(
          """
          UPDATE t SET v = 7.77 WHERE id = 1;
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t SELECT \(round) * 1000 + i, 3.25, 'many' FROM n
          """)
        let areHeld = try await eventually {
          try await office.status()["held_count"] as? Int == 100 * round + 1
        }
        let status = try await office.status()
        #expect(areHeld, "\(status)")
        #expect(
          try await office.server("SELECT count(*) FROM t WHERE w = 'one' AND v = 1.5") == "1")
        try await office.server("ALTER TABLE t MODIFY v DECIMAL(10,2)")
        try await office.serverComesTo("7.77", "SELECT v FROM t WHERE id = 1")
        try await office.serverComesTo(
          "\(round)00", "SELECT count(*) FROM t WHERE w = 'many' AND v = 3.25")
        try await office.site("UPDATE t SET v = 1.5 WHERE id = 1")
        try await office.serverComesTo("1.50", "SELECT v FROM t WHERE id = 1")
      }
      #expect(
        try await office.server("SELECT count(*) FROM seen WHERE v NOT IN (1.5, 2, 7.77, 3.25)")
          == "0")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text.prefix(500))")
    }
  }

  @Test func `may get columns of its own, which keep what they have`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server(
        "ALTER TABLE t ADD COLUMN shelf INT DEFAULT 7; UPDATE t SET shelf = id")
      try await office.site(
        "UPDATE t SET w = 'site' WHERE id = 1; INSERT INTO t VALUES (3, 3, 'new')")
      try await office.serverComesTo(
        "1\tsite\t1\n2\ttwo\t2\n3\tnew\t7", "SELECT id, w, shelf FROM t ORDER BY id")
      try await office.server("UPDATE t SET w = 'office', shelf = 20 WHERE id = 2")
      try await office.siteComesTo("office", "SELECT w FROM t WHERE id = 2")
      // One that wants a value of which the site knows nothing stops the table.
      try await office.server("ALTER TABLE t ADD COLUMN door INT NOT NULL")
      let reason = try await office.stops("t")
      #expect(reason.contains("wants a value for door"), "\(reason)")
      try await office.site("INSERT INTO t VALUES (4, 4, 'later')")
      try await office.server("ALTER TABLE t MODIFY door INT NOT NULL DEFAULT 0")
      try await office.serverComesTo("later\t0", "SELECT w, door FROM t WHERE id = 4")
      #expect(try await office.server("SELECT shelf FROM t WHERE id = 2") == "20")
    }
  }

  @Test func `may give a column another name and its own one again`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t RENAME COLUMN w TO word")
      let reason = try await office.stops("t")
      #expect(reason.contains("has no column w"), "\(reason)")
      // Both sides go on. Nobody knows then which of two rows is newer: the site's stands, and
      // the server's is in the log.
      try await office.site(
        "UPDATE t SET w = 'site' WHERE id = 1; INSERT INTO t VALUES (3, 3, 'here')")
      try await office.server(
        "UPDATE t SET word = 'office' WHERE id = 2; INSERT INTO t VALUES (4, 4, 'there')")
      try await office.server("ALTER TABLE t RENAME COLUMN word TO w")
      let all = "SELECT id, w FROM t ORDER BY id"
      try await office.serverComesTo("1\tsite\n2\ttwo\n3\there\n4\tthere", all)
      try await office.siteComesTo("1\tsite\n2\ttwo\n3\there\n4\tthere", all)
      try await office.isInSync()
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json").text
      #expect(conflicts.contains(#""w":"office""#), "\(conflicts)")
    }
  }

  @Test func `follows a column that the site gets first, and one that it gives up`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.site("ALTER TABLE t ADD COLUMN note TEXT; UPDATE t SET note = 'n' || id")
      let reason = try await office.stops("t")
      #expect(reason.contains("has no column note"), "\(reason)")
      try await office.server("ALTER TABLE t ADD COLUMN note LONGTEXT")
      try await office.serverComesTo("n1\nn2", "SELECT note FROM t ORDER BY id")
      try await office.server("UPDATE t SET note = 'office' WHERE id = 2")
      try await office.siteComesTo("office", "SELECT note FROM t WHERE id = 2")
      // What the site gives up the server keeps for itself.
      try await office.site("ALTER TABLE t DROP COLUMN note; UPDATE t SET w = 'since' WHERE id = 1")
      try await office.serverComesTo("since\tn1", "SELECT w, note FROM t WHERE id = 1")
      try await office.server("UPDATE t SET w = 'too' WHERE id = 2")
      try await office.siteComesTo("too", "SELECT w FROM t WHERE id = 2")
      try await office.isInSync()
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
        WHERE trigger_name LIKE 'flotilla\\_________\\_c%'
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

extension Office {
  /// Waits until a table is mirrored no more; gives the reason.
  func stops(_ table: String) async throws -> String {
    var reason = ""
    let stops = try await eventually {
      let stopped = try await status()["stopped"] as? [[String: Any]] ?? []
      let one = stopped.first { $0["table"] as? String == table }
      reason = one?["reason"] as? String ?? ""
      return one != nil
    }
    #expect(stops)
    return reason
  }
}
