import Foundation
import Glibc
import Testing

@testable import BadInputTests

/// What takes hours and days: the clock of the site's machine is set, the server's stays.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A mirror that gets older` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4,5,6,7,8]');
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  /// Who reads the feed again after a week finds it gone; the node itself reads it meanwhile.
  @Test func `brings over what changed while the server was away for a week`() async throws {
    try await Office.with { office in
      let clock = try SetClock(office.path("clock"), ahead: 0)
      office.prefix = clock.words
      var node = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      // What programs of the server did at last waits in its journal.
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.server("UPDATE t SET v = 'office' WHERE id IN (5, 6)")
      try await office.end(try #require(office.daemon))
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      for (number, days) in [4, 8].enumerated() {
        clock.set(days: days)
        try await office.site(
          "UPDATE t SET v = 'day \(days)' WHERE id = \(number + 1);"
            + "DELETE FROM t WHERE id = \(days)")
        let says = try await eventually {
          try await office.status()["trouble"] as? String != nil
        }
        #expect(says)
        node.die()
        node = try await office.serve()
      }
      try await Task.sleep(for: .seconds(3))
      try await office.startServer()
      let wanted = "1\tday 4\n2\tday 8\n3\tv3\n5\toffice\n6\toffice\n7\tv7"
      try await office.serverComesTo(wanted, Self.all)
      try await office.siteComesTo(wanted, Self.all)
      try await office.isInSync()
      // None of it was found by comparing, and nothing was taken for a change on both sides.
      #expect(try await office.status()["differences"] as? Int == 0)
      #expect(!(try office.log().contains("differed")))
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text)")
    }
  }

  /// The machine of the server has its clock put right while the mirror is at work.
  @Test func `knows which change was later after the clock of the server was set`() async throws {
    try await Office.prepared { office in
      let clock = try SetClock(office.path("clock"), ahead: 0)
      try await office.startServer(behind: clock.words)
      _ = try await office.open(Self.schema, "--create")
      for (round, ahead) in [3_600, -3_600].enumerated() as EnumeratedSequence<[Int64]> {
        try clock.set(ahead: ahead)
        // It is read every five seconds.
        try await Task.sleep(for: .seconds(8))
        let (first, last) = (round * 2 + 1, round * 2 + 2)
        // The server's own SLEEP goes by its clock.
        _ = try office.start(
          [
            "sh", "-c",
            "(echo \"START TRANSACTION; SELECT v FROM t WHERE id = \(last) FOR UPDATE;"
              + " UPDATE t SET v = 'office' WHERE id = \(first);\"; sleep 4;"
              + " echo \"UPDATE t SET v = 'office' WHERE id = \(last); COMMIT\")"
              + " | mariadb --no-defaults -uroot --socket=\(office.path("socket")) shop",
          ], "clerk-\(round)")
        try await Task.sleep(for: .seconds(2))
        try await office.site("UPDATE t SET v = 'site' WHERE id IN (\(first), \(last))")
        let both = "SELECT v FROM t WHERE id IN (\(first), \(last)) ORDER BY id"
        try await office.serverComesTo("site\noffice", both)
        try await office.siteComesTo("site\noffice", both)
        try await office.isInSync()
      }
    }
  }

  /// A node that was off for longer has no feed left: then all rows are compared.
  @Test func `loses nothing to a node that was off for longer than that`() async throws {
    try await Office.with { office in
      let clock = try SetClock(office.path("clock"), ahead: 0)
      office.prefix = clock.words
      let node = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      node.die()
      try await office.site(
        "UPDATE t SET v = 'site' WHERE id IN (1, 2); DELETE FROM t WHERE id = 8")
      try await Task.sleep(for: .seconds(1))
      try await office.server(
        "UPDATE t SET v = 'office' WHERE id IN (2, 3); DELETE FROM t WHERE id = 7;"
          + "INSERT INTO t VALUES (20, 'new')")
      clock.set(days: 9)
      _ = try await office.serve()
      let wanted = "1\tsite\n2\toffice\n3\toffice\n4\tv4\n5\tv5\n6\tv6\n20\tnew"
      try await office.siteComesTo(wanted, Self.all)
      try await office.serverComesTo(wanted, Self.all)
      try await office.follows()
      let log = try await office.conflicts()
      #expect(log.contains { $0.key == 2 && $0.lost == "site" }, "\(log)")
    }
  }

  @Test func `finds each hour what no trigger has told`() async throws {
    try await Office.with { office in
      let clock = try SetClock(office.path("clock"), ahead: 0)
      office.prefix = clock.words
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      try await office.quietly(
        1,
        """
        UPDATE t SET v = 'unseen' WHERE id = 1; DELETE FROM t WHERE id = 2;
        INSERT INTO t VALUES (30, 'unseen, too')
        """)
      clock.set(seconds: 3_500)
      try await Task.sleep(for: .seconds(6))
      #expect(try await office.server("SELECT v FROM t WHERE id = 1") == "unseen")
      clock.set(seconds: 3_700)
      try await office.serverComesTo("v1\nv2", "SELECT v FROM t WHERE id < 3 ORDER BY id")
      try await office.siteComesTo("unseen, too", "SELECT v FROM t WHERE id = 30")
      let isTold = try await eventually { try await office.status()["differences"] as? Int == 3 }
      #expect(isTold)
      #expect(try await office.conflicts().contains { $0.key == 1 && $0.lost == "unseen" })
    }
  }
}

extension SetClock {
  fileprivate func set(days: Int) { set(seconds: Int64(days) * 86_400) }
  fileprivate func set(seconds: Int64) {
    do { try set(ahead: seconds) } catch { Issue.record(error) }
  }
}
