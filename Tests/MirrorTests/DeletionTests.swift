import Testing

/// What the site has deleted, and something keeps from the server.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A deletion of the site` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u(id INTEGER PRIMARY KEY);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4]');
    """
  private static let all = "SELECT id FROM t ORDER BY id"

  @Test func `is made there though its table was stopped then`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t DROP COLUMN v")
      _ = try await office.stops("t")
      try await office.site("DELETE FROM t WHERE id = 2; INSERT INTO u VALUES (1)")
      try await office.serverComesTo("1", "SELECT id FROM u")
      try await office.server("INSERT INTO t VALUES (50)")
      try await office.server("ALTER TABLE t ADD COLUMN v LONGTEXT")
      try await office.serverComesTo("1\n3\n4\n50", Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == "1\n3\n4\n50")
    }
  }

  @Test func `stands beside those of the server, made while the table was stopped`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.joinsAsTwo()
      for change in ["DROP COLUMN v", "RENAME COLUMN v TO w", "ENGINE = MyISAM"] {
        try await office.server(
          "REPLACE INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f')")
        for database in ["shop.db", "two.db"] {
          try await office.siteComesTo("1\n2\n3\n4\n5\n6", Self.all, database)
        }
        try await office.isInSync()
        try await office.server("ALTER TABLE t \(change)")
        _ = try await office.stops("t")
        try await office.site("DELETE FROM t WHERE id = 2")
        try await office.server("DELETE FROM t WHERE id = 3; UPDATE t SET id = 9 WHERE id = 4")
        try await office.server("DELETE FROM t WHERE id = 5; INSERT INTO t(id) VALUES (5)")
        let back = [
          "DROP COLUMN v": "ADD COLUMN v LONGTEXT", "RENAME COLUMN v TO w": "RENAME COLUMN w TO v",
        ]
        try await office.server("ALTER TABLE t \(back[change] ?? "ENGINE = InnoDB")")
        try await office.serverComesTo("1\n5\n6\n9", Self.all)
        try await office.isInSync()
        for database in ["shop.db", "two.db"] {
          try await office.siteComesTo("1\n5\n6\n9", Self.all, database)
        }
        try await office.server("DELETE FROM t WHERE id = 9")
      }
    }
  }

  @Test func `stands beside what cascades of the server reach in a stopped table`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE p(id BIGINT PRIMARY KEY);
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT, w BIGINT,
          p BIGINT, CONSTRAINT f FOREIGN KEY (p) REFERENCES p(id) ON DELETE CASCADE);
        CREATE TABLE u(id BIGINT PRIMARY KEY, p BIGINT,
          FOREIGN KEY (p) REFERENCES p(id) ON DELETE CASCADE);
        INSERT INTO p VALUES (1), (2), (3), (4);
        INSERT INTO t(id, v, w, p) VALUES (1, 'a', 1, 1), (2, 'b', 2, 2), (3, 'c', 3, 3);
        INSERT INTO u SELECT id, id FROM p
        """)
      _ = try await office.open(
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY);
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, p INTEGER);
        CREATE TABLE u(id INTEGER PRIMARY KEY, p INTEGER);
        """)
      try await office.siteComesTo("1\n2\n3", Self.all)
      try await office.follows()
      try await office.server("ALTER TABLE t DROP COLUMN v")
      _ = try await office.stops("t")
      try await office.server("DELETE FROM p WHERE id = 1")
      try await office.siteComesTo("2\n3\n4", "SELECT id FROM u")
      try await office.server("ALTER TABLE t ADD COLUMN v LONGTEXT")
      try await office.siteComesTo("2\n3", Self.all)
      try await office.isInSync()

      // The columns go that the cascade's trigger named.
      try await office.server("ALTER TABLE t DROP FOREIGN KEY f, DROP COLUMN p")
      _ = try await office.stops("t")
      try await office.server("DELETE FROM p WHERE id = 2; DELETE FROM t WHERE id = 3")
      try await office.siteComesTo("3\n4", "SELECT id FROM u")
      try await office.server(
        """
        ALTER TABLE t ADD COLUMN p BIGINT;
        UPDATE t SET p = 4;
        ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES p(id) ON DELETE CASCADE
        """)
      try await office.siteComesTo("2", Self.all)
      try await office.serverComesTo("2", Self.all)
      try await office.isInSync()

      // So does its name.
      try await office.server("UPDATE t SET p = 4")
      try await office.siteComesTo("2\t4", "SELECT id, p FROM t")
      try await office.server("RENAME TABLE t TO goods")
      _ = try await office.stops("t")
      try await office.server("DELETE FROM p WHERE id = 4")
      try await office.siteComesTo("3", "SELECT id FROM u")
      let added = try await office.flotilla(
        "mirror", "shop.db", "add", "--tables", "t", "--map", "t=shop.goods", "--yes")
      #expect(added.status == 0, "\(added.text)")
      try await office.siteComesTo("", Self.all)
      try await office.isInSync()
      #expect(try await office.server("SELECT count(*) FROM goods") == "0")
    }
  }

  @Test func `of the server comes back where nothing can note it, and that is said`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t MODIFY id VARCHAR(20)")
      let reason = try await office.stops("t")
      #expect(reason.contains("nothing can note what programs of the server delete"), "\(reason)")
      try await office.server("DELETE FROM t WHERE id = '3'")
      try await office.server("ALTER TABLE t MODIFY id BIGINT AUTO_INCREMENT")
      try await office.serverComesTo("1\n2\n3\n4", Self.all)
      try await office.isInSync()
      let said = try office.log()
      let words = "for a while nothing noted what programs of the server deleted in t: that comes"
      #expect(said.contains(words), "\(said)")
      #expect(!said.contains("deleted in u"), "\(said)")
    }
  }

  /// As a table of an older dump has it.
  @Test(arguments: [true, false])
  func `stands though the server has the row again, and nothing notes that`(
    _ isQuiet: Bool
  ) async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.site("DELETE FROM t WHERE id = 3")
      try await office.serverComesTo("1\n2\n4", Self.all)
      try await office.isInSync()
      let back = "INSERT INTO t VALUES (3, 'again'), (50, 'new')"
      if isQuiet {
        try await office.quietly(1, back)
      } else {
        let name = try await office.trigger("1_i")
        try await office.server("DROP TRIGGER \(name); \(back)")
      }
      let verify = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect([0, 3].contains(verify.status), "\(verify.text)")
      try await office.siteComesTo("1\n2\n4\n50", Self.all)
      try await office.serverComesTo("1\n2\n4\n50", Self.all)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""v":"again""#), "\(conflicts.text)")
    }
  }

  @Test func `of the server comes back where a trigger was gone, and it is said how many do`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let name = try await office.trigger("1_d")
      try await office.server("DROP TRIGGER \(name); DELETE FROM t WHERE id IN (2, 3)")
      let verify = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect([0, 3].contains(verify.status), "\(verify.text)")
      try await office.serverComesTo("1\n2\n3\n4", Self.all)
      #expect(try await office.site(Self.all) == "1\n2\n3\n4")
      let said = try office.log()
      #expect(said.contains("nothing noted what programs of the server deleted in t"), "\(said)")
      #expect(said.contains("the server lacked rows of t: 2 are there again"), "\(said)")
      // What it deletes from now on stays deleted.
      try await office.server("DELETE FROM t WHERE id = 2")
      try await office.siteComesTo("1\n3\n4", Self.all)
    }
  }

  @Test func `is made there though it was owed when the table was compared anew`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let clerk = try office.session(
        "START TRANSACTION; SELECT v FROM t WHERE id = 2 FOR UPDATE", "locked")
      try await clerk.isReady()
      try await office.site("DELETE FROM t WHERE id IN (2, 3)")
      try await office.serverComesTo("1\n2\n4", Self.all)
      // What its journal held nobody knows any more.
      try await office.server("DROP TABLE flotilla_journal_1")
      try await office.serverComesTo("0", "SELECT count(*) FROM flotilla_journal_1")
      try await office.follows()
      clerk.end()
      try await office.serverComesTo("1\n4", Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == "1\n4")
    }
  }

  @Test func `stays made here while the server refuses it`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server(
        """
        EXECUTE IMMEDIATE "CREATE TRIGGER keep BEFORE DELETE ON t FOR EACH ROW
          IF OLD.id = 3 THEN SIGNAL SQLSTATE '45000'; END IF"
        """)
      try await office.site("DELETE FROM t WHERE id IN (3, 4)")
      try await office.serverComesTo("1\n2\n3", Self.all)
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(try await office.site(Self.all) == "1\n2")
      #expect(try await office.status()["held_count"] as? Int == 1)
      try await office.server("DROP TRIGGER keep")
      try await office.serverComesTo("1\n2", Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == "1\n2")
    }
  }
}

extension Office {
  /// A second node, in `two.db`.
  func joinsAsTwo() async throws {
    let code = try await flotilla("invite", "shop.db")
    let word = try #require(code.text.split(separator: "\n").first.map(String.init))
    let place = "127.0.0.1:\(try port())"
    let joined = try await flotilla("join", "two.db", word, "--at", place, "--name", "two")
    try #require(joined.status == 0, "\(joined.text)")
    _ = try await serve("two.db", "--peer", place)
  }
}
