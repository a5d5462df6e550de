import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Commands in the wrong order, on the wrong file, or on a set-up that has come apart.
  @Suite struct SetupTests {
    static let commands = [
      ["status"], ["track", "t"], ["untrack", "t"], ["rule"], ["sync"], ["wait"], ["invite"],
      ["stop"], ["leave"], ["peers"], ["run"], ["run", "--background"], ["sql", "SELECT 1"],
      ["doctor"],
    ]

    @Test(arguments: commands)
    func `a database that is no replica is told so`(_ words: [String]) async throws {
      try await Desk.with { desk in
        try await desk.make("x.db")
        let before = try desk.bytes("x.db")
        let outcome = try await desk.run(["flotilla", words[0], "x.db"] + words.dropFirst())
        #expect(outcome.status == 1)
        #expect((outcome.error + outcome.output).contains("x.db is not a replica yet"))
        #expect((outcome.error + outcome.output).contains("flotilla init x.db"))
        #expect(try desk.bytes("x.db") == before)
        #expect(try desk.names("x.db") == ["x.db"])
      }
    }

    @Test func `a second init or join changes nothing`() async throws {
      try await Desk.with { desk in
        let database = "my data.db"
        try await desk.make(database)
        try await desk.succeed("init", database, "--site", "S", "--name", "n")
        let look = "SELECT * FROM sqlite_schema; SELECT * FROM _flotilla_meta"
        let before = try await desk.sql(database, look)
        let record = try desk.bytes(database + "-flotilla/node.json")
        for words in [
          ["init", database, "--all", "--site", "T"],
          ["join", database, "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R", "--at", "127.0.0.1:9"],
        ] {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == 1)
          #expect(outcome.error.contains(#"node n of the site "S""#))
          #expect(outcome.error.contains("flotilla track 'my data.db'"))
          #expect(outcome.error.contains("flotilla leave 'my data.db'"))
          #expect(try await desk.sql(database, look) == before)
          #expect(try desk.bytes(database + "-flotilla/node.json") == record)
        }
      }
    }

    @Test func `tables that cannot be tracked are refused, with a reason`() async throws {
      try await Desk.with { desk in
        try await desk.make("x.db")
        try await desk.sql(
          "x.db",
          #"CREATE VIEW vv AS SELECT 1; CREATE VIRTUAL TABLE ft USING fts5(a);"#
            + #"CREATE TABLE "we""ird na'me"(id TEXT PRIMARY KEY NOT NULL)"#)
        let refused = try await desk.flotilla("init", "x.db", "--track", "t,nokey")
        #expect(refused.status == 1)
        #expect(try desk.names("x.db") == ["x.db"])
        try await desk.succeed("init", "x.db")
        for (words, why) in [
          (["track", "nokey"], "has no PRIMARY KEY"), (["track", "vv"], "is a view"),
          (["track", "ft"], "is a virtual table"), (["track", "ft_data"], "part of the virtual"),
          (["track", "tt"], "Did you mean \"t\"?"), (["track", "t", "nokey"], "no PRIMARY KEY"),
          (["track", "_flotilla_meta"], "belongs to SQLite or to Flotilla"),
          (["untrack", "zz"], "zz is not tracked"), (["rule", "zz"], "zz is not tracked"),
        ] {
          let outcome = try await desk.run(["flotilla", words[0], "x.db"] + words.dropFirst())
          #expect(outcome.status == 1, "\(words)")
          #expect(outcome.error.contains(why), "\(words): \(outcome)")
        }
        #expect(try await desk.sql("x.db", "SELECT count(*) FROM _flotilla_table") == "0")
        for _ in 1...2 { try await desk.succeed("track", "x.db", "T", #"we"ird na'me"#) }
        #expect(try await desk.sql("x.db", "SELECT count(*) FROM _flotilla_table") == "2")
        #expect(try await desk.flotilla("rule", "x.db", "t", "silly").status == 2)
      }
    }

    @Test(arguments: [
      String(repeating: "x", count: 197) + ".db", "with space.db", "quo'te\"s.db",
      "ünï-日本.db", "run/../rel.db", "-dash.db", "deep/a/b/c/../c/x.db",
    ])
    func `a path may look like anything`(_ name: String) async throws {
      try await Desk.with { desk in
        try FileManager.default.createDirectory(
          atPath: desk.path("deep/a/b/c"), withIntermediateDirectories: true)
        try await desk.make(name)
        try await desk.succeed("init", "--all", "--", name)
        let words = ["flotilla", "run", "--background", "--no-discovery", "--", name]
        #expect(try await desk.run(words).status == 0)
        #expect(try await desk.flotilla("run", "--", name).status == 1)
        // What a remedy says can be pasted into a shell.
        let outcome = try await desk.flotilla("run", "--", name)
        let command = try #require(outcome.error.firstMatch(of: /See: (.*); stop it/)?.1)
        let pasted = try await desk.run("sh", "-c", String(command))
        #expect(pasted.status == 0)
        try await desk.succeed("stop", "--", name)
      }
    }

    @Test func `on a copy of a replica says at once what run would`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        #expect(try await desk.run("cp", "a.db", "fri.db").status == 0)
        for words in [["init", "fri.db"], ["join", "fri.db", "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R"]] {
          let said = try await desk.run(["flotilla"] + words)
          let run = try await desk.flotilla("run", "fri.db")
          #expect(said.status == 1 && said.error == run.error, "\(said) \(run)")
          #expect(!said.error.contains("starts its node"), "\(said)")
        }
      }
    }

    @Test func `what a word lacks is told with what helps`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.succeed("init", "b.db", "--site", "another")
        try await desk.succeed("export-site-key", "b.db", "b.key")
        let long = String(repeating: "n", count: 300)
        for (words, status, said) in [
          (["join", "c.db", ""], 2, "CODE: the code is empty"),
          (
            ["init", "c.db", "--name", long], 2,
            "the name \"\(long.prefix(40))…\" must have 1 to 128 bytes"
          ),
          (["init", "c.db", "--name", long], 2, "It has 300 bytes; give another one."),
          (["list", "a.db"], 1, "a.db is no folder\n  list takes folders: flotilla list "),
          (["import-site-key", "a.db", "b.key"], 1, "its first line names the site."),
          (["export-site-key", "b.db", "b.key"], 1, "b.key exists already"),
          (["export-site-key", "b.db", long], 1, "Use a shorter file name."),
          (["members", "nosuch.db", "--json"], 1, "there is no file nosuch.db"),
        ] as [([String], Int32, String)] {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == status && outcome.output == "", "\(words): \(outcome)")
          #expect(outcome.error.contains(said), "\(words): \(outcome)")
          #expect(outcome.error.utf8.count < 800, "\(words): \(outcome)")
        }
      }
    }

    @Test func `a path with control characters is wrong usage`() async throws {
      try await Desk.with { desk in
        let outcome = try await desk.flotilla("init", "new\nline.db")
        #expect(outcome.status == 2)
      }
    }

    @Test func `a database without its folder is told where that is`() async throws {
      try await Desk.with { desk in
        try await desk.make("m.db")
        try await desk.succeed("init", "m.db", "--all", "--name", "n", "--site", "S")
        mkdir(desk.path("away"), 0o755)
        rename(desk.path("m.db"), desk.path("away/n.db"))
        for command in ["status", "run", "leave", "invite"] {
          let outcome = try await desk.flotilla(command, "away/n.db")
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("was set up at \(desk.folder)/m.db"))
          #expect(
            outcome.error.contains(
              "mv \(desk.folder)/m.db-flotilla \(desk.folder)/away/n.db-flotilla"))
        }
        rename(desk.path("m.db-flotilla"), desk.path("away/n.db-flotilla"))
        #expect(try await desk.flotilla("status", "away/n.db").status == 0)

        try FileManager.default.removeItem(atPath: desk.path("away/n.db-flotilla"))
        rename(desk.path("away/n.db"), desk.path("m.db"))
        let gone = try await desk.flotilla("status", "m.db")
        #expect(gone.status == 1)
        #expect(gone.error.contains("m.db-flotilla is missing"))
        let left = try await desk.flotilla("leave", "m.db", "--force")
        #expect(left.status == 0)
        #expect(left.output.contains("n has left \"S\""))
        #expect(try await desk.sql("m.db", "PRAGMA journal_mode") == "delete")
        #expect(try await desk.sql("m.db", "SELECT count(*) FROM sqlite_schema") == "3")
      }
    }

    @Test func `a copy beside its original is no second node of that name`() async throws {
      try await Desk.with { desk in
        for name in ["a.db", "b.db"] {
          try await desk.make(name)
          try await desk.succeed("init", name, "--all")
        }
        try await desk.succeed("status", "a.db")
        for (from, to) in [("a.db", "c.db"), ("a.db-flotilla", "c.db-flotilla")] {
          try FileManager.default.copyItem(atPath: desk.path(from), toPath: desk.path(to))
        }
        let copy = try await desk.flotilla("run", "c.db", "--no-discovery", within: 5)
        #expect(copy.status == 1)
        #expect(copy.error.contains("c.db is a copy of \(desk.folder)/a.db"))
        try await desk.succeed("leave", "c.db", "--force")
        #expect(try await desk.flotilla("status", "a.db").status == 0)

        try FileManager.default.removeItem(atPath: desk.path("b.db-flotilla"))
        try FileManager.default.copyItem(
          atPath: desk.path("a.db-flotilla"), toPath: desk.path("b.db-flotilla"))
        let foreign = try await desk.flotilla("run", "b.db")
        #expect(foreign.status == 1)
        #expect(foreign.error.contains("b.db-flotilla belongs to another copy"))
      }
    }

    @Test func `a folder that others can read is found and put right`() async throws {
      try await Desk.with { desk in
        try await desk.succeed("init", "a.db")
        chmod(desk.path("a.db-flotilla"), 0o755)
        let before = try await desk.flotilla("doctor", "a.db")
        #expect(before.status == 1)
        #expect(before.output.contains("chmod 700 \(desk.folder)/a.db-flotilla"))
        #expect(try await desk.flotilla("doctor", "a.db", "--repair").status == 0)
        #expect(try await desk.flotilla("doctor", "a.db").status == 0)
      }
    }

    @Test func `a file of a newer format is refused untouched`() async throws {
      try await Desk.with { desk in
        try await desk.make("n.db")
        try await desk.succeed("init", "n.db", "--all")
        try await desk.sql("n.db", "UPDATE _flotilla_meta SET value = 99 WHERE name = 'format'")
        let before = try desk.bytes("n.db")
        for words in Self.commands + [["leave", "--force"], ["doctor", "--repair"], ["init"]]
        where words[0] != "sql" {
          let outcome = try await desk.run(["flotilla", words[0], "n.db"] + words.dropFirst())
          #expect(outcome.status == 1, "\(words)")
          if !["stop", "init"].contains(words[0]) {
            #expect((outcome.error + outcome.output).contains("by a newer Flotilla (format 99)"))
          }
          #expect(try desk.bytes("n.db") == before, "\(words)")
        }
      }
    }
  }
}
