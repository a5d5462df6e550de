import Foundation
import Testing

/// What a server's tables can be, beside plain columns.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The types and rules of a server` {
  /// A column here and there, and a part of what `add` says against it; nothing if it is mirrored.
  private static let columns: [(here: String, there: String, objection: String?)] = [
    ("v TEXT", "v ENUM('x', 'y')", nil), ("v TEXT", "v JSON", nil), ("v TEXT", "v TIME(2)", nil),
    ("v INTEGER", "v YEAR", nil), ("v INTEGER", "v INT(6) ZEROFILL", nil),
    ("v TEXT", "v TEXT COMPRESSED", nil), ("v TEXT", "v VARCHAR(9) CHARACTER SET latin1", nil),
    ("v INTEGER", "v INT CHECK (v > 0)", nil), ("v INTEGER", "v INT INVISIBLE", nil),
    ("v TEXT", "v TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP", nil),
    ("v INTEGER, w AS (v + 1)", "v INT, w INT AS (v + 1) STORED", nil),
    ("v INTEGER, w AS (v + 1)", "v INT, w INT", nil), ("v INTEGER", "v INT, w INT INVISIBLE", nil),
    (
      "v INTEGER, w AS (v + 1)", "v INT, w INT NOT NULL",
      "the server wants a value for w, which SQLite computes here"
    ),
    (
      "v INTEGER", "v INT, w INT NOT NULL",
      "the server wants a value for w, which is no column here"
    ),
    ("v INTEGER", "v INT AS (id + 1) VIRTUAL", "the server computes v by itself"),
    ("v TEXT", "v SET('x', 'y')", "v is TEXT here and set('x','y') there"),
    ("v INTEGER", "v BIT(8)", "v is INTEGER here and bit(8) there"),
    ("v REAL", "v FLOAT", "v is REAL here and float there"),
    ("v REAL", "v DOUBLE(10,2)", "v is REAL here and double(10,2) there"),
    ("v BLOB", "v BINARY(16)", "v is BLOB here and binary(16) there"),
    ("v BLOB", "v POINT", "v is BLOB here and point there"),
    ("v TEXT", "v UUID", "v is TEXT here and uuid there"),
    ("v TEXT", "v INET6", "v is TEXT here and inet6 there"),
  ]

  @Test func `are mirrored, or refused with the reason before anything is touched`() async throws {
    try await Office.with { office in
      for (number, one) in Self.columns.enumerated() {
        try await office.server("CREATE TABLE t\(number)(id BIGINT PRIMARY KEY, \(one.there))")
        try await office.site("CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, \(one.here))")
      }
      try await office.server("CREATE VIEW seen AS SELECT * FROM t0; CREATE SEQUENCE counted")
      try await office.site(
        "CREATE TABLE seen(id INTEGER PRIMARY KEY); CREATE TABLE counted(id INTEGER PRIMARY KEY)")
      let made = try await office.flotilla("init", "shop.db", "--all", "--name", "anchor")
      #expect(made.status == 0, "\(made.text)")
      let said = try await office.flotilla(
        "mirror", "shop.db", "add", office.url, "--password-file", "password", "--yes", "--create")
      #expect(said.status != 0)
      let lines = said.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      for (number, one) in Self.columns.enumerated() {
        let line = lines.firstIndex { $0.hasPrefix("t\(number) ") } ?? 0
        let next = line + 1 < lines.count ? lines[line + 1] : ""
        let isKept = lines[line] == "t\(number) is kept equal with shop.t\(number)"
        #expect(isKept == (one.objection == nil), "\(one): \(lines[line])")
        #expect(isKept || next == one.objection, "\(one): \(next)")
      }
      #expect(lines.count { $0 == "what the server has of that name is no table" } == 2)
      #expect(try await office.server("SHOW TABLES LIKE 'flotilla%'") == "")
    }
  }

  @Test func `of a table hold a row that breaks them, and leave the others alone`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, n INT CHECK (n > 0), j JSON,
          l VARCHAR(9) CHARACTER SET latin1, y YEAR, d DATE, s TIME(2), i INT INVISIBLE DEFAULT 7,
          at TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
          own TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP)
        """)
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, j TEXT, l TEXT, y INTEGER, d DATE, s TEXT,
          i INTEGER, at TEXT);
        """)
      try await office.site(
        """
        INSERT INTO t(id, n, j, l, i, at) VALUES (1, 1, '{"a":1}', 'ä€', 8, '2026-01-02 03:04:05');
        INSERT INTO t(id, n) VALUES (2, -1); INSERT INTO t(id, j) VALUES (3, 'no JSON');
        INSERT INTO t(id, l) VALUES (4, '😀'); INSERT INTO t(id, n) VALUES (5, 5);
        """)
      try await office.serverComesTo("1\n5", "SELECT id FROM t ORDER BY id")
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 3 }
      #expect(areHeld)
      // The server's clock is for those who do not say which moment it was.
      try await office.site("UPDATE t SET n = 2 WHERE id = 1")
      try await office.serverComesTo(
        "2\t{\"a\":1}\tä€\t8\t2026-01-02 03:04:05\t1",
        "SELECT n, j, l, i, at, own IS NOT NULL FROM t WHERE id = 1")
      #expect(
        try await office.site("SELECT at FROM t WHERE id = 1") == "2026-01-02 03:04:05")
      // What a server without a strict mode has comes in as it is, and is not made another one.
      try await office.server(
        """
        SET sql_mode = ''; INSERT INTO t(id, d, at) VALUES (20, '0000-00-00', NULL);
        INSERT INTO t(id, s, at) VALUES (21, '-05:00:00', NULL), (22, '800:00:00.25', NULL);
        INSERT INTO t(id, y, at) VALUES (23, 0, NULL)
        """)
      let odd = "SELECT id, d, s, y FROM t WHERE id >= 20 ORDER BY id"
      let wanted = """
        20\t0000-00-00\tNULL\tNULL
        21\tNULL\t-05:00:00\tNULL
        22\tNULL\t800:00:00.25\tNULL
        23\tNULL\tNULL\t0
        """
      try await office.siteComesTo(wanted, odd)
      try await office.site("UPDATE t SET n = 9 WHERE id >= 20")
      try await office.serverComesTo("22", "SELECT id FROM t WHERE n = 9")
      let areMore = try await eventually { try await office.status()["held_count"] as? Int == 6 }
      #expect(areMore)
      #expect(try await office.site(odd) == wanted)
    }
  }

  @Test func `may have a table keep its history`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v VARCHAR(20), pos BIGINT UNIQUE)
          WITH SYSTEM VERSIONING;
        CREATE TABLE u(id BIGINT PRIMARY KEY, v VARCHAR(20),
          since TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
          until TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME(since, until))
          WITH SYSTEM VERSIONING;
        CREATE TABLE w(id BIGINT PRIMARY KEY, v VARCHAR(20));
        INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
        INSERT INTO u(id, v) VALUES (1, 'a'), (2, 'b')
        """)
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, pos INTEGER UNIQUE);
        CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE w(id INTEGER PRIMARY KEY, v TEXT);
        """)
      for table in ["t", "u"] {
        try await office.site(
          "UPDATE \(table) SET v = 'site' WHERE id = 1;"
            + "INSERT INTO \(table)(id, v) VALUES (3, 'c')")
        try await office.serverComesTo(
          "1\tsite\n2\tb\n3\tc", "SELECT id, v FROM \(table) ORDER BY id")
        try await office.server("DELETE FROM \(table) WHERE id = 3")
        try await office.siteComesTo("1\tsite\n2\tb", "SELECT id, v FROM \(table) ORDER BY id")
        #expect(
          try await office.server(
            "SELECT id, v FROM \(table) FOR SYSTEM_TIME ALL ORDER BY id, v")
            == "1\ta\n1\tsite\n2\tb\n3\tc")
      }
      // Two rows that want each other's values are deleted and put back in one transaction.
      try await office.site(
        """
        BEGIN; UPDATE t SET pos = 0 WHERE id = 1; UPDATE t SET pos = 1 WHERE id = 2;
        UPDATE t SET pos = 2 WHERE id = 1; COMMIT
        """)
      try await office.serverComesTo("1\t2\n2\t1", "SELECT id, pos FROM t ORDER BY id")
      // One that is to keep it from now on goes on.
      try await office.server("ALTER TABLE w ADD SYSTEM VERSIONING")
      try await Task.sleep(for: .seconds(6))
      try await office.server("INSERT INTO w VALUES (1, 'server')")
      try await office.siteComesTo("server", "SELECT v FROM w")
      try await office.site("DELETE FROM w")
      try await office.serverComesTo("0", "SELECT count(*) FROM w")
      try await office.isInSync()
      let status = try await office.status()
      #expect(status["held_count"] as? Int == 0 && (status["stopped"] as? [Any])?.isEmpty != false)
    }
  }
}
