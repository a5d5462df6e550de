import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Edits online at the edges of what online means: the anchor is stopped, or killed, at the
  /// moment when the edit is made.
  @Suite struct OnlineEdgeTests {
    private struct Online: Decodable {
      struct Row: Decodable {
        var verdict: String
        var reason: String?
        var server: [String: String]?
      }
      var verdict: String
      var rows: [Row]
    }

    private static let edit = "UPDATE t SET v = 'mine' WHERE id = 'k1'"

    /// An anchor `a.db` under server-wins, and `b.db` in touch with it.
    private func withAnchor(_ body: (Desk, RunningNode) async throws -> Void) async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 2)
        try await desk.succeed("anchor", "a.db", "--here", "--rule", "server-wins")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        // It was off when the anchor was appointed.
        let hasHeard = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "b.db").output.contains("anchor")
        }
        #expect(hasHeard)
        let early = try await desk.flotilla(
          "sql", "b.db", "UPDATE t SET v = 'early' WHERE id = 'k1'", "--online")
        #expect(early.status == 0, "\(early)")
        try await body(desk, first)
      }
    }

    private func online(_ desk: Desk, _ timeout: String = "50s") async throws -> Outcome {
      try await desk.flotilla("sql", "b.db", Self.edit, "--online", "--timeout", timeout, "--json")
    }

    private func report(_ outcome: Outcome) throws -> Online {
      try JSONDecoder().decode(Online.self, from: Data(outcome.output.utf8))
    }

    /// Stops the node at a moment when it does not hold the lock of its file.
    private func stopBetweenTransactions(_ desk: Desk, _ node: RunningNode) async throws {
      let isStopped = try await eventually(within: .seconds(20)) {
        node.signal(SIGSTOP)
        let look = try await desk.run("sqlite3", "./a.db", "BEGIN IMMEDIATE; ROLLBACK")
        if look.status != 0 { node.signal(SIGCONT) }
        return look.status == 0
      }
      #expect(isStopped)
    }

    private func awaitWrite(_ desk: Desk) async throws {
      let isWritten = try await eventually(within: .seconds(20)) {
        try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k1'") == "mine"
      }
      #expect(isWritten)
    }

    private func expectRows(_ desk: Desk, _ text: String) async throws {
      for name in ["a.db", "b.db"] {
        var said = ""
        let stands = try await eventually(within: .seconds(30)) {
          said = try await desk.sql(name, "SELECT v FROM t WHERE id = 'k1'")
          return said == text
        }
        #expect(stands, "\(name): \(said)")
      }
    }

    @Test func `an edit whose contact is lost before it gets there was made offline`()
      async throws
    {
      try await withAnchor { desk, first in
        first.signal(SIGSTOP)
        // The session is alive, as far as anybody here knows; what is sent is read by nobody.
        async let answer = online(desk)
        try await awaitWrite(desk)
        first.signal(SIGKILL)
        #expect(try await first.ends())
        _ = try await desk.start("a.db", "--listen", first.address)
        let outcome = try await answer
        #expect(outcome.status == 4, "\(outcome)")
        let report = try report(outcome)
        #expect(report.verdict == "rejected" && report.rows.map(\.reason) == ["offline"])
        #expect(report.rows.first?.server?["v"] == "early")
        try await expectRows(desk, "early")
      }
    }

    @Test func `an edit one version behind the anchor has not seen what stands`() async throws {
      try await withAnchor { desk, first in
        try await stopBetweenTransactions(desk, first)
        try await desk.sql("a.db", "UPDATE t SET v = 'of the anchor' WHERE id = 'k1'")
        async let answer = online(desk)
        try await awaitWrite(desk)
        first.signal(SIGCONT)
        let outcome = try await answer
        #expect(outcome.status == 4, "\(outcome)")
        let report = try report(outcome)
        #expect(report.verdict == "rejected" && report.rows.map(\.reason) == ["unseen"])
        try await expectRows(desk, "of the anchor")
      }
    }

    @Test func `an anchor that says nothing in time has given no verdict yet`() async throws {
      try await withAnchor { desk, first in
        first.signal(SIGSTOP)
        let outcome = try await online(desk, "1s")
        #expect(outcome.status == 3, "\(outcome)")
        #expect(try report(outcome).verdict == "pending")
        first.signal(SIGCONT)
        // It was made in a session that is still alive.
        try await expectRows(desk, "mine")
        #expect(try await desk.succeed("conflicts", "b.db") == "no conflicts")
      }
    }

    @Test func `an edit online counts again once the anchor was restarted`() async throws {
      try await withAnchor { desk, first in
        first.signal(SIGKILL)
        #expect(try await first.ends())
        _ = try await desk.start("a.db", "--listen", first.address)
        let isBack = try await eventually(within: .seconds(30)) {
          try await desk.succeed("anchor", "b.db", "--json").contains(#""state":"connected""#)
        }
        #expect(isBack)
        let outcome = try await online(desk)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try report(outcome).rows.map(\.verdict) == ["accepted"])
        try await expectRows(desk, "mine")
      }
    }
  }
}
