import Foundation
import Testing

/// What would go round for ever, and what nobody but a person can decide.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A mirror between two sides that` {
  @Test func `both set a clock by triggers comes to rest, and says so`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT, at LONGTEXT);
        INSERT INTO t VALUES (1, 'v', ''), (2, 'v', '');
        CREATE TRIGGER clock BEFORE UPDATE ON t FOR EACH ROW SET NEW.at = UUID()
        """)
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, at TEXT);
        CREATE TRIGGER clock AFTER UPDATE ON t
          BEGIN UPDATE t SET at = hex(randomblob(8)) WHERE id = NEW.id; END;
        """)
      try await office.site("UPDATE t SET v = 'site' WHERE id = 1")
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 1")
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      let before = try await office.writes()
      try await Task.sleep(for: .seconds(4))
      #expect(try await office.writes() == before)
      // The other row has nothing to do with it.
      try await office.server("UPDATE t SET v = 'office' WHERE id = 2")
      try await office.siteComesTo("office", "SELECT v FROM t WHERE id = 2")
    }
  }

  @Test func `has triggers to replace replaces each at once, and one table does not stop another`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO a VALUES (1, 'v');
        CREATE TABLE b(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO b VALUES (1, 'v');
        CREATE TABLE c(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO c VALUES (1, 'v');
        """, "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      // Another user has made them.
      let statements = try await office.server(
        """
        SELECT CONCAT('CREATE OR REPLACE TRIGGER ', trigger_name, ' ', action_timing, ' ',
          event_manipulation, ' ON ', event_object_table, ' FOR EACH ROW ', action_statement, '//')
        FROM information_schema.triggers
        """)
      try await office.server("DELIMITER //\n\(statements)")
      let clerk = try office.session("START TRANSACTION; SELECT * FROM b", "reads")
      try await clerk.isReady()
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let ours = "SELECT count(*) FROM information_schema.triggers WHERE definer LIKE 'flo@%'"
      try await office.serverComesTo("6", ours + " AND event_object_table IN ('a', 'c')")
      #expect(clerk.isOpen)
      let all = "SELECT count(*) FROM information_schema.triggers"
      #expect(try await office.server(all) == "9")
      try await office.server("UPDATE b SET v = 'office'; UPDATE a SET v = 'office'")
      clerk.end()
      try await office.serverComesTo("9", ours)
      try await office.siteComesTo("office", "SELECT v FROM a")
      try await office.siteComesTo("office", "SELECT v FROM b")
    }
  }

  @Test(arguments: ["--site", "--server"])
  func `differ in more rows than the log keeps waits for a word`(_ side: String) async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO u VALUES (1, 'v');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
          INSERT INTO t SELECT i, 'site' FROM n;
        """, "--create")
      try await office.isInSync()
      try await office.quietly(1, "UPDATE t SET v = 'server'")
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      let stopped = try await office.status()["stopped"] as? [[String: Any]]
      let reason = stopped?.first?["reason"] as? String ?? ""
      #expect(reason.contains("10001 rows differ"), "\(reason)")
      #expect(try await office.server("SELECT count(*) FROM t WHERE v = 'server'") == "10001")
      #expect(try await office.site("SELECT count(*) FROM t WHERE v = 'site'") == "10001")
      try await office.site("UPDATE u SET v = 'site'")
      try await office.serverComesTo("site", "SELECT v FROM u")
      _ = try await office.flotilla("mirror", "shop.db", "verify", side, "--timeout", "60s")
      let wanted = "10001\t\(side.dropFirst(2))"
      try await office.serverComesTo(wanted, "SELECT count(*), max(v) FROM t")
      try await office.siteComesTo(wanted, "SELECT count(*), max(v) FROM t")
      try await office.isInSync()
    }
  }

  /// A backup of the table was read in, or its trigger was gone.
  @Test(arguments: ["--site", "--server"])
  func `that the site has deleted are more than the log keeps wait for a word`(
    _ side: String
  ) async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10002)
          INSERT INTO t SELECT i, 'site' FROM n;
        """, "--create")
      try await office.isInSync()
      try await office.site("DELETE FROM t WHERE id > 1")
      try await office.serverComesTo("1", "SELECT count(*) FROM t")
      try await office.isInSync()
      let name = try await office.trigger("1_i")
      try await office.server(
        "DROP TRIGGER \(name); INSERT INTO t SELECT seq, 'server' FROM seq_2_to_10002")
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      let stopped = try await office.status()["stopped"] as? [[String: Any]]
      let reason = stopped?.first?["reason"] as? String ?? ""
      #expect(reason.contains("10001 rows that the site has deleted"), "\(reason)")
      #expect(try await office.server("SELECT count(*) FROM t") == "10002")
      #expect(try await office.site("SELECT count(*) FROM t") == "1")
      _ = try await office.flotilla("mirror", "shop.db", "verify", side, "--timeout", "60s")
      let wanted = side == "--site" ? "1" : "10002"
      try await office.serverComesTo(wanted, "SELECT count(*) FROM t")
      try await office.siteComesTo(wanted, "SELECT count(*) FROM t")
      try await office.isInSync()
    }
  }
}
