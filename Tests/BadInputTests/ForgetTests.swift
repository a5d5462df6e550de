import Foundation
import Testing

extension BadInputTests {
  /// Nodes that do not return, or only after what was deleted is forgotten.
  @Suite struct ForgetTests {
    private func deletions(_ desk: Desk, _ database: String) async throws -> String {
      try await desk.sql(database, "SELECT count(*) FROM _flotilla_version WHERE hash IS NULL")
    }

    private func isSettled(_ desk: Desk, _ database: String) async throws -> Bool {
      try await desk.flotilla("status", database).output.contains("in sync with 2 of 2")
    }

    @Test func `a node that was away while deleted rows were forgotten fetches all anew`()
      async throws
    {
      try await Desk.with { desk in
        var first = try await desk.pair("a.db", "b.db")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--name", "third", "--at", first.address)
        let third = try await desk.start("c.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        #expect(try await eventually(within: .seconds(60)) { try await isSettled(desk, "a.db") })
        try await desk.succeed("stop", "c.db")
        // Edits of the third that nobody has seen.
        try await desk.sql("c.db", "UPDATE t SET v = 'before' WHERE id = 'k1'")
        try await desk.sql("c.db", "UPDATE t SET v = 'kept' WHERE id = 'k9'")
        try await desk.sql("c.db", "INSERT INTO t VALUES ('new', 'new')")
        try await Task.sleep(for: .seconds(1))
        try await desk.sql("a.db", "DELETE FROM t WHERE id IN ('k1', 'k2', 'k3')")
        #expect(
          try await eventually(within: .seconds(60)) { try await deletions(desk, "b.db") == "3" })
        // 500 days later nobody waits for it any more.
        let later = Date(timeIntervalSinceNow: 500 * 86_400).formatted(.iso8601)
        let far = try await desk.flotilla("clock", "a.db", "--set", later)
        #expect(far.status == 1 && far.error.contains("--force"), "\(far)")
        try await desk.succeed("clock", "a.db", "--set", later, "--force")
        let said = try await desk.succeed("forget", "a.db", "third")
        #expect(said.contains("third, last seen") && said.contains("is not waited for any more"))
        #expect(!(try await desk.succeed("status", "b.db")).contains("third"))
        let listed = try await desk.succeed("members", "a.db", "--json")
        #expect(listed.contains("\"state\":\"forgotten\""), "\(listed)")
        // A node looks for what can go when it starts, and then every few hours.
        for database in ["a.db", "b.db"] { try await desk.succeed("stop", database) }
        first = try await desk.start("a.db", "--listen", first.address)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        for database in ["a.db", "b.db"] {
          let isGone = try await eventually(within: .seconds(90)) {
            try await deletions(desk, database) == "0"
          }
          #expect(isGone, "\(database) has kept what was deleted")
        }
        // It returns.
        _ = try await desk.start(
          "c.db", "--listen", third.address, "--peer", first.address)
        #expect(try await eventually(within: .seconds(90)) { try await isSettled(desk, "a.db") })
        let status = try await desk.flotilla("status", "c.db")
        #expect(status.error.contains("away for so long that others have forgotten"), "\(status)")
        let verified = try await desk.flotilla("verify", "a.db")
        #expect(verified.status == 0, "\(verified)")
        for database in ["a.db", "b.db", "c.db"] {
          let rows = "SELECT group_concat(id || '=' || v) FROM (SELECT id, v FROM t WHERE id IN "
          #expect(
            try await desk.sql(
              database, rows + "('k1', 'k2', 'k3', 'k9', 'new') ORDER BY id)") == "k9=kept,new=new")
        }
        // Its edit of a row that had been deleted is not gone without a word.
        let log = try await desk.succeed("conflicts", "c.db", "--json")
        #expect(log.contains("before") && log.contains("already-deleted"), "\(log)")
      }
    }

    @Test func `forget says what it cannot do`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let oneself = try await desk.flotilla("forget", "a.db", "first")
        #expect(oneself.status == 1 && oneself.error.contains("is this node itself"), "\(oneself)")
        let nobody = try await desk.flotilla("forget", "a.db", "nobody")
        #expect(nobody.status == 1 && nobody.error.contains("no member nobody"), "\(nobody)")
        let notAllowed = try await desk.flotilla("forget", "b.db", "first")
        #expect(notAllowed.status == 1, "\(notAllowed)")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        _ = try await eventually(within: .seconds(30)) {
          try await desk.flotilla("status", "a.db").output.contains("in sync with 1 of 1")
        }
        let here = try await desk.flotilla("forget", "a.db", "second")
        #expect(here.status == 1 && here.error.contains("it has returned"), "\(here)")
        try await desk.succeed("stop", "b.db")
        try await desk.succeed("forget", "a.db", "second")
        let again = try await desk.flotilla("forget", "a.db", "second")
        #expect(again.status == 1 && again.error.contains("forgotten already"), "\(again)")
        let alone = try await desk.flotilla("status", "a.db", "--all")
        #expect(alone.status == 0 && !alone.output.contains("second"), "\(alone)")
        // It comes back as a new one, and is listed again.
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        let isBack = try await eventually(within: .seconds(60)) {
          try await desk.flotilla("members", "a.db", "--json").output
            .contains("\"state\":\"forgotten\"") == false
        }
        #expect(isBack)
        let status = try await desk.flotilla("status", "b.db")
        #expect(status.error.contains("was told that this node would not return"), "\(status)")
      }
    }
  }
}
