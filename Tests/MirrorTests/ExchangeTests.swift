import Testing

/// Values under a unique index that a program of the server moves from row to row.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `Unique values that the server moves` {
  private static let swap = """
    START TRANSACTION; UPDATE t SET pos = -1 WHERE id = 1; UPDATE t SET pos = 1 WHERE id = 2;
    UPDATE t SET pos = 2 WHERE id = 1; COMMIT
    """
  private static let all = "SELECT id, pos, v FROM t ORDER BY id"

  @Test(arguments: ["pos INTEGER NOT NULL UNIQUE", "pos INTEGER UNIQUE CHECK (pos > 0)"])
  func `are taken in though two rows want each other's`(_ column: String) async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, \(column), v TEXT UNIQUE);
        INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd');
        """, "--create")
      try await office.server(Self.swap)
      try await office.siteComesTo("1\t2\ta\n2\t1\tb\n3\t3\tc\n4\t4\td", Self.all)
      // Three in a ring, by texts, and one that takes what another one leaves free.
      try await office.server(
        """
        START TRANSACTION; UPDATE t SET v = CONCAT(v, v) WHERE id < 4; DELETE FROM t WHERE id = 4;
        UPDATE t SET v = 'b', pos = 4 WHERE id = 1; UPDATE t SET v = 'c' WHERE id = 2;
        UPDATE t SET v = 'a' WHERE id = 3; INSERT INTO t VALUES (5, 2, 'd'); COMMIT
        """)
      let wanted = "1\t4\tb\n2\t1\tc\n3\t3\ta\n5\t2\td"
      try await office.siteComesTo(wanted, Self.all)
      try await office.isInSync()
      #expect(try await office.server(Self.all) == wanted)
      #expect(try await office.conflicts().isEmpty)
    }
  }

  @Test func `are put right where a trigger of the site would see others`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, pos INTEGER UNIQUE, v TEXT);
        CREATE TABLE seen(pos INTEGER);
        CREATE TRIGGER look AFTER UPDATE ON t BEGIN INSERT INTO seen VALUES (NEW.pos); END;
        INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b');
        """, "--create", "--tables", "t")
      try await office.server(Self.swap)
      try await office.serverComesTo("1\t1\ta\n2\t2\tb", Self.all)
      #expect(try await office.site(Self.all) == "1\t1\ta\n2\t2\tb")
      #expect(try await office.conflicts().map(\.key).sorted() == [1, 2])
      #expect(try await office.site("SELECT count(*) FROM seen WHERE pos NOT IN (1, 2)") == "0")
    }
  }

  /// Its rows get what stands in those of `t` for a moment.
  @Test func `are put right where a trigger of a table that hangs under it would see others`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, pos INTEGER UNIQUE, v TEXT);
        CREATE TABLE line(id INTEGER PRIMARY KEY, pos INTEGER UNIQUE
          REFERENCES t(pos) ON UPDATE CASCADE);
        CREATE TABLE part(id INTEGER PRIMARY KEY, pos INTEGER
          REFERENCES Line(pos) ON UPDATE CASCADE);
        CREATE TABLE seen(pos INTEGER);
        CREATE TRIGGER look AFTER UPDATE ON part BEGIN INSERT INTO seen VALUES (NEW.pos); END;
        INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b');
        INSERT INTO line VALUES (1, 1), (2, 2); INSERT INTO part VALUES (1, 1), (2, 2);
        """, "--create", "--tables", "t")
      try await office.server(Self.swap)
      try await office.serverComesTo("1\t1\ta\n2\t2\tb", Self.all)
      #expect(try await office.site(Self.all) == "1\t1\ta\n2\t2\tb")
      #expect(try await office.site("SELECT count(*) FROM seen WHERE pos NOT IN (1, 2)") == "0")
    }
  }
}
