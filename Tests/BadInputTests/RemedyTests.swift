import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// What a person is told who has done something by mistake, and what it says to do works.
  @Suite struct RemedyTests {
    @Test func `a dropped journal is named by every command, and doctor makes it anew`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        try await desk.sql("b.db", "DROP TABLE _flotilla_journal")
        for words in [
          ["status"], ["sync"], ["wait"], ["run"], ["run", "--background"], ["leave"],
          ["track", "t"], ["sql", "UPDATE t SET v = 'x' WHERE id = 'k1'"],
        ] {
          let outcome = try await desk.run(
            ["flotilla", words[0], "b.db"] + words.dropFirst(), within: 20)
          #expect(outcome.status == 1, "\(words): \(outcome)")
          #expect(outcome.error.contains("the table _flotilla_journal is missing"), "\(words)")
          #expect(outcome.error.contains("flotilla doctor b.db --repair"), "\(words)")
        }
        try await desk.succeed("doctor", "b.db", "--repair")
        try await desk.succeed("sql", "b.db", "UPDATE t SET v = 'x' WHERE id = 'k1'")
        try await desk.succeed("sync", "b.db", node.address)
        #expect(try await desk.sql("a.db", "SELECT v FROM t WHERE id = 'k1'") == "x")

        try await desk.sql("b.db", "DROP TABLE _flotilla_journal")
        try await desk.succeed("leave", "b.db", "--force")
        let left = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%flotilla%'"
        #expect(try await desk.sql("b.db", left) == "0")
      }
    }

    @Test func `a running node without its journal says so, too`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await desk.sql("a.db", "DROP TABLE _flotilla_journal")
        let status = try await desk.flotilla("status", "a.db", within: 20)
        #expect(status.error.contains("flotilla stop a.db"), "\(status)")
        #expect(try await desk.flotilla("doctor", "a.db", "--repair").status == 1)
        try await desk.succeed("stop", "a.db")
        try await desk.succeed("doctor", "a.db", "--repair")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        #expect(try await desk.flotilla("status", "a.db").status == 0)
      }
    }

    @Test func `a node runs and its file is no replica any more: it can be stopped`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await desk.sql("a.db", "DROP TABLE _flotilla_meta")
        let stop = try await desk.flotilla("stop", "a.db", within: 20)
        #expect(stop.status == 0, "\(stop)")
        #expect(try await node.ends())
      }
    }

    @Test func `doctor counts rows that are parked or were replaced`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT UNIQUE, w);
          CREATE TABLE extra(id TEXT PRIMARY KEY NOT NULL);
          INSERT INTO t VALUES ('1', 'one', 1), ('2', 'two', 2); INSERT INTO extra VALUES ('e');
          """)
        try await desk.sql(
          "b.db",
          """
          CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT UNIQUE);
          INSERT INTO t VALUES ('1', 'mine'), ('3', 'two');
          """)
        try await desk.succeed("init", "a.db", "--all", "--name", "a")
        #expect(try await desk.succeed("doctor", "a.db").contains("no row is parked"))
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "b")
        try await desk.sql("b.db", "DROP TABLE extra")
        try await desk.sql("a.db", "INSERT INTO extra VALUES ('f')")
        try await desk.succeed("sync", "b.db", node.address)
        let report = try await desk.succeed("doctor", "b.db")
        for words in [
          "1 row of t parked: not allowed by a constraint",
          "of t with values for columns that are not here",
          "extra is not here, and ", "1 row of t lost against another edit",
        ] {
          #expect(report.contains(words), "\(words): \(report)")
        }
      }
    }

    @Test func `values for a dropped column are named, and let go of on a person's word`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        try await desk.sql("b.db", "ALTER TABLE t DROP COLUMN v")
        try await desk.sql("a.db", "ALTER TABLE t ADD COLUMN \"new one\"")
        try await desk.sql("a.db", "UPDATE t SET v = 'x' WHERE id = 'k1'")
        try await desk.sql("a.db", "UPDATE t SET \"new one\" = 1 WHERE id = 'k2'")
        try await desk.succeed("sync", "b.db", node.address)
        let report = try await desk.succeed("doctor", "b.db")
        let dropped = "2 rows of t with values for columns that were dropped here: \"v\""
        let missing = "1 row of t with values for columns that are not here: \"new one\""
        #expect(report.contains(dropped) && report.contains(missing), "\(report)")
        let frontier = try await desk.sql("b.db", "SELECT * FROM _flotilla_origin ORDER BY 1")
        // No repair throws away what somebody may want.
        #expect(try await desk.succeed("doctor", "b.db", "--repair").contains(dropped))
        let shown = try await desk.succeed("schema", "b.db", "--let-go", "t", "v")
        #expect(shown.contains("new one") && !shown.contains("dropped"), "\(shown)")
        let repair = try await desk.succeed("doctor", "b.db")
        #expect(!repair.contains(dropped) && repair.contains(missing), "\(repair)")
        try await desk.succeed("sync", "b.db", node.address)
        #expect(
          try await desk.sql("b.db", "SELECT * FROM _flotilla_origin ORDER BY 1") == frontier)
        let content = "SELECT v, \"new one\" FROM t ORDER BY id LIMIT 2"
        #expect(
          try await desk.sql("a.db", content) == "x|\nvalue of row 2"
            + String(
              repeating: "0", count: 40) + "|1")
      }
    }

    @Test func `rows of a table that was dropped and created in one go come back`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        let rows = "SELECT * FROM t ORDER BY id"
        let before = try await desk.sql("a.db", rows)
        let definition = try await desk.sql(
          "b.db", "SELECT sql FROM sqlite_schema WHERE name = 't'")
        try await desk.sql("b.db", "BEGIN; DROP TABLE t; \(definition); COMMIT")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        let areBack = try await eventually(within: .seconds(30)) {
          try await desk.sql("b.db", rows) == before
        }
        #expect(areBack)
        #expect(try await desk.sql("a.db", rows) == before)
        // An edit of one of them goes on from what it was.
        try await desk.sql("b.db", "UPDATE t SET v = 'later' WHERE id = 'k2'")
        try await desk.succeed("wait", "b.db")
        #expect(try await desk.sql("a.db", rows) == desk.sql("b.db", rows))
        #expect(try await desk.sql("a.db", "SELECT count(*) FROM t") == "3")
        #expect(try await desk.succeed("conflicts", "a.db") == "no conflicts")
      }
    }

    @Test func `a table that was renamed and rewritten in one go is named by its owner`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        try await desk.sql(
          "b.db",
          """
          CREATE TABLE word(id TEXT PRIMARY KEY NOT NULL, v BLOB, w);
          INSERT INTO word SELECT id, 'new ' || v, 1 FROM t; DROP TABLE t
          """)
        try await desk.sql("a.db", "UPDATE t SET v = 'later' WHERE id = 'k1'")
        try await desk.succeed("sync", "b.db", node.address)
        let status = try await desk.flotilla("status", "b.db")
        #expect("\(status)".contains("--map t=NEW"), "\(status)")
        for (words, wanted) in [
          (["nobody=word"], "no table \"nobody\""), (["t=nobody"], "no table \"nobody\""),
          (["t="], "OLD=NEW"), (["t=word", "x=y"], "No tracked table is here."),
        ] {
          let refused = try await desk.run(["flotilla", "schema", "b.db", "--map"] + words)
          #expect(refused.status != 0 && refused.error.contains(wanted), "\(refused)")
        }
        let done = try await desk.succeed("schema", "b.db", "--map", "t=word")
        #expect(done.contains("word") && done.contains("t at the site"), "\(done)")
        let again = try await desk.flotilla("schema", "b.db", "--map", "t=word")
        #expect(again.error.contains("is called \"word\" here already"), "\(again)")
        try await desk.succeed("sync", "b.db", node.address)
        let (here, there) = (
          try await desk.sql("b.db", "SELECT id, v FROM word ORDER BY id"),
          try await desk.sql("a.db", "SELECT id, v FROM t ORDER BY id")
        )
        #expect(here == there && here.contains("k1|later") && here.contains("k2|new "), "\(here)")
      }
    }

    @Test func `a mistyped name of a database or a table is told`() async throws {
      try await Desk.with { desk in
        let made = try await desk.flotilla("init", "clinci.db")
        #expect(made.status == 0)
        #expect(made.error.contains("there was no file clinci.db, so a new, empty database"))
        try await desk.make("clinic.db")
        let known = try await desk.flotilla("init", "clinic.db")
        #expect(!known.error.contains("there was no file"), "\(known)")
        #expect(known.error.hasSuffix("flotilla export-site-key clinic.db FILE"), "\(known)")
        try await desk.sql("clinic.db", "CREATE TABLE patient(id TEXT PRIMARY KEY NOT NULL)")
        try await desk.succeed("track", "clinic.db", "patient")
        for command in ["rule", "untrack"] {
          let outcome = try await desk.flotilla(command, "clinic.db", "patinet")
          #expect(outcome.error.contains(#"Did you mean "patient"?"#), "\(outcome)")
        }
        let other = try await desk.flotilla("rule", "clinic.db", "t")
        #expect(other.error.contains("flotilla track \(desk.folder)/clinic.db t"), "\(other)")
        let untracked = try await desk.succeed("untrack", "clinic.db", "patient")
        #expect(untracked == "no longer replicating patient; the rows stay where they are")
      }
    }

    @Test func `what many tables share is warned of once`() async throws {
      try await Desk.with { desk in
        let tables = (1...6).map { "CREATE TABLE t\($0)(id INTEGER PRIMARY KEY AUTOINCREMENT);" }
        try await desk.sql("x.db", tables.joined() + "CREATE TABLE u(id TEXT PRIMARY KEY)")
        let outcome = try await desk.flotilla("init", "x.db", "--all")
        let lines = outcome.error.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("warning: ") } == 2, "\(outcome)")
        #expect(lines[0].hasPrefix(#"warning: "t1", "t2", "t3", "t4" and 2 more have an integer"#))
        #expect(lines[1].contains("and 2 more use AUTOINCREMENT"))
        #expect(!outcome.error.contains("NULL"), "no key of u is NULL")
        let one = try await desk.flotilla("sql", "x.db", " create table v(a)")
        #expect(one.error.contains("the schema is not replicated"))
        let own = try await desk.flotilla("sql", "x.db", "DROP TABLE _Flotilla_meta")
        #expect(own.status == 1 && own.error.contains("belongs to Flotilla"), "\(own)")
        let null = try await desk.flotilla("sql", "x.db", "INSERT INTO u VALUES (NULL)")
        #expect(null.output == "u:\nnot replicated, for NULL in the key: id = NULL", "\(null)")
        let text = try await desk.flotilla("sql", "x.db", "INSERT INTO u VALUES ('_flotilla_')")
        #expect(text.status == 0, "\(text)")
      }
    }

    @Test func `a node that leaves sends what nobody has, if anybody is in reach`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.sql("b.db", "UPDATE t SET v = 'late' WHERE id IN ('k1', 'k2')")
        node.signal(SIGTERM)
        #expect(try await node.ends())
        let alone = try await desk.flotilla("leave", "b.db")
        #expect(alone.status == 1)
        #expect(alone.error.contains("2 rows changed here reached no other node"), "\(alone)")
        _ = try await desk.start("a.db", "--listen", node.address)
        let left = try await desk.flotilla("leave", "b.db")
        #expect(left.status == 0, "\(left)")
        #expect(!left.error.contains("no other node was in reach"), "\(left)")
        #expect(try await desk.sql("a.db", "SELECT count(*) FROM t WHERE v = 'late'") == "2")
      }
    }

    @Test func `a node that leaves with nobody in reach says who does not know`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        node.signal(SIGTERM)
        #expect(try await node.ends())
        let left = try await desk.flotilla("leave", "b.db", "--json")
        #expect(left.status == 0, "\(left)")
        #expect(left.error.contains("no other node was in reach; on first, take it off the list"))
        #expect(left.error.contains("flotilla revoke DB second"), "\(left)")
        #expect(left.output.contains(#""told":[],"unsent_rows":0,"untold":["first"]"#), "\(left)")
        // And so it is done.
        try await desk.succeed("revoke", "a.db", "second")
        // Who never had company has nobody to tell.
        let alone = try await desk.flotilla("leave", "a.db")
        #expect(
          alone.status == 0 && !alone.error.contains("no other node was in reach"), "\(alone)")
      }
    }

    @Test func `a node that hangs is told within seconds, with its process`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        node.signal(SIGSTOP)
        let status = try await desk.flotilla("status", "a.db", within: 20)
        let sync = try await desk.flotilla("sync", "a.db", "--timeout", "2s", within: 20)
        node.signal(SIGCONT)
        #expect(status.status == 1, "\(status)")
        #expect(
          status.error.contains("(process \(node.process)) has not answered for 10 s"), "\(status)")
        #expect(sync.status == 1 && sync.error.contains("has not answered for 3 s"), "\(sync)")
        #expect(try await desk.flotilla("status", "a.db").status == 0)
      }
    }

    @Test func `a second invitation is served by the process that serves the first`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db", rows: 5)
        try await desk.succeed("init", "a.db", "--all", "--name", "a")
        let script = "flotilla invite a.db >first 2>said & echo $!"
        _ = try await desk.run("sh", "-c", script)
        let port = try await desk.port(in: "said")
        let first = try String(contentsOfFile: desk.path("first"), encoding: .utf8)
        let second = try await desk.flotilla("invite", "a.db")
        #expect(second.status == 0)
        #expect(
          second.error.contains(/--at [0-9.]+:\d+/) && second.error.contains(":\(port)"),
          "\(second)")
        let isTold = try await eventually(within: .seconds(10)) {
          try String(contentsOfFile: desk.path("said"), encoding: .utf8)
            .contains("serving 2 invitations now")
        }
        #expect(isTold)
        for (name, code) in [("b.db", first), ("c.db", second.output)] {
          let words = ["join", name, code.trimmingCharacters(in: .whitespacesAndNewlines)]
          let joined = try await desk.run(
            ["flotilla"] + words + ["--at", "127.0.0.1:\(port)", "--name", name])
          #expect(joined.status == 0, "\(joined)")
        }
        let ended = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "a.db").error.contains("no node runs")
        }
        #expect(ended)
        let said = try String(contentsOfFile: desk.path("said"), encoding: .utf8)
        #expect(said.contains(#/\nc\.db joined · words: [a-z]+( [a-z]+){3}\n$/#), "\(said)")
      }
    }
  }
}

extension Desk {
  /// The port that a process said in a file that it serves on.
  fileprivate func port(in name: String) async throws -> Int {
    var port: Int?
    _ = try await eventually(within: .seconds(20)) {
      let text = (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? ""
      port = text.firstMatch(of: /on port (\d+)/).flatMap { Int($0.1) }
      return port != nil
    }
    return try #require(port)
  }
}
