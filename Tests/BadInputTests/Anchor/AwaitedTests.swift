import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// What is awaited, or shown, when somebody who could tell is gone.
  @Suite struct AwaitedTests {
    @Test(arguments: ["kill", "stop"])
    func `an edit whose node ends has no verdict yet, and stays`(how: String) async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 3)
        try await desk.succeed("anchor", "a.db", "--here")
        let second = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await desk.waitForAnchor("b.db")
        try await desk.succeed("stop", "a.db")
        let edit = "UPDATE t SET v = 'awaited' WHERE id = 'k1'"
        async let awaited = desk.flotilla(
          "sql", "b.db", edit, "--online", "--timeout", "40s", "--json")
        let isWritten = try await eventually(within: .seconds(20)) {
          try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k1'") == "awaited"
        }
        #expect(isWritten)
        if how == "kill" {
          kill(second.process, SIGKILL)
        } else {
          try await desk.succeed("stop", "b.db")
        }
        let outcome = try await awaited
        #expect(outcome.status == 3, "\(outcome)")
        #expect(outcome.output.contains(#""verdict":"pending""#), "\(outcome)")
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k1'") == "awaited")
      }
    }

    @Test func `an edit that is written over before it is judged is superseded`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 3)
        try await desk.succeed("anchor", "a.db", "--here", "--rule", "client-wins")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await desk.waitForAnchor("b.db")
        try await desk.succeed("stop", "a.db")
        async let awaited = desk.flotilla(
          "sql", "b.db", "UPDATE t SET v = 'first' WHERE id < 'k3'", "--online", "--timeout", "50s",
          "--json")
        for (edit, count) in [(nil, "2"), ("UPDATE t SET v = 'second' WHERE id = 'k1'", "3")] {
          if let edit {
            // The command asks up to which edit it is to wait once its own is committed.
            try await Task.sleep(for: .seconds(2))
            try await desk.sql("b.db", edit)
          }
          let look = "SELECT count(*) FROM _flotilla_verdict"
          let isFolded = try await eventually(within: .seconds(20)) {
            try await desk.sql("b.db", look) == count
          }
          #expect(isFolded)
        }
        _ = try await desk.start("a.db", "--listen", first.address)
        let outcome = try await awaited
        // Nothing went wrong: what the program wrote last stands.
        #expect(outcome.status == 0, "\(outcome)")
        let answer = try JSONDecoder().decode(Online.self, from: Data(outcome.output.utf8))
        #expect(answer.verdict == "superseded")
        #expect(answer.rows.map(\.verdict) == ["superseded", "accepted"])
        #expect(answer.rows.map { $0.server?["v"] } == ["second", "first"])
      }
    }

    private struct Online: Decodable {
      struct Row: Decodable {
        var verdict: String
        var server: [String: String]?
      }
      var verdict: String
      var rows: [Row]
    }

    @Test func `a row with NULL in its key is nothing to judge`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 1)
        for database in ["a.db", "b.db"] {
          try await desk.sql(database, "CREATE TABLE n(id TEXT PRIMARY KEY, v TEXT)")
        }
        try await desk.succeed("track", "a.db", "n")
        try await desk.succeed("anchor", "a.db", "--here")
        try await desk.succeed("sync", "b.db", node.address)
        let insert = "INSERT INTO n VALUES (NULL, 'here alone')"
        let alone = try await desk.flotilla("sql", "b.db", insert, "--online", "--json")
        #expect(alone.status == 0 && alone.output.contains(#""verdict":null"#), "\(alone)")
        let told = try await desk.flotilla("sql", "b.db", insert, "--online")
        #expect(told.status == 0, "\(told)")
        #expect(told.error.contains("the anchor has nothing to judge"), "\(told)")
        let both = "INSERT INTO n VALUES (NULL, 'x'), ('k', 'x')"
        let mixed = try await desk.flotilla("sql", "b.db", both, "--online", "--json")
        #expect(mixed.output.contains(#""verdict":"accepted""#), "\(mixed)")
      }
    }

    @Test func `what a row said that was written over at once is called not known`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 2)
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--at", first.address, "--name", "third")
        try await desk.succeed("anchor", "a.db", "--here")
        for name in ["b.db", "c.db"] { try await desk.succeed("sync", name, first.address) }
        try await desk.succeed("stop", "a.db")
        let edit = { (word: String) in "UPDATE t SET v = '\(word)' WHERE id = 'k1'" }
        try await desk.sql("c.db", edit("lost"))
        // Later, by more than nodes on a busy machine differ about the time of the site.
        try await Task.sleep(for: .seconds(1))
        try await desk.sql("b.db", edit("between"))
        let second = try await desk.start("b.db", "--listen", "127.0.0.1:0")
        try await desk.succeed("sync", "c.db", second.address)
        #expect(try await desk.sql("c.db", "SELECT v FROM t WHERE id = 'k1'") == "between")
        try await desk.sql("c.db", edit("last"))
        try await desk.succeed("sync", "c.db", second.address)
        let shown = try await desk.succeed("conflicts", "c.db", "show", "1")
        #expect(shown.contains("won:  second at "), "\(shown)")
        #expect(shown.contains(", what it said is not known here"), "\(shown)")
        #expect(!shown.contains("*"), "\(shown)")
        let list = try await desk.succeed("conflicts", "c.db", "--json")
        #expect(list.contains(#""deleted":false,"node":"second","row":null"#), "\(list)")
        // What stood was kept nowhere here, so restoring tells what it writes over.
        let restored = try await desk.succeed("conflicts", "c.db", "restore", "1", "--json")
        #expect(restored.contains(#""v":"last""#), "\(restored)")
      }
    }
  }
}
