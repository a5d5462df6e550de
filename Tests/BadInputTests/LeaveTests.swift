import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// The last admin of a site, and its only key.
  @Suite struct LeaveTests {
    @Test func `the last admin stays until there is another, and the key is written down`()
      async throws
    {
      try await Desk.with { desk in
        let a = try await desk.pair("a.db", "b.db", rows: 3)
        let refused = try await desk.flotilla("leave", "a.db")
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.error.contains("is the only admin and has the only site key, which was"))
        #expect(refused.error.contains("flotilla export-site-key a.db FILE"))
        #expect(refused.error.contains("flotilla import-site-key DB FILE on another member"))
        #expect(refused.error.contains("flotilla invite a.db --role admin"))
        let json = try await desk.flotilla("leave", "a.db", "--json")
        #expect(json.status == 1 && json.output.contains(#""loss":"site-key-and-last-admin""#))
        #expect(a.isRunning)

        try await desk.succeed("export-site-key", "a.db", "key.txt")
        let alone = try await desk.flotilla("leave", "a.db")
        #expect(alone.status == 1 && alone.error.contains("this node is the only admin, and other"))
        #expect(!alone.error.contains("export-site-key"))
        try await desk.succeed("import-site-key", "b.db", "key.txt")
        try await desk.succeed("sync", "b.db", a.address)
        let left = try await desk.flotilla("leave", "a.db")
        #expect(left.status == 0 && !left.error.contains("admin"), "\(left)")
        // Nobody uses it.
        let invited = try await desk.flotilla("invite", "b.db", "--ttl", "1s")
        #expect(invited.status == 3 && !invited.output.isEmpty, "\(invited)")
      }
    }

    @Test func `what a program has made over the views of Flotilla is named`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db", rows: 3)
        try await desk.succeed("init", "a.db", "--all")
        try await desk.sql(
          "a.db",
          """
          CREATE VIEW late AS SELECT * FROM t JOIN _flotilla_rows_t USING (id) WHERE synced = 0;
          CREATE TRIGGER counted AFTER UPDATE ON t BEGIN
            UPDATE nokey SET a = (SELECT count(*) FROM _flotilla_rows_t); END;
          CREATE VIEW plain AS SELECT id FROM t
          """)
        let left = try await desk.flotilla("leave", "a.db", "--force")
        #expect(left.status == 0)
        #expect(
          left.error.contains("view late, trigger counted named tables of Flotilla"), "\(left)")
      }
    }

    @Test func `a key that was never exported is not taken along, though there is another admin`()
      async throws
    {
      try await Desk.with { desk in
        let a = try await desk.pair("a.db", "b.db", rows: 3)
        let code = try await desk.succeed("invite", "a.db", "--role", "admin")
        try await desk.succeed("join", "c.db", code, "--at", a.address, "--name", "third")
        let refused = try await desk.flotilla("leave", "a.db")
        #expect(
          refused.status == 1 && refused.error.contains("has the only site key"), "\(refused)")
        #expect(try await desk.succeed("doctor", "b.db").contains("first, an admin of the site"))
        try await desk.sql("b.db", "UPDATE _flotilla_peer SET seen = 86400000")
        let away = try await desk.succeed("doctor", "b.db")
        #expect(away.contains("no admin of the site is in reach since 1970-01-02"), "\(away)")
        #expect(away.contains("flotilla import-site-key b.db FILE"))
        let left = try await desk.flotilla("leave", "a.db", "--force")
        #expect(left.status == 0 && left.error.contains("nobody can be made an admin any more"))
        // Nobody else holds a key that would go with it.
        try await desk.succeed("leave", "b.db")
      }
    }

    @Test func `a site without a key is founded anew, and nothing is lost`() async throws {
      try await Desk.with { desk in
        let a = try await desk.pair("a.db", "b.db", rows: 3)
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--at", a.address, "--name", "third")
        let b = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", a.address)
        try await desk.succeed("sync", "c.db", a.address)
        // Two that have not seen each other.
        try await desk.sql("c.db", "UPDATE t SET v = 'of c' WHERE id = 'k1'")
        try await desk.sql("b.db", "UPDATE t SET v = 'of b' WHERE id = 'k1'")
        let gone = try await desk.flotilla("leave", "a.db", "--force")
        #expect(gone.status == 0 && gone.error.contains("found it anew"), "\(gone)")
        let doctor = try await desk.succeed("doctor", "b.db")
        #expect(doctor.contains("the site has no admin any more"), "\(doctor)")
        #expect(doctor.contains("docs/operations.md, Lose the site key"))
        let members = try await desk.succeed("members", "b.db", "--all")
        let first = members.split(separator: "\n").first { $0.hasPrefix("first") }
        #expect(first?.contains("left") == true && first?.contains("never") == false)
        for words in [
          ["invite", "b.db"], ["revoke", "b.db", "third"], ["anchor", "b.db", "--here"],
        ] {
          #expect(try await desk.run(["flotilla"] + words).status == 1)
        }

        try await desk.succeed("sync", "c.db", b.address)
        let loser =
          try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k1'") == "of b"
          ? "c.db" : "b.db"
        let open = try await desk.flotilla("leave", loser)
        #expect(open.status == 1 && open.error.contains("1 open conflict"), "\(open)")
        let log = try await desk.succeed("conflicts", loser, "--json")
        #expect(log.contains("of b") && log.contains("of c"))
        try await desk.succeed("conflicts", loser, "dismiss", "1")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('late', 'of b')")
        try await desk.succeed("sync", "c.db", b.address)

        try await desk.succeed("leave", "b.db")
        try await desk.succeed("init", "b.db", "--all", "--site", "again", "--name", "second")
        let again = try await desk.start("b.db", "--listen", "127.0.0.1:0")
        try await desk.sql("c.db", "INSERT INTO t VALUES ('later', 'of c')")
        try await desk.succeed("leave", "c.db", "--force")
        let new = try await desk.succeed("invite", "b.db")
        try await desk.succeed("join", "c.db", new, "--at", again.address, "--name", "third")
        try await desk.succeed("sync", "c.db", again.address)
        let rows = "SELECT group_concat(id || v) FROM (SELECT * FROM t ORDER BY id)"
        let all = try await desk.sql("b.db", rows)
        #expect(all.contains("lateof b") && all.contains("laterof c") && all.contains("k1of "))
        #expect(try await desk.sql("c.db", rows) == all)
        #expect(try await desk.succeed("conflicts", "c.db") == "no conflicts")
        #expect(try await desk.succeed("verify", "c.db").contains("second: identical"))
      }
    }

    @Test func `rows that are parked do not go with the last node that has them`() async throws {
      try await Desk.with { desk in
        try await desk.sql("a.db", "CREATE TABLE u(id TEXT PRIMARY KEY, v TEXT UNIQUE)")
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let a = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", a.address, "--name", "second")
        try await desk.sql("a.db", "INSERT INTO u VALUES ('a', 'same')")
        try await desk.sql("b.db", "INSERT INTO u VALUES ('b', 'same')")
        try await desk.succeed("sync", "b.db", a.address)
        a.signal(SIGTERM)
        #expect(try await a.ends())
        let alone = try await desk.flotilla("leave", "b.db")
        #expect(alone.status == 1 && alone.error.contains("1 row parked here is in no table"))
        #expect(alone.error.contains("conflicts b.db --parked"), "\(alone)")
        _ = try await desk.start("a.db", "--listen", a.address)
        #expect(try await desk.flotilla("leave", "b.db").status == 0)
      }
    }

    @Test func `small words are right`() async throws {
      try await Desk.with { desk in
        let a = try await desk.pair("a.db", "b.db", rows: 1)
        try await desk.succeed("anchor", "a.db", "--here")
        let status = try await desk.flotilla("status", "a.db")
        #expect(status.output.contains("first (admin, anchor)"), "\(status)")
        for number in ["04", "+4", "4x", "0", "-1"] {
          let outcome = try await desk.flotilla("conflicts", "a.db", "restore", number)
          #expect(outcome.status == 2, "\(number): \(outcome)")
        }
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", a.address)
        try await desk.succeed("leave", "b.db")
        let left = try await desk.flotilla("anchor", "a.db", "second")
        #expect(left.status == 1 && left.error.contains("flotilla members a.db shows them"))
        let members = try await desk.succeed("members", "a.db", "--all")
        #expect(members.contains("left") && !members.contains("never"), "\(members)")
      }
    }

    @Test func `a folder is named where it is, or not at all`() async throws {
      try await Desk.with { desk in
        try await desk.make("m.db")
        try await desk.succeed("init", "m.db", "--all")
        mkdir(desk.path("away"), 0o755)
        rename(desk.path("m.db"), desk.path("away/n.db"))
        rename(desk.path("m.db-flotilla"), desk.path("away/o.db-flotilla"))
        let beside = try await desk.flotilla("status", "away/n.db")
        #expect(
          beside.error.contains(
            "mv \(desk.folder)/away/o.db-flotilla \(desk.folder)/away/n.db-flotilla"), "\(beside)")
        rename(desk.path("away/o.db-flotilla"), desk.path("elsewhere"))
        let lost = try await desk.flotilla("status", "away/n.db")
        #expect(
          lost.error.contains("Find the folder, which is not at \(desk.folder)/m.db-flotilla"))
        #expect(!lost.error.contains("mv "), "\(lost)")
      }
    }
  }
}
