import Flotilla
import Foundation
import SQLite
import Testing

/// What both sides have written is overwritten by nobody who had not seen it.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `What a mirror has taken` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER);
    INSERT INTO t SELECT value, 0 FROM json_each('[1,2,3,4,5,6,7,8,9,10]');
    """

  @Test func `is no change of the site after a connection was cut`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      for round in 1...3 {
        try await office.server("UPDATE t SET v = \(round)")
        try await office.siteComesTo("10", "SELECT count(*) FROM t WHERE v = \(round)")
        try await office.server("\(Office.cut); UPDATE t SET v = \(round) * 100")
        try await office.siteComesTo("10", "SELECT count(*) FROM t WHERE v = \(round) * 100")
      }
      #expect(try await office.server("SELECT count(*) FROM t WHERE v = 300") == "10")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(!conflicts.text.contains(#""table":"t""#), "\(conflicts.text)")
    }
  }

  @Test func `is no change of the site either where it is owed after a kill`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      try await office.server("UPDATE t SET v = 1 WHERE id = 7")
      try await office.siteComesTo("1", "SELECT v FROM t WHERE id = 7")
      node.die()
      let clerk = try office.session(
        "START TRANSACTION; UPDATE t SET v = 2 WHERE id = 7; SELECT 'locked'; SELECT SLEEP(15);"
          + "COMMIT", "locked")
      try await clerk.isReady()
      // The feed names the row again, and it cannot go out.
      _ = try await office.serve()
      try await office.siteComesTo("2", "SELECT v FROM t WHERE id = 7")
      try await office.isInSync()
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text)")
    }
  }

  @Test func `is compared in the end though the comparison was cut short`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      #expect(try await office.status()["state"] as? String == "paused")
      let name = try await office.trigger("1_i")
      try await office.server("DROP TRIGGER \(name); INSERT INTO t VALUES (50, 50)")
      // No file can be made there.
      let place = office.path("shop.db-flotilla/mirror-compare-1.db")
      try FileManager.default.createDirectory(
        atPath: place, withIntermediateDirectories: false)
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.serverComesTo(
        "1", "SELECT count(*) FROM information_schema.triggers WHERE trigger_name = '\(name)'")
      let fails = try await eventually { try await office.status()["trouble"] as? String != nil }
      #expect(fails)
      try FileManager.default.removeItem(atPath: place)
      try await office.siteComesTo("50", "SELECT v FROM t WHERE id = 50")
    }
  }

  @Test func `is told apart from what the site commits while it is asked`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let replica = Replica(path: office.path("shop.db"))
      let file = try Connection(path: office.path("shop.db"))
      file.setBusyTimeout(milliseconds: 10_000)
      for round in 1...40 {
        let place = try await changes(of: replica, since: nil).cursor
        try file.run("UPDATE t SET v = ? WHERE id = 7", [.integer(Int64(round))])
        let page = try await changes(of: replica, since: place)
        #expect(page.rows.count == 1, "round \(round)")
      }
    }
  }
}

private func changes(of replica: Replica, since place: String?) async throws -> ChangedKeys {
  try await replica.changedKeys(since: place, tables: ["t"], isExact: true, within: .zero)
}

extension Office {
  /// Ends the connection of the mirror, if it has one.
  static let cut = """
    SET @k = 'DO 0'; SELECT concat('KILL ', id) INTO @k FROM information_schema.processlist
      WHERE user = 'flo' LIMIT 1; EXECUTE IMMEDIATE @k
    """
}
