import Foundation
import Testing

extension BadInputTests {
  /// What a person is told of the state of a node: text, log and exit status say the same.
  @Suite struct StateTextTests {
    @Test func `a table that was dropped on one machine is named where sync is not complete`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 3)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        #expect(
          try await eventually(within: .seconds(20)) {
            try await desk.flotilla("status", "b.db").status == 0
          })
        try await desk.sql("b.db", "DROP TABLE t")
        #expect(
          try await eventually(within: .seconds(20)) {
            try await desk.flotilla("status", "b.db").status == 3
          })
        let status = try await desk.flotilla("status", "b.db")
        #expect(
          status.output.contains("not in sync: table t is not here on second, and 3 rows went"),
          "\(status)")
        #expect(!status.output.contains("in sync with"), "\(status)")
        let json = try await desk.flotilla("status", "b.db", "--json").output
        #expect(json.contains(#""not_in_sync":["table t is not here on second"#), "\(json)")
        // The other one holds all that it knows of.
        let other = try await desk.flotilla("status", "a.db")
        #expect(other.status == 0 && other.output.contains("in sync with 1 of 1 node"))
      }
    }

    @Test func `what cannot be done is told with what can be`() async throws {
      let cases: [(words: [String], status: Int32, said: String)] = [
        (["sync", "a.db", "nobody"], 1, "nobody is no member that this node knows"),
        (["sync", "a.db", "127.0.0.1:1"], 3, "flotilla peers a.db"),
        (["track", "a.db", "nothing"], 1, #"The tables are: "nokey", "t"."#),
        (["untrack", "a.db", "nokey"], 1, "Tracked: t"),
        (["rule", "a.db", "nokey", "newest-wins"], 1, "It cannot be: table \"nokey\" has no PRIM"),
        (["sql", "a.db", "SELECT * FROM zz"], 1, "sqlite3 a.db .schema"),
        (["sql", "a.db", "PRAGMA main.journal_mode='DELETE'"], 1, "a replica stays in WAL mode"),
        (["export-site-key", "a.db", "no/k"], 1, "cannot write no/k: "),
        (["list", "nothing"], 1, "Name a folder that is there"),
        (["token", "a.db", "add"], 2, "usage: flotilla token DB ACTION [NAME]"),
        (["conflicts", "a.db", "--set", "a=b"], 2, "conflicts a.db restore ID --set COLUMN=VALUE"),
        (["conflicts", "a.db", "--sql"], 2, "conflicts a.db show ID --sql"),
        (["conflicts", "a.db", "--keep-days", "0"], 2, "from 1 to 36500"),
        (["sync", "a.db", "nobody", "--timeout", "0"], 1, "nobody is no member"),
      ]
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--track", "t")
        for (words, status, said) in cases {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == status && outcome.error.contains(said), "\(words): \(outcome)")
          #expect(!outcome.error.contains("Create it anew") && !outcome.error.contains(".new"))
        }
      }
    }

    @Test func `a sync says where a node is sought, and of one that was shut out what helps`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 3)
        try await desk.succeed("sync", "b.db", first.address)
        try await desk.succeed("revoke", "a.db", "second")
        let other = try await desk.flotilla("sync", "b.db", "first")
        #expect(other.status == 3 && other.output.contains("shut out"), "\(other)")
        #expect(other.output.contains("flotilla leave b.db --force"), "\(other)")
        #expect(first.logText.contains(" second has paired\n"), "\(first.logText)")
      }
    }

    @Test func `rows that come for a table which is not here are counted in the log`() async throws
    {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 1)
        let second = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await desk.sql("a.db", "CREATE TABLE late(id TEXT PRIMARY KEY NOT NULL, v)")
        try await desk.succeed("track", "a.db", "late")
        for number in 1...5 {
          try await desk.sql("a.db", "INSERT INTO late VALUES ('x\(number)', 7)")
          #expect(
            try await eventually(within: .seconds(20)) {
              try await desk.flotilla("status", "b.db").output.contains("\(number) parked")
            })
        }
        #expect(second.logText.matches(of: /cannot stand in/).count == 1, "\(second.logText)")
      }
    }

    @Test func `a statement finds the rows that waited for a table made just before`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 1)
        let schema = "CREATE TABLE late(id TEXT PRIMARY KEY NOT NULL, v)"
        try await desk.sql("a.db", schema)
        try await desk.succeed("track", "a.db", "late")
        try await desk.succeed("sql", "a.db", "INSERT INTO late VALUES ('x', 7), ('y', 8)")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.sql("b.db", schema)
        let written = try await desk.succeed("sql", "b.db", "UPDATE late SET v = 9 WHERE id = 'y'")
        #expect(written.contains("late:"), "\(written)")
        let rows = try await desk.succeed("sql", "b.db", "SELECT group_concat(v) FROM late")
        #expect(rows.contains("7,9"), "\(rows)")
        let taken = try await desk.flotilla("sql", "b.db", "INSERT INTO late VALUES ('x', 1)")
        #expect(taken.status == 1 && taken.error.contains("UNIQUE"), "\(taken)")
        try await desk.succeed("sync", "b.db", node.address)
        #expect(try await desk.sql("a.db", "SELECT group_concat(v) FROM late") == "7,9")
        for database in ["a.db", "b.db"] {
          #expect(try await desk.succeed("conflicts", database).contains("no conflicts"))
        }
      }
    }

    @Test func `a node that was shut out is told so by doctor, and leaves as one`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 1)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        #expect(
          try await eventually(within: .seconds(20)) {
            try await desk.flotilla("status", "b.db").status == 0
          })
        try await desk.succeed("revoke", "a.db", "second")
        let shut = "error    member       this node was shut out of the site by first"
        #expect(
          try await eventually(within: .seconds(20)) {
            try await desk.flotilla("doctor", "b.db").output.contains(shut)
          })
        try await desk.sql("b.db", "INSERT INTO t VALUES ('own', 'x')")
        let refused = try await desk.flotilla("leave", "b.db")
        #expect(refused.status == 1 && refused.error.contains("none takes them any more"))
        try await desk.succeed("stop", "b.db")
        // Also where no node runs.
        let doctor = try await desk.flotilla("doctor", "b.db")
        #expect(doctor.status == 1 && doctor.output.contains(shut), "\(doctor)")
        #expect(doctor.output.contains("flotilla leave b.db --force, then join again"))
        let left = try await desk.flotilla("leave", "b.db", "--force")
        #expect(left.status == 0 && !left.error.contains("still count"), "\(left)")
        #expect(left.output.contains("second was shut out of, and has now left,"), "\(left)")
      }
    }

    @Test func `totals that triggers keep are named when both tables are replicated`() async throws
    {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE stock(item TEXT PRIMARY KEY NOT NULL, n INTEGER);
          CREATE TABLE sale(id TEXT PRIMARY KEY NOT NULL, item TEXT, n INTEGER);
          CREATE TRIGGER sold AFTER INSERT ON sale BEGIN
            UPDATE stock SET n = n - NEW.n WHERE item = NEW.item;
          END;
          """)
        let made = try await desk.flotilla("init", "a.db", "--all")
        #expect(made.error.contains(#""stock" has a column n that the trigger sold of "sale""#))
        #expect(made.error.contains("/a.db stock lets"), "\(made)")
        try await desk.succeed("untrack", "a.db", "stock")
        let again = try await desk.flotilla("track", "a.db", "sale")
        #expect(again.status == 0 && !again.error.contains("computes"), "\(again)")
      }
    }
  }
}
