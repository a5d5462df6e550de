import Foundation
import Testing

/// Two tables that were filled before there was a mirror.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `Tables that meet for the first time` {
  /// So many rows take a while to be compared.
  private static let count = 150_000

  @Test func `keep what the server has of rows that change meanwhile`() async throws {
    try await Office.with { office in
      try await office.site(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.count))
          INSERT INTO t SELECT i, 'v' FROM n;
        """)
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT);
        INSERT INTO t SELECT seq, IF(seq IN (2, 149990, 149991), CONCAT('theirs ', seq), 'v')
          FROM seq_1_to_\(Self.count);
        INSERT INTO t VALUES (200000, 'only there')
        """)
      #expect(try await office.flotilla("init", "shop.db", "--all").status == 0)
      try await office.add([])
      _ = try await office.serve()
      let triggers = "SELECT count(*) FROM information_schema.triggers"
      try await office.serverComesTo("3", triggers)
      // One that differs, one that goes, and one that the site has not had.
      try await office.site(
        """
        UPDATE t SET v = 'mine' WHERE id = 149990; DELETE FROM t WHERE id = 149991;
        INSERT INTO t VALUES (200000, 'mine')
        """)
      let few = "SELECT id, v FROM t WHERE id IN (149990, 149991, 200000) ORDER BY id"
      try await office.serverComesTo("149990\tmine\n200000\tmine", few)
      // They went as changes do, while all the others were looked at.
      #expect(try await office.status()["state"] as? String == "comparing")
      // Once both are alike a change is no conflict.
      try await office.site("UPDATE t SET v = 'mine again' WHERE id = 149990")
      try await office.follows()
      try await office.serverComesTo("149990\tmine again\n200000\tmine", few)
      #expect(try await office.site(few) == "149990\tmine again\n200000\tmine")
      let lost = try await office.conflicts().map(\.lost).sorted()
      #expect(lost == ["only there", "theirs 149990", "theirs 149991", "theirs 2"])
      try await office.site("UPDATE t SET v = 'later' WHERE id = 2")
      try await office.serverComesTo("later", "SELECT v FROM t WHERE id = 2")
      #expect(try await office.conflicts().count == 4)
    }
  }

  @Test func `are said to start as soon as somebody resumes`() async throws {
    try await Office.with { office in
      _ = try await office.open("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);", "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      let said = try await office.flotilla("mirror", "shop.db", "resume")
      #expect(said.status == 0 && said.text.contains("· starting"), "\(said.text)")
      try await office.follows()
    }
  }
}
