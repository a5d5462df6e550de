import Foundation
import Testing

/// Both sides have changed rows, and nothing tells any more which the site did.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A mirror whose feed was cut` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE z(id INTEGER PRIMARY KEY);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4,5,6,7,8]');
    """

  @Test func `lets the later one stand, and logs whatever it overwrites or takes away`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create", "--tables", "t")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.site(
        "UPDATE t SET v = 'site first' WHERE id = 6; DELETE FROM t WHERE id = 4")
      try await office.server("UPDATE t SET v = 'office first' WHERE id IN (5, 7)")
      try await Task.sleep(for: .seconds(1))
      // Another table is altered: what was in the feed is gone.
      try await office.site("ALTER TABLE z ADD COLUMN w")
      try await office.site(
        "UPDATE t SET v = 'site later' WHERE id = 7; DELETE FROM t WHERE id = 5;"
          + "INSERT INTO z VALUES (1, 1)")
      try await office.server("UPDATE t SET v = 'office later' WHERE id IN (4, 6)")
      try await office.quietly(
        1, "INSERT INTO t VALUES (50, 'unseen row'); UPDATE t SET v = 'unseen' WHERE id = 2")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let wanted =
        "1\tv1\n2\tv2\n3\tv3\n4\toffice later\n6\toffice later\n7\tsite later\n8\tv8"
      try await office.serverComesTo(wanted, "SELECT id, v FROM t ORDER BY id")
      try await office.siteComesTo(wanted, "SELECT id, v FROM t ORDER BY id")
      try await office.follows()
      let log = try await office.conflicts()
      for words in ["site first", "office first", "unseen row", "unseen"] {
        #expect(log.contains { $0.lost == words }, "\(words): \(log)")
      }
      // What the site had deleted before is in the log as that.
      #expect(log.contains { $0.isDelete && $0.key == 4 }, "\(log)")
      #expect(log.contains { $0.lost == "office first" && $0.key == 5 }, "\(log)")
    }
  }

  @Test func `does not take for agreed what has gone out since`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create", "--tables", "t")
      try await office.server("UPDATE t SET v = 'open' WHERE id = 7")
      try await office.siteComesTo("open", "SELECT v FROM t WHERE id = 7")
      try await office.site("UPDATE t SET v = 'closed' WHERE id = 7")
      try await office.serverComesTo("closed", "SELECT v FROM t WHERE id = 7")
      node.die()
      try await office.server("UPDATE t SET v = 'lost' WHERE id = 7")
      try await Task.sleep(for: .seconds(1))
      try await office.site("UPDATE t SET v = 'open' WHERE id = 7")
      _ = try await office.serve()
      try await office.serverComesTo("open", "SELECT v FROM t WHERE id = 7")
      try await office.follows()
      #expect(try await office.site("SELECT v FROM t WHERE id = 7") == "open")
      #expect(try await office.conflicts().contains { $0.lost == "lost" })
    }
  }

  @Test func `takes what a trigger of the site adds for nobody's edit`() async throws {
    try await Office.with { office in
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, n INTEGER NOT NULL DEFAULT 0);
        CREATE TRIGGER stamp AFTER UPDATE OF v ON t
          BEGIN UPDATE t SET n = n + 1 WHERE id = NEW.id; END;
        INSERT INTO t(id, v) SELECT value, 0 FROM json_each('[1,2,3,4,5]');
        """, "--create")
      try await office.server(
        (1...400).map { "UPDATE t SET v = \($0); DO SLEEP(0.002)" }.joined(separator: "; "))
      try await office.siteComesTo("5", "SELECT count(*) FROM t WHERE v = 400 AND n > 0")
      let all = "SELECT id, v, n FROM t ORDER BY id"
      let areEqual = try await eventually { try await office.server(all) == office.site(all) }
      #expect(areEqual)
      #expect(try await office.conflicts().isEmpty)
    }
  }
}

extension Office {
  /// What `conflicts` has of tables that have a column `v`.
  func conflicts() async throws -> [(key: Int, lost: String, isDelete: Bool)] {
    let said = try await flotilla("conflicts", "shop.db", "--json")
    let object = try JSONSerialization.jsonObject(with: Data(said.text.utf8)) as? [String: Any]
    let all = try #require(object?["conflicts"] as? [[String: Any]])
    return all.compactMap { one in
      guard let loser = one["loser"] as? [String: Any] else { return nil }
      let row = loser["row"] as? [String: Any] ?? [:]
      let (key, value) = (one["key"] as? [String: Any], row["v"])
      return (
        key?["id"] as? Int ?? -1, value as? String ?? (value.map { "\($0)" } ?? ""),
        loser["deleted"] as? Bool ?? false
      )
    }
  }
}
