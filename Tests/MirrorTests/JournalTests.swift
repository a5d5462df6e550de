import Testing

/// What the server's triggers write, where it holds much.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A journal of the server` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE u(a TEXT NOT NULL, b INTEGER NOT NULL, v TEXT, PRIMARY KEY (a, b));
    """

  @Test func `is looked into by the keys of rows, also one of an earlier version`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let indexed = """
        SELECT GROUP_CONCAT(table_name, ' ', column_name ORDER BY table_name, seq_in_index)
        FROM information_schema.statistics
        WHERE table_schema = 'shop' AND column_name IN ('k1', 'k2')
        """
      let all = "flotilla_journal_1 k1,flotilla_journal_2 k1,flotilla_journal_2 k2"
      try await office.serverComesTo(all, indexed)
      node.die()
      try await office.server("ALTER TABLE flotilla_journal_1 DROP INDEX row_key")
      try await office.server(
        """
        REVOKE ALL ON shop.* FROM flo@localhost;
        GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, TRIGGER ON shop.* TO flo@localhost
        """)
      // Who may not make it goes without.
      let second = try await office.serve()
      try await office.isInSync()
      try await office.serverComesTo(String(all.dropFirst(22)), indexed)
      second.die()
      try await office.server("GRANT ALL ON shop.* TO flo@localhost")
      _ = try await office.serve()
      try await office.serverComesTo(all, indexed)
      try await office.isInSync()
      // A scan would look at each of them.
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.server(
        "INSERT INTO flotilla_journal_1(k1) SELECT seq FROM seq_1_to_20000")
      let plan = try await office.server(
        "EXPLAIN SELECT DISTINCT k1 FROM flotilla_journal_1 WHERE k1 IN (1, 2, 3)")
      #expect(plan.contains("range"), "\(plan)")
    }
  }
}
