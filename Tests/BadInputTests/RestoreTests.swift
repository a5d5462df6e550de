import Foundation
import Testing

extension BadInputTests {
  /// Files that are put back to an earlier state, copied or moved, with real processes.
  @Suite struct RestoreTests {
    private static let rows =
      "SELECT group_concat(id || '=' || v, ' ') FROM (SELECT * FROM t ORDER BY id)"

    /// A site of two running nodes with a few rows.
    private func site(_ desk: Desk) async throws -> (RunningNode, RunningNode) {
      let first = try await desk.pair("a.db", "b.db", rows: 2)
      return (first, try await startB(desk, first))
    }

    private func startB(_ desk: Desk, _ first: RunningNode) async throws -> RunningNode {
      try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
    }

    private func stop(_ desk: Desk, _ node: RunningNode) async throws {
      try await desk.succeed("stop", "b.db")
      #expect(try await node.ends())
    }

    private func arrive(_ desk: Desk) async throws {
      try await desk.succeed("wait", "b.db", "--for", "all")
      try await desk.succeed("wait", "a.db", "--for", "all")
    }

    private func copy(_ desk: Desk, _ from: String, _ to: String) async throws {
      let outcome = try await desk.run("cp", "-a", from, to)
      #expect(outcome.status == 0)
    }

    private func expectEqual(_ desk: Desk, holding parts: [String]) async throws {
      var seen: [String] = []
      let isEqual = try await eventually(within: .seconds(30)) {
        seen = [try await desk.sql("a.db", Self.rows), try await desk.sql("b.db", Self.rows)]
        return seen[0] == seen[1] && parts.allSatisfy { seen[0].contains($0) }
      }
      #expect(isEqual, "\(seen)")
    }

    @Test func `a file without Flotilla in the place of a replica takes no keys away`() async throws
    {
      try await Desk.with { desk in
        try await desk.make("x.db")
        try await desk.make("plain.db")
        try await desk.succeed("init", "x.db", "--all")
        let node = try await desk.start("x.db", "--listen", "127.0.0.1:0")
        try await desk.succeed("stop", "x.db")
        #expect(try await node.ends())
        let keys = ["x.db-flotilla/keys/node.key", "x.db-flotilla/keys/site.key"]
        let before = try keys.map { try desk.bytes($0) }
        try await copy(desk, "plain.db", "x.db")
        for command in [["status"], ["doctor"], ["run"], ["init", "--all"]] {
          let words = [command[0], "x.db"] + command.dropFirst()
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status != 0, "\(words)")
          let text = outcome.output + outcome.error
          #expect(text.contains("x.db-flotilla is the folder of a node"), "\(text)")
          #expect(text.contains("x.db has no Flotilla in it"), "\(text)")
        }
        for suffix in ["", "-wal", "-shm"] {
          try? FileManager.default.removeItem(atPath: desk.path("x.db" + suffix))
        }
        for command in ["status", "init"] {
          let outcome = try await desk.flotilla(command, "x.db")
          #expect(outcome.status != 0 && outcome.error.contains("there is no file"), "\(outcome)")
          #expect(outcome.error.contains("the folder of a node"), "\(outcome)")
        }
        let after = try keys.map { try desk.bytes($0) }
        #expect(before == after)
        try FileManager.default.moveItem(
          atPath: desk.path("x.db-flotilla"), toPath: desk.path("x.db-flotilla.old"))
        try await desk.succeed("init", "x.db")
      }
    }

    @Test func `yesterday's file loses nothing that others have, nor what was written since`()
      async throws
    {
      try await Desk.with { desk in
        let (first, b) = try await site(desk)
        try await stop(desk, b)
        try await copy(desk, "b.db", "yesterday.db")
        let again = try await startB(desk, first)
        try await desk.sql("b.db", "INSERT INTO t VALUES ('later', 'later')")
        try await desk.sql("b.db", "UPDATE t SET v = 'of before' WHERE id = 'k1'")
        try await arrive(desk)
        try await stop(desk, again)
        // Into the same file, as cp does.
        try await copy(desk, "yesterday.db", "b.db")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('since', 'since')")
        try await desk.sql("b.db", "UPDATE t SET v = 'of since' WHERE id = 'k1'")
        _ = try await startB(desk, first)
        try await expectEqual(desk, holding: ["later=later", "since=since", "k1=of since"])
        let status = try await desk.flotilla("status", "b.db")
        #expect(status.error.contains("the file was restored from an older copy"))
        let conflicts = [
          try await desk.succeed("conflicts", "a.db", "--json"),
          try await desk.succeed("conflicts", "b.db", "--json"),
        ]
        #expect(conflicts.contains { $0.contains("of before") })
      }
    }

    @Test func `what stood beside a file and is lost costs a new life and no edit`() async throws {
      try await Desk.with { desk in
        let (first, b) = try await site(desk)
        try await stop(desk, b)
        try FileManager.default.removeItem(atPath: desk.path("b.db-flotilla/ledger"))
        try await desk.sql("b.db", "INSERT INTO t VALUES ('since', 'since')")
        _ = try await startB(desk, first)
        try await expectEqual(desk, holding: ["since=since"])
        let status = try await desk.flotilla("status", "b.db")
        #expect(status.error.contains("what Flotilla keeps beside the file was missing"))
      }
    }

    @Test func `a file without its folder is refused, and says what to do`() async throws {
      try await Desk.with { desk in
        let (_, b) = try await site(desk)
        try await stop(desk, b)
        try FileManager.default.removeItem(atPath: desk.path("b.db-flotilla"))
        let refused = try await desk.flotilla("run", "b.db", "--listen", "127.0.0.1:0")
        #expect(refused.status == 1)
        #expect(refused.error.contains("b.db-flotilla"), "\(refused)")
        #expect(refused.error.contains("flotilla leave"), "\(refused)")
        #expect(try await desk.sql("b.db", "SELECT count(*) FROM t") == "2")
      }
    }

    @Test func `a virtual machine that is put back with its folder begins a new life at contact`()
      async throws
    {
      try await Desk.with { desk in
        let (first, b) = try await site(desk)
        try await stop(desk, b)
        for name in ["b.db", "b.db-flotilla"] { try await copy(desk, name, "snap-" + name) }
        let again = try await startB(desk, first)
        try await desk.sql("b.db", "INSERT INTO t VALUES ('lost', 'lost')")
        try await desk.sql("b.db", "UPDATE t SET v = 'of before' WHERE id = 'k1'")
        try await arrive(desk)
        try await stop(desk, again)
        // A disk that is put back has its files as they were: their marks cannot tell.
        _ = try await desk.run("rm", "-rf", "b.db-flotilla")
        try await copy(desk, "snap-b.db", "b.db")
        try await copy(desk, "snap-b.db-flotilla", "b.db-flotilla")
        for number in 1...4 {
          try await desk.succeed("sql", "b.db", "INSERT INTO t VALUES ('n\(number)', 'new')")
        }
        let restored = try await startB(desk, first)
        try await expectEqual(desk, holding: ["lost=lost", "n1=new", "n4=new", "k1=of before"])
        #expect(restored.logText.contains("another node holds edits from here"))
      }
    }

    @Test func `a file that is put back while its node runs is opened anew`() async throws {
      try await Desk.with { desk in
        let (_, b) = try await site(desk)
        try await desk.sql("b.db", ".backup 'copy.db'")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('later', 'later')")
        try await arrive(desk)
        try await desk.sql("b.db", ".restore 'copy.db'")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('since', 'since')")
        try await expectEqual(desk, holding: ["later=later", "since=since"])
        #expect(b.isRunning)
        #expect(b.logText.contains("was put back to an earlier state"))
      }
    }

    @Test func `a copy of file and folder on another machine is told that the original runs`()
      async throws
    {
      try await Desk.with { desk in
        let (first, b) = try await site(desk)
        try await stop(desk, b)
        try await copyElsewhere(desk)
        let original = try await startB(desk, first)
        try await desk.sql("b.db", "INSERT INTO t VALUES ('original', '1')")
        try await arrive(desk)
        let copy = try await desk.start(
          "elsewhere/b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        try await desk.sql("elsewhere/b.db", "INSERT INTO t VALUES ('copied', '2')")
        let isTold = try await eventually(within: .seconds(40)) {
          try await desk.flotilla("status", "elsewhere/b.db").error.contains(
            "another copy of this")
        }
        #expect(isTold, "\(copy.logText) \(original.logText)")
        #expect(copy.logText.contains("the file came from another machine"))
        // Who has met both tells its people, too; and nobody's log fills while they take turns.
        let seen = try await desk.flotilla("status", "a.db")
        #expect(seen.error.contains("two copies of"), "\(seen)")
        try await Task.sleep(for: .seconds(2))
        for log in [copy.logText, first.logText] {
          let lines = log.split(separator: "\n").filter { $0.contains("another copy of this node") }
          #expect(lines.count <= 3, "\(log)")
        }
        try await desk.succeed("leave", "elsewhere/b.db", "--force")
        // The original goes on, and what the copy wrote under its own origin is not lost.
        try await desk.sql("b.db", "INSERT INTO t VALUES ('more', '3')")
        try await arrive(desk)
        try await expectEqual(desk, holding: ["original=1", "more=3"])
        let members = try await desk.succeed("members", "a.db", "--json")
        #expect(!members.contains("\"state\":\"left\""), "\(members)")
      }
    }

    /// A copy of b with its folder on another machine: the original is not there, and the mark of
    /// the machine is another one.
    private func copyElsewhere(_ desk: Desk) async throws {
      _ = try await desk.run("mkdir", "elsewhere")
      for name in ["b.db", "b.db-flotilla"] { try await copy(desk, name, "elsewhere/" + name) }
      let record = desk.path("elsewhere/b.db-flotilla/node.json")
      var json = try #require(
        try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: record)))
          as? [String: Any])
      json["machine"] = ["id": "another", "cards": []] as [String: Any]
      try JSONSerialization.data(withJSONObject: json).write(to: URL(filePath: record))
      try await desk.sql(
        "elsewhere/b.db", "UPDATE _flotilla_meta SET value = '/gone' WHERE name = 'path'")
    }

    @Test(arguments: [false, true])
    func `a copy on another machine leaves without a word, looked at before or not`(
      isLookedAt: Bool
    ) async throws {
      try await Desk.with { desk in
        let (first, b) = try await site(desk)
        try await stop(desk, b)
        try await copyElsewhere(desk)
        _ = try await startB(desk, first)
        if isLookedAt { _ = try await desk.flotilla("status", "elsewhere/b.db") }
        let refused = try await desk.flotilla("leave", "elsewhere/b.db")
        #expect(refused.status == 1)
        #expect(refused.error.contains("came from another machine"), "\(refused)")
        let left = try await desk.flotilla("leave", "elsewhere/b.db", "--force")
        #expect(left.status == 0)
        #expect(left.error.contains("nobody was told"), "\(left)")
        #expect(try await desk.sql("elsewhere/b.db", "SELECT count(*) FROM t") == "2")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('more', '3')")
        try await arrive(desk)
        try await expectEqual(desk, holding: ["more=3"])
        let members = try await desk.succeed("members", "a.db", "--json")
        #expect(!members.contains("\"state\":\"left\""), "\(members)")
      }
    }

    @Test func `an anchor whose file was restored does not judge until it is appointed again`()
      async throws
    {
      try await Desk.with { desk in
        let (first, _) = try await site(desk)
        try await desk.succeed("anchor", "a.db", "--here", "--rule", "client-wins")
        try await desk.sql("a.db", ".backup 'copy.db'")
        let online = try await desk.flotilla(
          "sql", "b.db", "UPDATE t SET v = 'judged' WHERE id = 'k1'", "--online")
        #expect(online.status == 0)
        try await desk.succeed("stop", "a.db")
        #expect(try await first.ends())
        try await copy(desk, "copy.db", "a.db")
        let port = String(first.port)
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:" + port)
        try await expectEqual(desk, holding: ["k1=judged"])
        let waiting = try await desk.flotilla(
          "sql", "b.db", "UPDATE t SET v = 'waits' WHERE id = 'k2'", "--online", "--timeout", "2s")
        #expect(waiting.status == 3)
        let remark =
          "was the anchor and does not judge any more, for its file was restored or it was "
          + "forgotten; "
        #expect(waiting.error.contains(remark + "appoint it again or another on an admin ("))
        let stoodDown = try await desk.flotilla("status", "a.db")
        #expect(stoodDown.output.contains("(admin, was the anchor)"), "\(stoodDown)")
        #expect(stoodDown.error.contains(remark), "\(stoodDown)")
        try await desk.succeed("anchor", "a.db", "--here")
        try await desk.waitForAnchor("b.db")
        let judged = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "b.db", "--json").output.contains("\"unjudged\":0")
        }
        #expect(judged)
        try await expectEqual(desk, holding: ["k1=judged", "k2=waits"])
        let state = try await desk.succeed("anchor", "a.db", "--json")
        #expect(state.contains("\"state\":\"judging\""), "\(state)")
        let status = try await desk.flotilla("status", "b.db")
        #expect(!status.error.contains("does not judge"), "\(status)")
      }
    }
  }
}
