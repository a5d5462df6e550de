import Foundation
import Testing

/// The built program and a real server.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A site and a server` {
  private static let items = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(10,2), weight REAL,
      pic BLOB);
    INSERT INTO item VALUES (1, 'nut', 0.25, 1.5, x'00ff'), (2, 'ÅÄÖ 😀', NULL, 1e300, NULL),
      (3, '', 12345678.99, 2.0, zeroblob(3000));
    """

  @Test func `are filled, and follow each other`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.items, "--create")
      #expect(
        try await office.server("SELECT id, name, price, weight, length(pic) FROM item ORDER BY id")
          == "1\tnut\t0.25\t1.5\t2\n2\tÅÄÖ 😀\tNULL\t1e300\tNULL\n3\t\t12345678.99\t2\t3000")
      try await office.site("INSERT INTO item VALUES (10, 'site', 5, 1.0, NULL)")
      try await office.serverComesTo(
        "site\t5.00\t1", "SELECT name, price, weight FROM item WHERE id = 10")
      try await office.server(
        "INSERT INTO item(name, price) VALUES ('office', 7.5);"
          + "UPDATE item SET price = 1.1 WHERE id = 1;"
          + "DELETE FROM item WHERE id = 3")
      try await office.siteComesTo(
        "1\tnut\t1.1\n2\tÅÄÖ 😀\tNULL\n10\tsite\t5\n11\toffice\t7.5",
        "SELECT id, name, price FROM item ORDER BY id")

      // Ping-pong: where nobody writes, nobody writes.
      try await Task.sleep(for: .seconds(1))
      let before = try await office.writes()
      try await Task.sleep(for: .seconds(2))
      #expect(try await office.writes() == before)
      let verify = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(verify.status == 0, "\(verify.text)")
      #expect(try await office.status()["in_sync"] as? Bool == true)
    }
  }

  @Test func `are one where both were filled, and keep what lost`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE item(id BIGINT PRIMARY KEY, name VARCHAR(50) CHARACTER SET utf8mb4,
          price DECIMAL(10,2), weight DOUBLE, pic LONGBLOB, extra INT DEFAULT 7);
        INSERT INTO item VALUES (1, 'nut', 0.25, 1.5, x'00ff', 9), (2, 'other', NULL, 0, NULL, 9),
          (7, 'theirs', 1, 1, NULL, 9)
        """)
      _ = try await office.open(Self.items)
      try await office.siteComesTo(
        "1\tnut\n2\tÅÄÖ 😀\n3\t\n7\ttheirs", "SELECT id, name FROM item ORDER BY id")
      try await office.serverComesTo(
        "1\tnut\t9\n2\tÅÄÖ 😀\t9\n3\t\t7\n7\ttheirs\t9",
        "SELECT id, name, extra FROM item ORDER BY id")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""name":"other""#) && conflicts.text.contains("unseen"))
      let restored = try await office.flotilla("conflicts", "shop.db", "restore", "1")
      #expect(restored.status == 0, "\(restored.text)")
      try await office.serverComesTo("other", "SELECT name FROM item WHERE id = 2")
    }
  }

  @Test func `hold what does not fit, say why, and let the rest flow`() async throws {
    try await Office.with { office in
      let schema = """
        CREATE TABLE v(id TEXT PRIMARY KEY, n INTEGER, r REAL, d DECIMAL(6,2), t DATETIME, b);
        INSERT INTO v VALUES
          ('good', 9223372036854775807, 0.1, 12.5, '2026-01-02 03:04:05.500', NULL);
        """
      try await office.server(
        """
        CREATE TABLE v(id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,
          n BIGINT UNSIGNED, r DOUBLE, d DECIMAL(6,2), t DATETIME(6), b LONGBLOB)
        """)
      _ = try await office.open(schema)
      try await office.site(
        """
        INSERT INTO v(id, n) VALUES ('negative', -1), ('text', 'x'), ('half', 1.5);
        INSERT INTO v(id, r) VALUES ('infinite', 9e999);
        INSERT INTO v(id, d) VALUES ('digits', 12.345), ('large', 123456);
        INSERT INTO v(id, t) VALUES ('iso', '2026-01-02T03:04:05Z'),
          ('february', '2026-02-30 00:00:00');
        INSERT INTO v(id, b) VALUES ('untyped', 'text');
        INSERT INTO v(id) VALUES ('a'), ('A'), ('a '), ('a key that is longer than twenty');
        """)
      try await office.serverComesTo("4", "SELECT count(*) FROM v")
      try await office.serverComesTo(
        "9223372036854775807\t0.1\t12.50\t2026-01-02 03:04:05.500000",
        "SELECT n, r, d, t FROM v WHERE id = 'good'")
      _ = try await eventually { try await office.status()["held_count"] as? Int ?? 0 > 0 }
      let status = try await office.status()
      #expect(status["held_count"] as? Int == 10, "\(status)")
      let held = (status["held"] as? [[String: Any]])?.map { $0["key"] as? String ?? "" } ?? []
      for name in ["negative", "text", "half", "infinite", "digits", "large", "iso", "february"] {
        #expect(held.contains("id='\(name)'"), "\(name)")
      }
      let text = try await office.flotilla("mirror", "shop.db", "status")
      #expect(text.status == 3 && text.text.contains("12.345 is no DECIMAL(6,2)"), "\(text.text)")
      let parked = try await office.flotilla("conflicts", "shop.db", "--parked")
      #expect(parked.text.contains("10 rows held by the mirror to mysql://"), "\(parked.text)")
      #expect(parked.text.contains("12.345 is no DECIMAL(6,2)"), "\(parked.text)")
      let json = try await office.flotilla("conflicts", "shop.db", "--parked", "--json").text
      let list = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
      #expect((list?["held"] as? [Any])?.count == 10 && list?["parked"] is [Any], "\(json)")

      // The other way: what SQLite cannot hold.
      try await office.server("INSERT INTO v(id, n) VALUES ('huge', 18446744073709551615)")
      try await office.server("INSERT INTO v(id, n) VALUES ('after', 5)")
      try await office.siteComesTo("5", "SELECT n FROM v WHERE id = 'after'")
      #expect(try await office.site("SELECT count(*) FROM v WHERE id = 'huge'") == "0")
      try await office.serverComesTo("1", "SELECT count(*) FROM v WHERE id = 'huge'")

      // What is made to fit goes over, and is held no more.
      try await office.site("UPDATE v SET d = 12.34 WHERE id = 'digits'")
      try await office.serverComesTo("12.34", "SELECT d FROM v WHERE id = 'digits'")
      // A comparison leaves held rows as they are.
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(try await office.site("SELECT d FROM v WHERE id = 'large'") == "123456")
      #expect(
        try await office.server("SELECT n FROM v WHERE id = 'huge'") == "18446744073709551615")
    }
  }

  @Test func `hold constraints: what the site refuses is put right, and logged`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE CHECK (name <> 'bad'));
        CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parent(id)
          DEFERRABLE INITIALLY DEFERRED);
        INSERT INTO parent VALUES (1, 'one'), (2, 'two'); INSERT INTO child VALUES (1, 1);
        """, "--create")
      try await office.server(
        """
        START TRANSACTION; INSERT INTO child VALUES (5, 3); INSERT INTO parent VALUES (3, 'three');
        INSERT INTO child VALUES (6, 99); UPDATE parent SET name = 'bad' WHERE id = 1;
        INSERT INTO parent VALUES (9, 'two'); COMMIT
        """)
      try await office.siteComesTo("1\tone\n2\ttwo\n3\tthree", "SELECT * FROM parent ORDER BY id")
      try await office.siteComesTo("1\t1\n5\t3", "SELECT * FROM child ORDER BY id")
      try await office.serverComesTo("1\tone\n2\ttwo\n3\tthree", "SELECT * FROM parent ORDER BY id")
      try await office.serverComesTo("1\t1\n5\t3", "SELECT * FROM child ORDER BY id")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("\"bad\"") && conflicts.text.contains("parked"))
    }
  }

  @Test func `see cascades of the server, truncation and a trigger that is gone`() async throws {
    try await Office.with { office in
      let tables = """
        CREATE TABLE a(id BIGINT PRIMARY KEY, v INT);
        CREATE TABLE b(id BIGINT PRIMARY KEY, a BIGINT, FOREIGN KEY (a) REFERENCES a(id)
          ON DELETE CASCADE ON UPDATE CASCADE);
        CREATE TABLE c(id BIGINT PRIMARY KEY, b BIGINT NULL, FOREIGN KEY (b) REFERENCES b(id)
          ON DELETE SET NULL);
        INSERT INTO a VALUES (1, 1), (2, 2), (3, 3); INSERT INTO b VALUES (1, 1), (2, 2), (3, 3);
        INSERT INTO c VALUES (1, 1), (2, 2), (3, 3)
        """
      try await office.server(tables)
      _ = try await office.open(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY, v INTEGER);
        CREATE TABLE b(id INTEGER PRIMARY KEY, a INTEGER);
        CREATE TABLE c(id INTEGER PRIMARY KEY, b INTEGER);
        """)
      let all = """
        SELECT 'a', id, v FROM a UNION ALL SELECT 'b', id, a FROM b
        UNION ALL SELECT 'c', id, b FROM c ORDER BY 1, 2
        """
      try await office.siteComesTo(try await office.server(all), all)
      try await office.server("DELETE FROM a WHERE id = 1; UPDATE a SET id = 20 WHERE id = 2")
      let left = "a\t3\t3\na\t20\t2\nb\t2\t20\nb\t3\t3\nc\t1\tNULL\nc\t2\t2\nc\t3\t3"
      try await office.siteComesTo(left, all)
      #expect(try await office.server(all) == left)

      let name = try await office.trigger("1_u")
      try await office.server(
        "TRUNCATE c; DROP TRIGGER \(name); UPDATE a SET v = 9 WHERE id = 3")
      let verify = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect([0, 3].contains(verify.status), "\(verify.text)")
      #expect(try await office.server(all) == left)
      #expect(try await office.site(all) == left)
      try await office.server("UPDATE a SET v = 10 WHERE id = 3")
      try await office.siteComesTo("10", "SELECT v FROM a WHERE id = 3")
    }
  }

  @Test func `are told by clocks of one moment which change was later`() async throws {
    try await Office.with { office in
      // With so many tables it takes a while from the connection until the mirror goes on.
      let others = (1...60).map { "CREATE TABLE other\($0)(id INTEGER PRIMARY KEY);" }.joined()
      _ = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'v');" + others,
        "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.site("UPDATE t SET v = 'first' WHERE id = 1")
      try await office.server("UPDATE t SET v = 'second' WHERE id = 1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.siteComesTo("second", "SELECT v FROM t WHERE id = 1")
      try await office.isInSync()
      #expect(try await office.server("SELECT v FROM t WHERE id = 1") == "second")
    }
  }
}
