import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Migrations that each machine makes by itself, and tables that only have a name in common.
  @Suite struct BookTests {
    static let django =
      "CREATE TABLE django_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT, name TEXT);"

    /// What `migrate` does: looks into the book, makes what is missing, notes it.
    static func migrate(_ name: String, _ statements: String) -> String {
      "BEGIN IMMEDIATE; \(statements); "
        + "INSERT INTO django_migrations(app, name) VALUES ('clinic', '\(name)'); COMMIT;"
    }

    static let visit = "CREATE TABLE visit(id TEXT PRIMARY KEY NOT NULL, note TEXT)"

    @Test func `each machine migrates by itself, and what it makes is replicated`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db", rows: 2)
        try await desk.sql("a.db", Self.django + Self.migrate("0001", "SELECT 1"))
        let made = try await desk.flotilla("init", "a.db", "--all", "--name", "first")
        #expect(made.error.contains("django_migrations was left out"), "\(made)")
        #expect(made.error.contains("flotilla track \(desk.folder)/a.db django_migrations"))
        let a = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", a.address, "--name", "second")
        // Who got the tables has the migrations that made them.
        let book = "SELECT group_concat(name) FROM django_migrations"
        #expect(try await desk.sql("b.db", book) == "0001")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", a.address)

        try await desk.sql("a.db", Self.migrate("0002", Self.visit))
        try await desk.sql("a.db", "INSERT INTO visit VALUES ('v1', 'of a')")
        let listed = try await eventually(within: .seconds(60)) {
          try await desk.succeed("track", "b.db").contains("visit              missing")
        }
        #expect(listed)
        #expect(try await desk.sql("b.db", book) == "0001", "b has not migrated")
        try await desk.sql("b.db", Self.migrate("0002", Self.visit))
        let all = "SELECT group_concat(id) FROM (SELECT id FROM visit ORDER BY id)"
        #expect(
          try await eventually(within: .seconds(60)) { try await desk.sql("b.db", all) == "v1" })
        try await desk.sql("b.db", "INSERT INTO visit VALUES ('v2', 'of b')")
        #expect(
          try await eventually(within: .seconds(60)) { try await desk.sql("a.db", all) == "v1,v2" })
        for name in ["a.db", "b.db"] { #expect(try await desk.sql(name, book) == "0001,0002") }
      }
    }

    @Test func `the book that somebody names is replicated, with a warning`() async throws {
      try await Desk.with { desk in
        try await desk.sql("a.db", Self.django)
        try await desk.succeed("init", "a.db")
        let named = try await desk.flotilla("track", "a.db", "django_migrations")
        #expect(named.status == 0 && named.error.contains("is the book of a migration tool"))
        #expect(try await desk.succeed("track", "a.db").contains("django_migrations  replicated"))
        #expect(
          try await desk.succeed("track", "a.db")
            .hasSuffix("new tables are not replicated by themselves"))
      }
    }

    @Test func `views, virtual tables and tables without a key are listed with the reason`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.sql(
          "a.db",
          """
          CREATE VIEW seen AS SELECT id FROM t; CREATE TABLE t_content(id TEXT PRIMARY KEY);
          CREATE VIRTUAL TABLE words USING FTS5(v, content='t');
          """)
        try await desk.succeed("init", "a.db", "--track", "t")
        let text = try await desk.succeed("track", "a.db")
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(
          lines.compactMap(\.first) == ["TABLE", "nokey", "seen", "t", "t_content", "words", "new"])
        #expect(text.contains(#"nokey      not replicated  table "nokey" has no PRIMARY KEY"#))
        #expect(text.contains("seen       not replicated  a view: it shows what tables hold"))
        #expect(text.contains("words      not replicated  a virtual table (fts5): each node"))
        let json = try await desk.succeed("track", "a.db", "--json")
        #expect(json.contains(#""kind":"view""#) && json.contains(#""kind":"virtual""#), "\(json)")
        // A view is no table whose conflicts could be meant, nor one to choose.
        let asked = try await desk.flotilla("conflicts", "a.db", "--table", "seen")
        #expect(asked.status == 1, "\(asked)")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        #expect(try await desk.succeed("track", "a.db") == text)
        _ = node
      }
    }

    @Test func `new tables are told of, and left alone where that was said`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.sql(
          "a.db", Self.visit + "; CREATE TABLE new__t(id TEXT PRIMARY KEY); CREATE TABLE k(a)")
        let status = try await desk.flotilla("status", "a.db")
        #expect(status.error.contains(#"the table "visit" is new: it is replicated once a node"#))
        #expect(status.error.contains(#""new__t" is new and not replicated, for its name says"#))
        #expect(status.error.contains(#"the table "k" is new and not replicated: table "k" has"#))
        let json = try await desk.succeed("status", "a.db", "--json")
        #expect(json.contains(#""new_tables":["k","new__t","visit"]"#), "\(json)")
        #expect(json.contains(#""takes_new_tables":true"#))
        let doctor = try await desk.succeed("doctor", "a.db")
        #expect(doctor.contains("the table visit is new, and is not replicated yet"), "\(doctor)")
        #expect(doctor.contains("not replicated: nokey (flotilla track"))
        // It says what to do instead of a command that is refused.
        #expect(doctor.contains("new__t is new, and is not replicated: its name says"), "\(doctor)")
        #expect(doctor.contains(#"k is new, and is not replicated: table "k" has no PRIMARY KEY"#))
        #expect(!doctor.contains("flotilla track a.db k"), "\(doctor)")
        // What is there when a node starts has come to stay.
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let isTaken = try await eventually(within: .seconds(60)) {
          node.logText.contains("replicating new tables from now on: visit")
        }
        #expect(isTaken)
        try await desk.succeed("untrack", "a.db", "visit")
        try await desk.succeed("untrack", "a.db", "--new")
        try await desk.sql("a.db", "CREATE TABLE later(id TEXT PRIMARY KEY)")
        let list = try await desk.succeed("track", "a.db")
        #expect(list.contains("later   not replicated") && list.contains("visit   not replicated"))
        #expect(try await !desk.flotilla("status", "a.db").error.contains("later"))
        try await desk.succeed("track", "a.db", "--new")
        #expect(
          try await desk.succeed("track", "a.db", "--json").contains(#""takes_new_tables":true"#))
        for words in [["--new", "t"], ["--all", "--new"], ["--rule", "server-wins"]] {
          #expect(try await desk.run(["flotilla", "track", "a.db"] + words).status == 2)
        }
        #expect(try await desk.flotilla("untrack", "a.db", "--here").status == 2)
      }
    }

    /// What was renamed is the site's table still.
    @Test func `a new table under the name of an archived one is told how to get in`() async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.sql(
          "a.db",
          "BEGIN; ALTER TABLE t RENAME TO t2025; CREATE TABLE t(id TEXT PRIMARY KEY, v); COMMIT")
        _ = try await desk.flotilla("status", "a.db")
        let refused = try await desk.flotilla("track", "a.db", "t")
        #expect(refused.error.contains("Give this one another name"), "\(refused)")
        let doctor = try await desk.succeed("doctor", "a.db")
        #expect(doctor.contains("Give this one another name: ALTER TABLE"), "\(doctor)")
        #expect(!doctor.contains("flotilla track a.db t"), "\(doctor)")
      }
    }

    @Test func `a table with a name that another one tracks is asked about`() async throws {
      try await Desk.with { desk in
        let a = try await desk.pair("a.db", "b.db", rows: 2)
        try await desk.succeed("untrack", "a.db", "--new")
        try await desk.succeed("sync", "b.db", a.address)
        try await desk.sql("b.db", Self.visit + "; INSERT INTO visit VALUES ('s', 'secret')")
        try await desk.sql("a.db", Self.visit + "; INSERT INTO visit VALUES ('v', 'of a')")
        try await desk.succeed("track", "a.db", "visit")
        try await desk.succeed("sync", "b.db", a.address)
        let status = try await desk.flotilla("status", "b.db")
        #expect(status.error.contains(#"first tracks a table "visit""#), "\(status)")
        #expect(status.error.contains("with 1 row: none is sent or changed, and 1 row waits"))
        let json = try await desk.flotilla("status", "b.db", "--json").output
        #expect(
          json.contains(#""asked_tables":[{"by":"first","rows":1,"table":"visit","waiting":1}]"#),
          "\(json)")
        #expect(try await desk.succeed("doctor", "b.db").contains("tracks a table visit"))
        #expect(try await desk.sql("a.db", "SELECT group_concat(id) FROM visit") == "v")
        #expect(try await desk.sql("b.db", "SELECT group_concat(id) FROM visit") == "s")
        try await desk.succeed("untrack", "b.db", "visit", "--here")
        #expect(try await !desk.flotilla("status", "b.db").error.contains("visit"))
        #expect(try await desk.succeed("track", "b.db").contains("visit  declined"))
        let all = try await desk.flotilla("track", "b.db", "--all")
        #expect(all.error.contains("visit was left out: it was declined on this machine"))
        let tracked = try await desk.flotilla("untrack", "b.db", "t", "--here")
        #expect(tracked.status == 1 && tracked.error.contains("t is replicated here already"))

        try await desk.succeed("track", "b.db", "visit")
        try await desk.succeed("sync", "b.db", a.address)
        let ids = "SELECT group_concat(id) FROM (SELECT id FROM visit ORDER BY id)"
        for name in ["a.db", "b.db"] { #expect(try await desk.sql(name, ids) == "s,v") }
      }
    }
  }
}
