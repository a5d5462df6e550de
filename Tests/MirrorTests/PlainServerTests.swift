import Foundation
import Testing

/// A server that takes one row of values at a time, as MySQL does.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A server without array binding` {
  private static let all = "SELECT id, v, u FROM t ORDER BY id"

  @Test func `gets and gives the same`() async throws {
    try await Office.with { office in
      let proxy = try CuttingProxy(
        at: office.path("way"), before: office.path("socket"), hidesArrays: true)
      defer { proxy.end() }
      office.way = "way"
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, u INTEGER);
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
          SELECT i, 'v', i FROM n;
        """, "--create")
      #expect(try await office.server(Self.all) == office.site(Self.all))
      // None of its statements had more than one row of values.
      let bulk = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'"
      let executed = try await office.server(bulk).split(separator: "\t").last.flatMap { Int($0) }
      #expect(executed ?? 0 > 3_000)
      try await office.server("ALTER TABLE t ADD UNIQUE (u)")
      try await office.follows()
      // Updates, a value that moves from row to row, deletes, and one that does not fit.
      try await office.site(
        """
        BEGIN; UPDATE t SET u = u + 1; UPDATE t SET v = 'w' WHERE id % 3 = 0;
        DELETE FROM t WHERE id % 50 = 0; INSERT INTO t VALUES (4000, 'new', 9); COMMIT
        """)
      try await office.serverComesTo("2940", "SELECT count(*) FROM t WHERE u = id + 1")
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      let status = try await office.status()
      #expect(isHeld, "\(status)")
      try await office.site("UPDATE t SET u = 8000 WHERE id = 4000")
      try await office.server(
        "UPDATE t SET v = 'office' WHERE id = 11; INSERT INTO t VALUES (-1, 'o', 0)")
      try await office.siteComesTo("2", "SELECT count(*) FROM t WHERE v IN ('office', 'o')")
      try await office.isInSync()
      #expect(try await office.server(Self.all) == office.site(Self.all))
    }
  }
}
