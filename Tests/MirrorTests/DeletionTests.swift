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
