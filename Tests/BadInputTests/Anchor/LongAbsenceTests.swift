import Foundation
import Testing

extension BadInputTests {
  /// The anchor is away for a day while five nodes work.
  @Suite struct LongAbsenceTests {
    private static let rows = 10_000
    /// So many of the first rows are edited by two nodes each.
    private static let contested = 500
    private static let day: Int64 = 86_400
    private static let nodes = (1...5).map { "n\($0).db" }
    private static let all = ["a.db"] + nodes

    /// An anchor with the rows, and five members that have them, none of which runs.
    private func found(_ desk: Desk, _ clock: SetClock) async throws {
      try await desk.sql(
        "a.db",
        """
        CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rows))
        INSERT INTO t SELECT printf('%05d', i), 'before' FROM n
        """)
      try await desk.succeed("init", "a.db", "--all", "--name", "anchor")
      let office = try await desk.start("a.db", "--listen", "127.0.0.1:0", clock: clock)
      try await desk.succeed("anchor", "a.db", "--here", "--rule", "server-wins-on-conflict")
      for (index, name) in Self.nodes.enumerated() {
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed(
          "join", name, code, "--at", office.address, "--name", "n\(index + 1)")
      }
      try await desk.succeed("stop", "a.db")
    }

    private func content(_ desk: Desk, _ name: String) async throws -> String {
      try await desk.sql(name, "SELECT id, v FROM t ORDER BY id")
    }

    /// Waits until all of them show the same rows.
    private func expectEqual(_ desk: Desk, _ names: [String]) async throws {
      let equal = try await eventually(within: .seconds(60), every: .milliseconds(500)) {
        let first = try await content(desk, names[0])
        for name in names.dropFirst() {
          guard try await content(desk, name) == first else { return false }
        }
        return true
      }
      #expect(equal)
    }

    private func expectJudged(_ desk: Desk) async throws {
      for name in Self.all {
        var said = ""
        let settled = try await eventually(within: .seconds(120), every: .milliseconds(500)) {
          said = try await desk.flotilla("status", name, "--all", "--json").output
          return ToldStatus.isSettled(said)
        }
        #expect(settled, "\(name): \(said)")
      }
    }

    /// Each node edits its fifth of the rows, and some of its neighbour's, apart from all others.
    private func edit(_ desk: Desk, _ clock: SetClock) async throws {
      for (index, name) in Self.nodes.enumerated() {
        _ = try await desk.start(name, "--listen", "127.0.0.1:0", clock: clock)
        let edit = """
          UPDATE t SET v = 'n\(index + 1)' WHERE id % 5 = \(index)
          OR id + 0 <= \(Self.contested) AND id % 5 = \((index + 1) % 5)
          """
        let words = ["sqlite3", "-cmd", ".timeout 10000", "./" + name, edit]
        #expect(try await desk.run(clock.words + words).status == 0)
        try clock.set(ahead: Self.day / 6 * Int64(index + 1))
      }
      for name in Self.nodes { try await desk.succeed("stop", name) }
    }

    private func conflicts(_ desk: Desk, _ name: String) async throws -> [ToldConflict] {
      try await ToldConflict.all(desk.succeed("conflicts", name, "--json"))
    }

    @Test func `every edit of five nodes has one verdict when the anchor is back`() async throws {
      try await Desk.with { desk in
        let clock = try SetClock(desk.path("clock"), ahead: 0)
        try await found(desk, clock)
        try await edit(desk, clock)
        let first = try await desk.start(Self.nodes[0], "--listen", "127.0.0.1:0", clock: clock)
        for name in Self.nodes.dropFirst() {
          _ = try await desk.start(
            name, "--listen", "127.0.0.1:0", "--peer", first.address, clock: clock)
        }
        try await expectEqual(desk, Self.nodes)
        let waiting = try await desk.flotilla("status", "n1.db", "--json")
        #expect(waiting.status == 3, "\(waiting)")

        try clock.set(ahead: Self.day)
        _ = try await desk.start(
          "a.db", "--listen", "127.0.0.1:0", "--peer", first.address, clock: clock)
        try await expectJudged(desk)
        try await expectEqual(desk, Self.all)

        let each = Self.rows / 5 + Self.contested / 5
        var verdicts: [Substring] = []
        for name in Self.nodes {
          let told = try await desk.sql(
            name, "SELECT key, verdict || coalesce(' ' || reason, '') FROM _flotilla_verdict")
          let lines = told.split(separator: "\n")
          #expect(lines.count == each && Set(lines).count == each, "\(name)")
          verdicts += lines.compactMap { $0.split(separator: "|").last }
        }
        #expect(verdicts.count { $0 == "accepted" } == Self.rows)
        #expect(verdicts.count { $0 == "rejected unseen" } == Self.contested)
        try await expectLogged(desk)
      }
    }

    /// Both sides of each conflict are in the log of the anchor, and of the author who lost.
    private func expectLogged(_ desk: Desk) async throws {
      let standing = Dictionary(
        uniqueKeysWithValues: try await content(desk, "a.db").split(separator: "\n").map { line in
          let parts = line.split(separator: "|").map(String.init)
          return (parts[0], parts[1])
        })
      #expect(standing.values.allSatisfy { $0 != "before" })
      var lost: [String: String] = [:]
      for (index, name) in Self.nodes.enumerated() {
        for conflict in try await conflicts(desk, name) {
          let key = try #require(conflict.key["id"]?.printed)
          #expect(conflict.loser?.row?["v"]?.printed == "n\(index + 1)")
          #expect(lost.updateValue("n\(index + 1)", forKey: key) == nil)
        }
      }
      #expect(lost.count == Self.contested)
      let logged = try await conflicts(desk, "a.db")
      #expect(logged.count == Self.contested)
      for conflict in logged {
        let key = try #require(conflict.key["id"]?.printed)
        #expect(conflict.reason == "unseen" && conflict.loser?.row?["v"]?.printed == lost[key])
        #expect(conflict.winner?.row?["v"]?.printed == standing[key])
        let number = try #require(Int(key))
        let authors = [number % 5 + 1, (number + 4) % 5 + 1].map { "n\($0)" }
        #expect(Set([lost[key], standing[key]]) == Set(authors))
      }
    }
  }
}
