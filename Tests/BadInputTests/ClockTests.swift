import Foundation
import Testing

extension BadInputTests {
  /// Users who set clocks, with real processes: what is written later stands, whatever the clock
  /// says.
  @Suite(.enabled(if: FalseClock.library != nil, "libfaketime is not here"))
  struct ClockTests {
    private struct Status: Decodable {
      var in_sync: Bool
    }

    /// An edit of row k1 by a program whose machine has this clock.
    private func write(
      _ desk: Desk, _ database: String, _ text: String, _ clock: FalseClock?
    ) async throws {
      try await write(desk, database, text, after: clock?.words ?? [])
    }

    private func write(
      _ desk: Desk, _ database: String, _ text: String, after first: [String]
    ) async throws {
      let words = [
        "sqlite3", "-cmd", ".timeout 10000", "./" + database,
        "UPDATE t SET v = '\(text)' WHERE id = 'k1'",
      ]
      let outcome = try await desk.run(first + words)
      guard outcome.status == 0 else { throw ProgramFailure(words: words, outcome: outcome) }
    }

    private func settle(_ desk: Desk) async throws {
      for database in ["a.db", "b.db"] {
        var said = ""
        let isSettled = try await eventually(within: .seconds(60)) {
          said = try await desk.flotilla("status", database, "--json").output
          return (try? JSONDecoder().decode(Status.self, from: Data(said.utf8)))?.in_sync ?? false
        }
        #expect(isSettled, "\(database) waits for something: \(said)")
      }
    }

    private func look(_ desk: Desk) async throws -> [String] {
      var seen: [String] = []
      for database in ["a.db", "b.db"] {
        seen.append(try await desk.sql(database, "SELECT v FROM t WHERE id = 'k1'"))
      }
      return seen
    }

    @Test(arguments: [FalseClock.yearAhead.seconds, FalseClock.yearBehind.seconds, 0])
    func `an edit made with a clock set wrong, while the node runs, loses to a later one`(
      seconds: Int
    ) async throws {
      let clock = seconds == 0 ? FalseClock.of1970 : FalseClock(seconds: seconds)
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await settle(desk)
        // Both run, at addresses that the other does not know.
        for database in ["a.db", "b.db"] { try await desk.succeed("stop", database) }
        let again = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0")
        // The user of a sets its clock, edits, and sets it back; another user edits later. And then
        // the other way round.
        try await write(desk, "a.db", "first", clock)
        try await Task.sleep(for: .seconds(1))
        try await write(desk, "b.db", "later", nil)
        try await Task.sleep(for: .seconds(1))
        try await desk.succeed("stop", "b.db")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", again.address)
        try await settle(desk)
        #expect(try await look(desk) == ["later", "later"])
        let edited =
          "SELECT edited_at > datetime('now', '-1 hour') AND edited_at <= "
          + "datetime('now', '+1 minute') FROM _flotilla_rows_t WHERE id = 'k1'"
        #expect(try await desk.sql("a.db", edited) == "1")
        let log = try await desk.succeed("conflicts", "a.db", "--json")
        #expect(log.contains("first") && log.contains("older") && !log.contains("\"undated\":true"))
      }
    }

    @Test func `an edit made with a clock set ahead, while no node runs, loses to a later one`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await settle(desk)
        try await desk.succeed("stop", "a.db")
        try await write(desk, "a.db", "first", .yearAhead)
        try await Task.sleep(for: .seconds(1))
        try await write(desk, "b.db", "later", nil)
        try await Task.sleep(for: .seconds(1))
        _ = try await desk.start("a.db", "--listen", first.address)
        try await settle(desk)
        #expect(try await look(desk) == ["later", "later"])
        let said = try await desk.succeed("clock", "a.db", "--json")
        #expect(said.contains("\"source\""))
      }
    }

    @Test func `a clock that is set back in the midst of a catch-up changes nothing`()
      async throws
    {
      let rows = 60_000
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        try await desk.sql(
          "a.db",
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
          INSERT INTO t SELECT 'n' || i, 'many' FROM n
          """)
        let clock = try SetClock(desk.path("clock"), ahead: 7_200)
        let node = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", first.address, clock: clock)
        func count() async throws -> Int {
          Int(try await desk.sql("b.db", "SELECT count(*) FROM t")) ?? 0
        }
        #expect(try await eventually(within: .seconds(60)) { try await count() > 20 })
        try clock.set(ahead: -400 * 86_400)
        #expect(try await count() < rows, "the catch-up is over: make it longer")
        try await Task.sleep(for: .seconds(1))
        try await write(desk, "b.db", "first", after: clock.words)
        try await Task.sleep(for: .seconds(1))
        try await write(desk, "a.db", "later", nil)
        try await settle(desk)
        #expect(try await look(desk) == ["later", "later"])
        #expect(try await count() == rows + 20)
        // What is written with the clock as it is now is later than all of that.
        try await write(desk, "b.db", "last", after: clock.words)
        try await settle(desk)
        #expect(try await look(desk) == ["last", "last"])
        #expect(node.isRunning && !node.logText.contains("could not"), "\(node.logText)")
      }
    }
  }
}
