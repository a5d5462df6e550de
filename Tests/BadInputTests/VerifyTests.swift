import Foundation
import Testing

extension BadInputTests {
  /// `verify` of the built program.
  @Suite struct VerifyTests {
    /// Writes with another program that takes the triggers away and makes them again.
    private func tamper(_ database: String, _ sql: String, on desk: Desk) async throws {
      let script = """
        import sqlite3, sys
        db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        look = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = db.execute(look).fetchall()
        for name, text in triggers: db.execute(f'DROP TRIGGER "{name}"')
        db.execute(sys.argv[2])
        for name, text in triggers: db.execute(text)
        db.execute("COMMIT")
        """
      let outcome = try await desk.run(["python3", "-c", script, database, sql])
      #expect(outcome.status == 0, "\(outcome)")
    }

    @Test func `proves equality, with nodes that run and without`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 48)
        let brief = try await desk.flotilla("verify", "b.db")
        #expect(brief.status == 0)
        let own = #/second \(this node\): sound, 48 rows, digest ([0-9a-f]{16})/#
        let match = try #require(brief.output.firstMatch(of: own), "\(brief)")
        #expect(brief.output.contains("first: identical, 48 rows, digest \(match.1)"), "\(brief)")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        let both = try await desk.flotilla("verify", "a.db", "second")
        #expect(both.status == 0)
        #expect(both.output.hasSuffix("second: identical, 48 rows, digest \(match.1)"), "\(both)")
        #expect(both.error == "")
        let json = try await desk.flotilla("verify", "a.db", "--json")
        #expect(json.output.contains(#""identical":true"#), "\(json)")
      }
    }

    @Test func `finds and repairs what was written past the triggers`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        try await tamper("a.db", "UPDATE t SET v = 'other' WHERE id = 'k7'", on: desk)
        let found = try await desk.flotilla("verify", "a.db")
        #expect(found.status == 1)
        for line in [
          "first (this node): 1 finding, 20 rows", "k7   changed without its triggers",
          "second: 1 row differs", "written past the triggers here",
        ] { #expect(found.output.contains(line), "\(line): \(found)") }
        #expect(found.error.contains("to put it right: flotilla verify a.db --repair"), "\(found)")
        let there = try await desk.flotilla("verify", "b.db", "first", "--repair")
        #expect(there.status == 1)
        #expect(there.output.contains("1 row there written past the triggers"), "\(there)")
        #expect(there.error.contains("on first run: flotilla verify"), "\(there)")
        let repaired = try await desk.flotilla("verify", "a.db", "--repair")
        #expect(repaired.status == 0, "\(repaired)")
        #expect(repaired.output.contains("1 repaired"))
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k7'") == "other")
        #expect(try await desk.flotilla("verify", "b.db").status == 0)
      }
    }

    @Test func `finds and repairs a version that somebody has changed`() async throws {
      try await Desk.with { desk in
        _ = try await desk.pair("a.db", "b.db")
        try await desk.sql(
          "b.db", "UPDATE _flotilla_version SET hash = 5 WHERE key = x'306B3700'")
        let found = try await desk.flotilla("verify", "b.db")
        #expect(found.status == 1)
        #expect(found.output.contains("second (this node): 2 findings"), "\(found)")
        #expect(found.output.contains("the sums of all rows are wrong"), "\(found)")
        #expect(try await desk.flotilla("verify", "b.db", "--repair").status == 0)
        #expect(try await desk.flotilla("verify", "a.db", "--timeout", "2s").status == 3)
        #expect(try await desk.flotilla("verify", "b.db").status == 0)
      }
    }

    @Test func `brings the values of a column that was dropped here and added again`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        for database in ["a.db", "b.db"] {
          try await desk.sql(database, "ALTER TABLE t ADD COLUMN note TEXT")
        }
        let before = try await desk.sql("a.db", "SELECT id, v FROM t ORDER BY id")
        try await desk.sql("b.db", "ALTER TABLE t DROP COLUMN v")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.sql("b.db", "ALTER TABLE t ADD COLUMN v TEXT")
        try await desk.sql("b.db", "UPDATE t SET note = 'new' WHERE id = 'k1'")
        try await desk.succeed("sync", "b.db", node.address)
        let rows = "SELECT id, v, note FROM t ORDER BY id"
        #expect(try await desk.sql("a.db", "SELECT id, v FROM t ORDER BY id") == before)
        #expect(try await desk.sql("a.db", "SELECT note FROM t WHERE id = 'k1'") == "new")
        #expect(try await desk.sql("b.db", "SELECT count(v) FROM t") == "0")
        let differing = try await desk.flotilla("verify", "b.db")
        #expect(differing.output.contains("added again come with"), "\(differing)")
        try await desk.succeed("verify", "b.db", "--repair")
        #expect(try await desk.sql("b.db", rows) == desk.sql("a.db", rows))
        #expect(try await desk.sql("b.db", "SELECT id, v FROM t ORDER BY id") == before)
        #expect(try await desk.flotilla("verify", "b.db").status == 0)
      }
    }

    @Test func `tells nodes that are away, unknown or revoked`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let away = try await desk.flotilla("verify", "a.db", "--timeout", "1s")
        #expect(away.status == 3)
        #expect(away.output.contains("second: away: not in reach"), "\(away)")
        let named = try await desk.flotilla("verify", "a.db", "second", "--timeout", "1s")
        #expect(named.status == 3)
        for (name, words) in [
          ("nobody", "there is no member nobody in this site"), ("first", "this node itself"),
        ] {
          let outcome = try await desk.flotilla("verify", "a.db", name)
          #expect(outcome.status == 1 && outcome.output == "")
          #expect(outcome.error.contains(words), "\(outcome)")
        }
        try await desk.succeed("revoke", "a.db", "second")
        let revoked = try await desk.flotilla("verify", "a.db", "second")
        #expect(revoked.status == 1)
        #expect(revoked.error.contains("second is no member any more"), "\(revoked)")
        let alone = try await desk.flotilla("verify", "a.db")
        #expect(alone.status == 0)
        #expect(alone.output.hasSuffix("there is no other node to compare with"), "\(alone)")
        try await desk.sql("plain.db", "CREATE TABLE t(id PRIMARY KEY)")
        let plain = try await desk.flotilla("verify", "plain.db")
        #expect(plain.status == 1)
        #expect(plain.error.contains("flotilla init plain.db"), "\(plain)")
        #expect(try await desk.flotilla("verify").status == 2)
        #expect(try await desk.flotilla("verify", "a.db", "--timeout", "5").status == 2)
        #expect(try await desk.flotilla("verify", "a.db", "x", "y").status == 2)
        #expect(node.isRunning)
      }
    }

    @Test func `holds no lock for long while programs write`() async throws {
      try await Desk.with { desk in
        _ = try await desk.pair("a.db", "b.db", rows: 30_000)
        let script = """
          import sqlite3, sys, time
          db = sqlite3.connect("a.db", timeout=10, isolation_level=None)
          longest, end = 0, time.monotonic() + 4
          while time.monotonic() < end:
              start = time.monotonic()
              db.execute("UPDATE t SET v = v || 'x' WHERE id = 'k1'")
              longest = max(longest, time.monotonic() - start)
              time.sleep(0.002)
          print(int(1000 * longest))
          """
        async let writer = desk.run(["python3", "-c", script])
        for _ in 0..<2 {
          let outcome = try await desk.flotilla("verify", "a.db", "--timeout", "1s")
          #expect(outcome.status == 3, "\(outcome)")
        }
        // The time of a debug build on a busy machine; the sqlite3 shell alone would see hundreds.
        let longest = Int(try await writer.output) ?? 10_000
        #expect(longest < 500, "\(longest) ms")
      }
    }
  }
}
