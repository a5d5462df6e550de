import Foundation
import Testing

/// Keys and names that one side takes for others.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A key or a name` {
  @Test func `is no other one, though both are the same as floating point`() async throws {
    try await Office.with { office in
      let ids = (0..<6).map { 1_152_921_504_606_846_976 + $0 }
      let rows = ids.map { "(\($0), 'v')" }.joined(separator: ", ")
      try await office.server(
        """
        CREATE TABLE t(id DECIMAL(20,0) PRIMARY KEY, v LONGTEXT, office LONGTEXT DEFAULT 'kept');
        CREATE TABLE c(a DECIMAL(20,0), b INT, v LONGTEXT, PRIMARY KEY (a, b));
        INSERT INTO t(id, v) VALUES \(rows);
        INSERT INTO c SELECT id, 1, v FROM t
        """)
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE c(a INTEGER, b INTEGER, v TEXT, PRIMARY KEY (a, b));
        """)
      try await office.siteComesTo("6", "SELECT count(*) FROM t")
      try await office.siteComesTo("6", "SELECT count(*) FROM c")
      for table in ["t", "c"] {
        let key = table == "t" ? "id" : "a"
        try await office.site(
          "DELETE FROM \(table) WHERE \(key) = \(ids[1]);"
            + "UPDATE \(table) SET v = 'site' WHERE \(key) = \(ids[3])")
        let wanted = [0, 2, 3, 4, 5].map { "\(ids[$0])\t\($0 == 3 ? "site" : "v")" }
        try await office.serverComesTo(
          wanted.joined(separator: "\n"), "SELECT \(key), v FROM \(table) ORDER BY \(key)")
      }
      #expect(try await office.server("SELECT count(*) FROM t WHERE office = 'kept'") == "5")
    }
  }

  @Test func `of a database may be written in any letters where the server takes them for one`()
    async throws
  {
    try await Office.with { office in
      let server = try #require(office.daemon)
      try await office.end(server)
      try await office.startServer(["--lower-case-table-names=1"])
      office.database = "Shop"
      _ = try await office.open(
        "CREATE TABLE Item(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO Item VALUES (1, 'v')",
        "--create")
      let made = "SELECT trigger_name, created FROM information_schema.triggers ORDER BY 1"
      let before = try await office.server(made)
      #expect(before.split(separator: "\n").count == 3)
      // Longer than from one look at the schema to the next.
      try await Task.sleep(for: .seconds(12))
      #expect(try await office.server(made) == before)
      try await office.server("UPDATE item SET v = 'office'")
      try await office.siteComesTo("office", "SELECT v FROM Item")
      try await office.site("UPDATE Item SET v = 'site'")
      try await office.serverComesTo("site", "SELECT v FROM item")
      #expect(try await office.flotilla("mirror", "shop.db", "remove").status == 0)
      #expect(try await office.server(made) == "")
    }
  }

  /// As a server on Linux does by default, with `lower_case_table_names` = 0.
  @Test func `of a table means the one that is written so where the server tells letters apart`()
    async throws
  {
    try await Office.with { office in
      #expect(try await office.server("SELECT @@lower_case_table_names") == "0")
      try await office.server(
        """
        CREATE TABLE Item(id BIGINT PRIMARY KEY, v LONGTEXT);
        CREATE TABLE item(id BIGINT PRIMARY KEY, w INT, other INT NOT NULL);
        CREATE TABLE part(id BIGINT PRIMARY KEY, item BIGINT, CONSTRAINT one FOREIGN KEY (item)
          REFERENCES item(id) ON DELETE CASCADE);
        CREATE TABLE Part(id BIGINT PRIMARY KEY, item BIGINT, CONSTRAINT two FOREIGN KEY (item)
          REFERENCES Item(id) ON DELETE CASCADE);
        CREATE DATABASE Shop; CREATE TABLE Shop.Item(id BIGINT PRIMARY KEY, v LONGTEXT);
        INSERT INTO item VALUES (1, 1, 1), (5, 5, 5); INSERT INTO part VALUES (7, 5);
        INSERT INTO Item VALUES (2, 'two'); INSERT INTO Part VALUES (2, 2);
        INSERT INTO Shop.Item VALUES (3, 'another database')
        """)
      _ = try await office.open(
        """
        CREATE TABLE Item(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO Item VALUES (1, 'one');
        CREATE TABLE Part(id INTEGER PRIMARY KEY, item INTEGER);
        """)
      try await office.siteComesTo("1\tone\n2\ttwo", "SELECT * FROM Item ORDER BY id")
      try await office.serverComesTo("1\tone\n2\ttwo", "SELECT * FROM Item ORDER BY id")
      try await office.server("DELETE FROM Item WHERE id = 2; DELETE FROM item WHERE id = 5")
      try await office.siteComesTo("0", "SELECT count(*) FROM Part")
      try await office.site("UPDATE item SET v = 'site'; INSERT INTO part VALUES (9, 1)")
      try await office.serverComesTo("site", "SELECT v FROM Item")
      try await office.serverComesTo("9\t1", "SELECT * FROM Part")
      #expect(try await office.server("SELECT * FROM item") == "1\t1\t1")
      #expect(try await office.server("SELECT count(*) FROM part") == "0")
      #expect(try await office.server("SELECT * FROM Shop.Item") == "3\tanother database")
      // The mirror is one of the tables that it was told.
      try await Task.sleep(for: .seconds(6))
      try await office.isInSync()
      #expect(
        try await office.server(
          "SELECT DISTINCT event_object_schema, event_object_table FROM "
            + "information_schema.triggers ORDER BY 2") == "shop\tItem\nshop\tPart")
    }
  }

  @Test func `that is longer than the server's is held`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('a', 'v')", "--create")
      try await office.site(
        """
        INSERT INTO t SELECT replace(hex(zeroblob(384)), '0', 'é'), 'fits';
        INSERT INTO t SELECT replace(hex(zeroblob(384)), '0', 'é') || 'x', 'does not';
        INSERT INTO t SELECT replace(hex(zeroblob(384)), '0', '😀') || '😀', 'nor this';
        INSERT INTO t VALUES ('b', 'after')
        """)
      try await office.serverComesTo("after\nfits\nv", "SELECT v FROM t ORDER BY v")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 2 }
      let status = try await office.status()
      #expect(areHeld, "\(status)")
      let reasons = (status["held"] as? [[String: Any]] ?? []).compactMap {
        $0["reason"] as? String
      }
      #expect(reasons.allSatisfy { $0.contains("769 letters") }, "\(reasons)")
      #expect(try await office.site("SELECT count(*) FROM t") == "5")
    }
  }

  @Test func `of several columns, one of them NULL, hides no other row`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        "CREATE TABLE t(a INTEGER, b TEXT, v TEXT, PRIMARY KEY (a, b));", "--create")
      try await office.site(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
          INSERT INTO t SELECT i / 4, CASE WHEN i % 4 > 0 THEN 'x' || i END, 'v' FROM n;
        """)
      try await office.serverComesTo("750", "SELECT count(*) FROM t")
      try await office.server("TRUNCATE t")
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(try await office.server("SELECT count(*) FROM t") == "750")
    }
  }

  @Test func `moves through a unique index of the server`() async throws {
    try await Office.with { office in
      try await office.server(
        "CREATE TABLE list(id BIGINT PRIMARY KEY, pos BIGINT, UNIQUE(pos))")
      _ = try await office.open(
        """
        CREATE TABLE list(id INTEGER PRIMARY KEY, pos INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
          INSERT INTO list SELECT i, i FROM n;
        """)
      try await office.isInSync()
      try await office.site("UPDATE list SET pos = pos + 1")
      try await office.serverComesTo("500\t1", "SELECT count(*), min(pos - id) FROM list")
      try await office.site("UPDATE list SET pos = pos - 1")
      try await office.serverComesTo("500\t0", "SELECT count(*), max(pos - id) FROM list")
      // Two that want each other's.
      try await office.site(
        "UPDATE list SET pos = CASE id WHEN 7 THEN 8 ELSE 7 END WHERE id IN (7, 8)")
      try await office.serverComesTo("8\t7", "SELECT max(id), min(id) FROM list WHERE pos <> id")
      try await office.isInSync()
      // What another one has, and keeps, is held.
      try await office.site("UPDATE list SET pos = 3 WHERE id = 4")
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      try await office.site("UPDATE list SET pos = 4 WHERE id = 4")
      try await office.isInSync()
    }
  }

  @Test func `of a place in the feed that somebody has damaged is no end`() async throws {
    try await Office.with { office in
      let node = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'v')", "--create")
      node.die()
      try await office.server("UPDATE flotilla_state SET place = 'nothing'")
      try await office.site("UPDATE t SET v = 'site'")
      _ = try await office.serve()
      try await office.serverComesTo("site", "SELECT v FROM t")
      try await office.isInSync()
    }
  }
}
