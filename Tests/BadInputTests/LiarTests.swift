import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// A member with a key of its own that says what the types of the protocol allow, to the built
  /// program ([liar.py](../Fixtures/liar.py) has the stories).
  @Suite(.timeLimit(.minutes(10))) struct LiarTests {
    /// Two nodes that run, and the file of a third member, which does not.
    private struct Site {
      let desk: Desk
      var first: RunningNode
      let second: RunningNode
      private var edits = 0

      init(_ desk: Desk, role: String, rows: Int = 200) async throws {
        self.desk = desk
        try await desk.make("a.db", rows: rows)
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE form(id TEXT PRIMARY KEY NOT NULL, data TEXT);
          CREATE INDEX form_ward ON form(json_extract(data, '$.ward'))
          """)
        try await desk.succeed("init", "a.db", "--track", "t,form", "--name", "first")
        first = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        for (database, role) in [("b.db", "writer"), ("liar.db", role)] {
          let code = try await desk.succeed("invite", "a.db", "--role", role)
          try await desk.succeed(
            "join", database, code, "--at", first.address, "--name",
            database == "b.db" ? "second" : "liar")
        }
        try await desk.sql(
          "b.db",
          "CREATE TABLE private(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO private "
            + "VALUES ('k', 'nobody else reads this')")
        second = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
      }

      /// Both run, and an edit of each comes to the other one.
      mutating func stands(_ story: String, beside other: RunningNode? = nil) async throws {
        #expect(first.isRunning && (other ?? second).isRunning, "\(story)")
        for (database, other) in [("a.db", "b.db"), ("b.db", "a.db")] {
          edits += 1
          let id = "edit \(edits)"
          try await desk.sql(database, "INSERT INTO t VALUES ('\(id)', 'honest')")
          let hasCome = try await eventually(within: .seconds(20)) {
            try await desk.sql(other, "SELECT v FROM t WHERE id = '\(id)'") == "honest"
          }
          #expect(hasCome, "\(story): \(first.logText.suffix(2_000))")
        }
      }

      func tell(_ story: String, to port: Int? = nil) async throws -> String {
        let told = try await desk.run(
          ["python3", "\(Desk.fixtures)/liar.py", "\(port ?? first.port)"]
            + [desk.path("liar.db"), story]
            + (story == "contents" ? ["\(second.port)"] : []), within: 120)
        #expect(told.status == 0, "\(told)")
        return told.output
      }

      /// Nothing of it outlasts that the member is shut out, and that a node starts again.
      mutating func goesOn() async throws {
        try await desk.succeed("revoke", "a.db", "liar")
        try await stands("revoked")
        let port = first.port
        try await desk.succeed("stop", "a.db")
        first = try await desk.start("a.db", "--listen", "127.0.0.1:\(port)")
        try await stands("started again")
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "PRAGMA integrity_check") == "ok")
          let clock = try await desk.flotilla("clock", database)
          #expect(clock.output.contains(Site.today()), "\(clock)")
        }
      }

      private static func today() -> String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        return String(
          format: "%04d-%02d-%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
      }
    }

    /// What a member tells, how that ends, and what the log says of it.
    private typealias Story = (name: String, ends: [String], log: String)

    private func tell(_ stories: [Story], as role: String) async throws {
      try await Desk.with { desk in
        var site = try await Site(desk, role: role)
        try await site.stands("before")
        let most = site.first.memory + 64 << 10
        for (name, ends, log) in stories {
          let told = try await site.tell(name)
          #expect(ends.contains { told == "\(name) \($0)" }, "\(told)")
          #expect(site.first.logText.contains(log), "\(name): \(site.first.logText)")
          try await site.stands(name)
          #expect(site.first.memory < most, "\(name): \(site.first.memory) kB")
          #expect(site.first.threads < 60, "\(name)")
        }
        for database in ["a.db", "b.db"] {
          // No row of the member took the place of another one, and nobody's table went out.
          #expect(
            try await desk.sql(database, "SELECT count(*) FROM t WHERE id LIKE 'k%'") == "200")
          #expect(try await desk.sql(database, "SELECT count(*) FROM form") == "0")
          // Whatever ranks it claims, its rows can be written over.
          try await desk.sql(database, "UPDATE t SET v = '\(database)' WHERE id = 'k2'")
        }
        let isEqual = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", "SELECT v FROM t WHERE id = 'k2'") == "b.db"
        }
        #expect(isEqual)
        for name in ["a.db", "a.db-wal"] {
          let bytes = try desk.bytes(name)
          #expect(bytes.range(of: Data("nobody else reads this".utf8)) == nil, "\(name)")
        }
        try await site.goesOn()
      }
    }

    @Test func `a reader that lies ends no node, moves no time and changes no row`() async throws {
      try await tell(
        [
          ("held", ["open"], "connected with liar"),
          ("founding", ["bye 4"], "the time of the site that liar tells is none that can be"),
          ("wants", ["open", "closed"], "connected with liar"),
          ("addresses", ["open"], "connected with liar"),
          ("parts", ["bye 4", "closed"], "connected with liar"),
          ("crumbs", ["closed"], "connected with liar"),
          ("nothings", ["bye 4", "closed"], "connected with liar"),
          ("covers", ["open", "bye 15", "closed"], "connected with liar"),
          ("maxima", ["bye 15", "closed"], "connected with liar"),
        ], as: "reader")
    }

    @Test func `a writer that lies ends no node, and freezes, hides and stops nothing`()
      async throws
    {
      let connected = "connected with liar"
      try await tell(
        [
          ("wide", ["bye 4", "closed"], "columns is too long"), ("widening", ["open"], connected),
          ("judged", ["open"], connected), ("term", ["open"], connected),
          ("covers", ["open"], connected), ("covers-another", ["open"], connected),
          ("private", ["open"], connected), ("tables", ["open"], "cannot stand in their tables"),
          ("maxima", ["open"], connected), ("uncomputable", ["open"], connected),
          ("wants", ["open", "closed"], connected),
          ("parts", ["open", "bye 4", "closed"], connected), ("long-row", ["open"], connected),
        ], as: "writer")
    }

    @Test func `who tells each node another content is named, and verify mends it`() async throws {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        try await site.stands("before")
        _ = try await site.tell("contents")
        try await site.stands("contents")
        #expect(site.first.logText.contains("from liar came without all"), "\(site.first.logText)")
        let shown = "SELECT v FROM t WHERE id = 'twice'"
        let verified = try await desk.flotilla("verify", "a.db")
        if try await desk.sql("a.db", shown) != desk.sql("b.db", shown) {
          #expect(verified.output.contains("show them differently"), "\(verified)")
        }
        for database in ["a.db", "b.db"] {
          _ = try await desk.flotilla("verify", database, "--repair")
        }
        let areEqual = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", shown) == desk.sql("b.db", shown)
        }
        #expect(areEqual, "\(verified)")
        try await site.goesOn()
      }
    }

    /// Each change of the shape that leads ended all connections, and edits waited for new ones.
    @Test func `who has two shapes of a key lead by turns ends no connections of others`()
      async throws
    {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        try await site.stands("before")
        func connections() -> Int {
          site.first.logText.matches(of: /connected with second/).count
        }
        let before = connections()
        let told = try await site.tell("shapes")
        let cuts = try #require(told.split(separator: " ").last.flatMap { Int($0) }, "\(told)")
        // Once as another key is heard of for the first time.
        #expect(cuts <= 2 && connections() - before <= 2, "\(told) \(site.first.logText)")
        try await site.stands("shapes")
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "SELECT count(*) FROM t WHERE id = 'k 49'") == "1")
        }
        try await site.goesOn()
      }
    }

    /// A program writes beside a row of 60 MB whose hash nothing gives.
    @Test func `who sends a row of 60 MB holds a program up for no seconds`() async throws {
      try await Desk.with { desk in
        let site = try await Site(desk, role: "writer")
        async let told = site.tell("long-row")
        var longest = Duration.zero
        for number in 0..<100 {
          let before = ContinuousClock.now
          try await desk.sql("a.db", "INSERT INTO t VALUES ('beside \(number)', 'x')")
          longest = max(longest, before.duration(to: .now))
        }
        #expect(try await told == "long-row open")
        #expect(longest < .seconds(4), "\(longest)")
        #expect(
          try await desk.sql("a.db", "SELECT length(v) FROM t WHERE id = 'long'") == "60000000")
      }
    }

    /// 20,000 rows each time would be 60 ms of a core, and edits of others wait for them.
    @Test func `a reader that comes back for everything is sent it three times more`()
      async throws
    {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "reader", rows: 20_000)
        try await site.stands("before")
        #expect(try await site.tell("visits") == "visits ++++----")
        try await site.stands("visits")
        try await site.goesOn()
      }
    }

    @Test func `who is cut off again and again in a long exchange goes on where it was`()
      async throws
    {
      try await Desk.with { desk in
        let site = try await Site(desk, role: "reader", rows: 60_000)
        #expect(try await site.tell("cuts") == "cuts ++++++++")
      }
    }

    /// The node that has not heard of a revocation sees nobody but who was shut out. The site key
    /// comes on a stick.
    @Test func `a revocation comes on a stick to whom the revoked one has parted`() async throws {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        try await site.stands("before")
        let address = site.first.address
        for database in ["a.db", "b.db"] { try await desk.succeed("stop", database) }
        try await desk.succeed("revoke", "a.db", "liar")
        let second = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", address)
        // Nobody has told it.
        #expect(try await site.tell("private", to: second.port) == "private open")
        try await desk.succeed("export-site-key", "a.db", "stick.txt")
        try await desk.succeed("import-site-key", "b.db", "stick.txt")
        try await desk.succeed("revoke", "b.db", "liar")
        #expect(try await site.tell("private", to: second.port) == "private closed")
        site.first = try await desk.start("a.db", "--listen", address)
        try await site.stands("met again", beside: second)
        #expect(try await site.tell("private") == "private closed")
      }
    }

    @Test func `a row that a trigger could not take in is told of until the trigger is made anew`()
      async throws
    {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        try await desk.sql(
          "b.db",
          """
          CREATE TABLE words(id, w); CREATE TRIGGER keep AFTER INSERT ON t BEGIN
            INSERT INTO words VALUES (new.id, json_extract(new.v, '$.w')); END
          """)
        try await desk.sql("a.db", "INSERT INTO t VALUES ('k0', 'no JSON')")
        let hasCome = try await eventually(within: .seconds(20)) {
          try await desk.sql("b.db", "SELECT count(*) FROM t WHERE id = 'k0'") == "1"
        }
        #expect(hasCome)
        let text = "what it keeps is stale here"
        let running = try await desk.flotilla("status", "b.db")
        #expect(running.error.contains(text), "\(running)")
        try await desk.succeed("stop", "b.db")
        for command in ["status", "doctor"] {
          let told = try await desk.flotilla(command, "b.db")
          #expect((told.output + told.error).contains(text), "\(told)")
        }
        try await desk.sql(
          "b.db",
          """
          DROP TRIGGER keep;
          CREATE TRIGGER keep_words AFTER INSERT ON t WHEN json_valid(new.v) BEGIN
            INSERT INTO words VALUES (new.id, json_extract(new.v, '$.w')); END
          """)
        let second = try await desk.start("b.db", "--peer", site.first.address)
        try await site.stands("started again", beside: second)
        let told = try await desk.flotilla("status", "b.db")
        #expect(!told.error.contains(text), "\(told)")
      }
    }

    @Test func `who connects again and again fills no log`() async throws {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "reader")
        let before = site.first.logText.utf8.count
        for _ in 0..<3 {
          let told = try await desk.run(
            ["python3", "\(Desk.fixtures)/fake-peer.py", "\(site.first.port)", "all"]
              + [desk.path("liar.db")], within: 120)
          #expect(told.status == 0, "\(told)")
        }
        #expect(site.first.logText.utf8.count - before < 30_000)
        try await site.goesOn()
      }
    }

    @Test func `who joins under a longest name, as another one has, parts nobody`()
      async throws
    {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        for database in ["c.db", "d.db"] {
          let code = try await desk.succeed("invite", "a.db")
          try await desk.succeed(
            "join", database, code, "--at", site.first.address, "--name",
            String(repeating: "n", count: 128))
        }
        try await site.stands("joined")
        for database in ["c.db", "d.db"] {
          try await desk.succeed("sync", database, site.first.address)
        }
        try await site.goesOn()
      }
    }

    /// 512 KiB is the longest text of SQL that a member tells.
    @Test func `who joins where a view is longer than a frame gets all but that`() async throws {
      try await Desk.with { desk in
        var site = try await Site(desk, role: "writer")
        let words = String(repeating: "x", count: 1_200_000)
        try desk.write("view.sql", Data("CREATE VIEW long AS SELECT '\(words)' AS w;".utf8))
        _ = try await desk.run("sh", "-c", "sqlite3 a.db < view.sql")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--at", site.first.address)
        #expect(try await desk.sql("c.db", "SELECT count(*) FROM t WHERE id LIKE 'k%'") == "200")
        #expect(
          try await desk.sql("c.db", "SELECT count(*) FROM sqlite_schema WHERE name = 'long'")
            == "0")
        try await site.goesOn()
      }
    }
  }
}
