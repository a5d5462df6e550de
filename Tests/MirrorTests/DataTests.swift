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
      for round in 1...5 {
        try await office.server("UPDATE t SET v = \(round)")
        try await office.siteComesTo("10", "SELECT count(*) FROM t WHERE v = \(round)")
        try await office.server("\(Office.cut); UPDATE t SET v = \(round) * 100")
        try await office.siteComesTo("10", "SELECT count(*) FROM t WHERE v = \(round) * 100")
      }
      #expect(try await office.server("SELECT count(*) FROM t WHERE v = 500") == "10")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(!conflicts.text.contains(#""table":"t""#), "\(conflicts.text)")
    }
  }

  @Test func `is told apart from what the site commits while it is asked`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let replica = Replica(path: office.path("shop.db"))
      let file = try Connection(path: office.path("shop.db"))
      file.setBusyTimeout(milliseconds: 10_000)
      for round in 1...40 {
        let place = try await replica.changedKeys(since: nil, tables: ["t"], within: .zero).cursor
        try file.run("UPDATE t SET v = ? WHERE id = 7", [.integer(Int64(round))])
        let page = try await replica.changedKeys(since: place, tables: ["t"], within: .zero)
        #expect(page.changes.count == 1, "round \(round)")
      }
    }
  }
}

extension Office {
  /// Ends the connection of the mirror, if it has one.
  static let cut = """
    SET @k = 'DO 0'; SELECT concat('KILL ', id) INTO @k FROM information_schema.processlist
      WHERE user = 'flo' LIMIT 1; EXECUTE IMMEDIATE @k
    """
}
