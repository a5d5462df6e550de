import Testing

/// What the site has hung under a row that a program of the server deletes.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A row of the site under one that the server deletes` {
  private static let all = "SELECT * FROM result ORDER BY kind"

  private static func schema(_ rule: String) -> String {
    """
    CREATE TABLE patient(id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE result(kind TEXT PRIMARY KEY, patient INTEGER REFERENCES patient(id)
      ON DELETE \(rule) ON UPDATE CASCADE, v TEXT);
    CREATE TABLE note(id INTEGER PRIMARY KEY, kind TEXT REFERENCES result(kind)
      ON DELETE CASCADE);
    INSERT INTO patient VALUES (1, 'one'), (2, 'two');
    INSERT INTO result VALUES ('old', 1, 'r');
    """
  }

  /// The server's own table, with its own foreign key.
  private static func open(_ office: Office, _ rule: String) async throws {
    try await office.server(
      """
      CREATE TABLE patient(id BIGINT PRIMARY KEY, v LONGTEXT)
        CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
      CREATE TABLE result(kind VARCHAR(20) PRIMARY KEY, patient BIGINT, v LONGTEXT,
        FOREIGN KEY (patient) REFERENCES patient(id) ON DELETE \(rule) ON UPDATE CASCADE)
        CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
      """)
    _ = try await office.open(schema(rule), "--create")
    try await office.serverComesTo("1", "SELECT count(*) FROM result")
    try await office.isInSync()
  }

  @Test(arguments: ["CASCADE", "SET NULL"])
  func `stays as it is, and so does that one`(rule: String) async throws {
    try await Office.with { office in
      try await Self.open(office, rule)
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.site("INSERT INTO result VALUES ('new', 1, 'unseen')")
      try await office.server("DELETE FROM patient WHERE id = 1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let left = "new\t1\tunseen" + (rule == "CASCADE" ? "" : "\nold\tNULL\tr")
      try await office.serverComesTo("1\n2", "SELECT id FROM patient ORDER BY id")
      try await office.serverComesTo(left, Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == left)
      #expect(try await office.site("SELECT count(*) FROM patient") == "2")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("\"parked\""), "\(conflicts.text)")
    }
  }

  @Test func `stays at a number that the server takes away`() async throws {
    try await Office.with { office in
      try await Self.open(office, "CASCADE")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.site("INSERT INTO result VALUES ('new', 1, 'unseen')")
      try await office.server("UPDATE patient SET id = 50 WHERE id = 1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let left = "new\t1\tunseen\nold\t50\tr"
      try await office.serverComesTo("1\n2\n50", "SELECT id FROM patient ORDER BY id")
      try await office.serverComesTo(left, Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == left)
    }
  }

  @Test func `stands with that one if it was edited later`() async throws {
    try await Office.with { office in
      try await Self.open(office, "CASCADE")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.server("DELETE FROM patient WHERE id = 1")
      try await Task.sleep(for: .seconds(1))
      try await office.site("UPDATE result SET v = 'later' WHERE kind = 'old'")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.serverComesTo("1\n2", "SELECT id FROM patient ORDER BY id")
      try await office.serverComesTo("old\t1\tlater", Self.all)
      try await office.isInSync()
      #expect(try await office.site(Self.all) == "old\t1\tlater")
    }
  }

  @Test func `goes with that one if the server has deleted both, and what hangs under both`()
    async throws
  {
    try await Office.with { office in
      try await Self.open(office, "CASCADE")
      try await office.site("INSERT INTO note VALUES (7, 'old')")
      try await office.serverComesTo("7", "SELECT id FROM note")
      try await office.server("DELETE FROM note; DELETE FROM patient WHERE id = 1")
      try await office.siteComesTo("2", "SELECT id FROM patient")
      try await office.isInSync()
      #expect(try await office.site("SELECT kind FROM result UNION ALL SELECT id FROM note") == "")
    }
  }
}
