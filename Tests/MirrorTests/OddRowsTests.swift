import Foundation
import Testing

/// Rows that one side cannot read, and what the other has to do about it.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `One odd row` {
  @Test func `is no reason for the others to wait`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE j(id BIGINT PRIMARY KEY, v LONGTEXT);
        CREATE TABLE q(id BIGINT PRIMARY KEY, n INT);
        CREATE TABLE w(id BIGINT PRIMARY KEY, n BIGINT UNSIGNED);
        CREATE TABLE s(ip VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,
          n BIGINT);
        INSERT INTO j VALUES (7, '{}'), (8, '{}'); INSERT INTO q VALUES (1, 1), (2, 2);
        INSERT INTO w VALUES (1, 9223372036854775809), (2, 2)
        """)
      _ = try await office.open(
        """
        CREATE TABLE j(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TRIGGER bad BEFORE UPDATE ON j WHEN NEW.v = '{bad'
          BEGIN SELECT abs(-9223372036854775807 - 1); END;
        CREATE TABLE q(id INTEGER PRIMARY KEY, n INTEGER);
        CREATE TABLE w(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO w VALUES (1, 5);
        CREATE TABLE s(ip STRING PRIMARY KEY, n INTEGER);
        """)
      // What both sides have, and SQLite cannot hold, is held.
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      let status = try await office.status()
      #expect(isHeld, "\(status)")
      #expect(try await office.site("SELECT n FROM w WHERE id = 1") == "5")

      // A trigger of the site cannot be run for it.
      try await office.server(
        "UPDATE j SET v = '{bad' WHERE id = 7; UPDATE j SET v = '[1]' WHERE id = 8")
      try await office.siteComesTo("[1]", "SELECT v FROM j WHERE id = 8")
      try await office.server("UPDATE w SET n = 3 WHERE id = 2")
      try await office.siteComesTo("3", "SELECT n FROM w WHERE id = 2")

      // A column that is wider at once is read as what it is.
      try await office.server(
        "ALTER TABLE q MODIFY n DECIMAL(10,2); UPDATE q SET n = 1.5 WHERE id = 1")
      try await office.siteComesTo("1.5", "SELECT n FROM q WHERE id = 1")
      #expect(try await office.server("SELECT n FROM q ORDER BY id") == "1.50\n2.00")

      // A key that looks like a number, almost.
      try await office.site("INSERT INTO s VALUES ('10.0.0.1', 1), ('030 123', 2), ('a', 3)")
      try await office.serverComesTo("030 123\n10.0.0.1\na", "SELECT ip FROM s ORDER BY ip")
    }
  }

  @Test func `does not have the server asked twice a second for ever`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'one')",
        "--create")
      try await office.server(
        """
        REVOKE ALL ON shop.* FROM flo@localhost;
        GRANT SELECT, CREATE, TRIGGER ON shop.* TO flo@localhost;
        GRANT ALL ON shop.flotilla_state TO flo@localhost;
        GRANT ALL ON shop.flotilla_held TO flo@localhost;
        GRANT ALL ON shop.flotilla_table TO flo@localhost;
        GRANT ALL ON shop.flotilla_journal_1 TO flo@localhost; \(Office.cut)
        """)
      try await office.site("UPDATE t SET v = 'x' WHERE id = 1")
      func trouble() async throws -> Bool {
        (try await office.status()["trouble"] as? String)?.contains("denied") == true
      }
      let says = try await eventually { try await trouble() }
      #expect(says)
      let before = try await office.status()["retries"] as? Int ?? 0
      try await Task.sleep(for: .seconds(6))
      let after = try await office.status()["retries"] as? Int ?? 0
      #expect(after - before <= 5)
      #expect(try await trouble())
      #expect(try office.log().components(separatedBy: "the mirror goes on").count <= 2)
      try await office.server("GRANT ALL ON shop.* TO flo@localhost")
      try await office.serverComesTo("x", "SELECT v FROM t WHERE id = 1")
      let isOver = try await eventually {
        try await office.status()["in_sync"] as? Bool == true
      }
      #expect(isOver)
    }
  }

  /// `make nightly`: a server's program changes more rows than the mirror keeps in mind, and the
  /// site one of them.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["FLOTILLA_MIRROR_ROWS"] != nil))
  func `of many goes out though a journal holds more than is kept in mind`() async throws {
    let rows = ProcessInfo.processInfo.environment["FLOTILLA_MIRROR_ROWS"].flatMap { Int($0) }
    let count = rows ?? 150_000
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          INSERT INTO t SELECT i, 0 FROM n;
        """, "--create")
      try await office.server("UPDATE t SET v = 1")
      try await office.site("UPDATE t SET v = 2 WHERE id = 7")
      let all = "SELECT count(*), sum(v = 1), max(v) FROM t"
      try await office.siteComesTo("\(count)\t\(count - 1)\t2", all)
      try await office.serverComesTo("\(count)\t\(count - 1)\t2", all)
    }
  }
}
