import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Nodes that are killed, stopped, put to sleep, or lose the ground they stand on.
  @Suite struct KillTests {
    /// Waits until both replicas show the same rows, and checks that both files are sound.
    private func expectEqual(_ desk: Desk, _ one: String, _ two: String, rows: Int) async throws {
      let look = "SELECT count(*), count(DISTINCT v), total(length(v)), max(v) FROM t"
      var seen: [String] = []
      let equal = try await eventually(within: .seconds(60), every: .milliseconds(300)) {
        seen = [try await desk.sql(one, look), try await desk.sql(two, look)]
        return seen[0] == seen[1] && seen[0].hasPrefix("\(rows)|")
      }
      #expect(equal, "\(seen)")
      for name in [one, two] {
        #expect(try await desk.sql(name, "PRAGMA integrity_check") == "ok")
      }
    }

    private func restart(_ desk: Desk, _ name: String, _ peer: RunningNode) async throws
      -> RunningNode
    {
      try await desk.start(name, "--listen", "127.0.0.1:0", "--peer", peer.address)
    }

    @Test(arguments: [0.02, 0.15, 0.5])
    func `a node killed while it takes in a large transaction loses nothing`(
      _ pause: Double
    ) async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 15_000)
        var second = try await restart(desk, "b.db", first)
        try await desk.sql("b.db", "UPDATE t SET v = 'one ' || v")
        try await Task.sleep(for: .seconds(pause))
        second.signal(SIGKILL)
        try await desk.sql("b.db", "INSERT INTO t VALUES('while dead', 'zz')")
        second = try await restart(desk, "b.db", first)
        try await expectEqual(desk, "a.db", "b.db", rows: 15_001)
        #expect(
          try await desk.sql("a.db", "SELECT count(*) FROM t WHERE v LIKE 'one %'") == "15000")
        #expect(second.isRunning)
      }
    }

    @Test func `both sides killed during a catch-up become equal`() async throws {
      try await Desk.with { desk in
        var first = try await desk.pair("a.db", "b.db", rows: 100)
        let port = first.address
        try await desk.sql(
          "a.db",
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
          INSERT INTO t SELECT 'n' || i, 'new ' || i || hex(zeroblob(40)) FROM n
          """)
        var second = try await restart(desk, "b.db", first)
        for round in 0..<3 {
          try await Task.sleep(for: .milliseconds(150 + 200 * round))
          if round != 1 { second.signal(SIGKILL) }
          if round != 0 { first.signal(SIGKILL) }
          if round != 0 { first = try await desk.start("a.db", "--listen", port) }
          if round != 1 { second = try await restart(desk, "b.db", first) }
        }
        try await expectEqual(desk, "a.db", "b.db", rows: 30_100)
      }
    }

    @Test func `a lock and a socket left by a killed node are no obstacle`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        node.signal(SIGKILL)
        #expect(try await node.ends())
        #expect(try await desk.flotilla("status", "a.db").status == 3)
        let outcome = try await desk.flotilla("stop", "a.db")
        #expect(outcome.status == 1)
        #expect(outcome.error.contains("no node runs for a.db"))
        let again = try await desk.start("a.db", "--listen", node.address)
        #expect(again.port == node.port)
        try await desk.succeed("stop", "a.db")
        #expect(try await again.ends())
      }
    }

    @Test func `a node is found from a session with another runtime folder`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        mkdir(desk.path("other"), 0o700)
        func elsewhere(_ words: String...) async throws -> Outcome {
          try await desk.run(["env", "XDG_RUNTIME_DIR=\(desk.path("other"))", "flotilla"] + words)
        }
        let status = try await elsewhere("status", "a.db", "--json")
        #expect(status.output.contains(#""running":true"#), "\(status)")
        let run = try await elsewhere("run", "a.db")
        #expect(run.error.contains("a node runs already for a.db"), "\(run)")
        // Nobody can reach it any more: then it is named.
        #expect(try await desk.run("sh", "-c", "rm run/flotilla/*.sock").status == 0)
        for command in ["status", "run", "stop"] {
          let outcome = try await elsewhere(command, "a.db")
          #expect(outcome.status == 1)
          let who = "another Flotilla process (\(node.process)) works on a.db and cannot be asked"
          #expect(outcome.error.contains(who), "\(outcome)")
          #expect(outcome.error.contains("kill \(node.process)"), "\(outcome)")
        }
        node.signal(SIGTERM)
        #expect(try await node.ends())
        let again = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        #expect(try await elsewhere("stop", "a.db").status == 0)
        #expect(try await again.ends())
        let stopped = try await elsewhere("stop", "a.db")
        #expect(stopped.error.contains("no node runs for a.db"), "\(stopped)")
      }
    }

    @Test(arguments: [[], ["--http"], ["--background"], ["--http", "--background"]])
    func `a second node is refused before it opens or writes anything`(options: [String])
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        let before = node.logText
        let second = try await desk.run(["flotilla", "run", "a.db"] + options, within: 20)
        #expect(second.status == 1 && second.error.contains("a node runs already for a.db"))
        // The same file by another path is told by the path that was typed.
        for words in [[], ["--background"]] {
          let typed = try await desk.run(["flotilla", "run", "run/../a.db"] + words)
          #expect(typed.status == 1, "\(typed)")
          #expect(
            typed.error.contains("a node runs already for run/../a.db")
              && typed.error.contains("flotilla stop run/../a.db"), "\(typed)")
        }
        #expect(!second.error.contains("gateway"), "\(second)")
        #expect(node.logText == before && node.isRunning)
      }
    }

    @Test func `a node that starts waits for a command that is at work`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        // As a command does: it has the lock, and cannot be asked.
        let hold = "flock a.db-flotilla/lock sh -c 'touch held; sleep 7' >held.log 2>&1 &"
        _ = try await desk.run("sh", "-c", hold)
        #expect(try await eventually(within: .seconds(10)) { try desk.names("held").count == 2 })
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        #expect(node.logText.contains("waiting for it to end"), "\(node.logText)")
      }
    }

    @Test func `signals end a node cleanly, and a hang-up does not`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        for number in [SIGTERM, SIGINT] {
          let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
          node.signal(SIGHUP)
          try await Task.sleep(for: .milliseconds(200))
          #expect(node.isRunning)
          node.signal(number)
          #expect(try await node.ends())
          #expect(node.logText.hasSuffix("stopped\n"))
          #expect(
            try FileManager.default.contentsOfDirectory(
              atPath: desk.path("run/flotilla")
            ).isEmpty)
        }
      }
    }

    @Test(arguments: ["rm a.db", "mv a.db old.db; cp old.db a.db", "mkdir away; mv a.db* away"])
    func `a node whose file is gone or replaced ends and says so`(_ deed: String) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let script = "\(deed)"
        #expect(try await desk.run("sh", "-c", script).status == 0)
        #expect(try await node.ends())
        let log = deed.contains("away") ? desk.path("away/a.db-flotilla/node.log") : node.log
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("a.db was moved, removed or replaced"), "\(text)")
      }
    }

    @Test func `a journal mode that a program has changed is put right`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.sql("a.db", "PRAGMA journal_mode = DELETE; INSERT INTO t VALUES('x', 'y')")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let isWAL = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", "PRAGMA journal_mode") == "wal"
        }
        #expect(isWAL)
        // While the node has the file open SQLite lets nobody change it.
        let outcome = try await desk.run("sqlite3", "a.db", "PRAGMA journal_mode = DELETE")
        #expect(outcome.status != 0 || outcome.output == "wal")
        #expect(try await desk.sql("a.db", "PRAGMA journal_mode") == "wal")
      }
    }

    @Test func `a journal that somebody dropped is made anew, and no write is lost`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        _ = try await restart(desk, "b.db", first)
        try await desk.sql("b.db", "DROP TABLE _flotilla_journal")
        let write = try await desk.run("sqlite3", "b.db", "INSERT INTO t VALUES('lost?', 'x')")
        #expect(write.error.contains("_flotilla_journal"))
        let busy = try await desk.flotilla("doctor", "b.db", "--repair")
        #expect(busy.status == 1)
        #expect(busy.output.contains("flotilla stop b.db"), "\(busy)")
        try await desk.succeed("stop", "b.db")
        let found = try await desk.flotilla("doctor", "b.db")
        #expect(found.status == 1)
        #expect(found.output.contains("flotilla doctor b.db --repair"))
        #expect(try await desk.flotilla("doctor", "b.db", "--repair").status == 0)
        #expect(try await desk.flotilla("doctor", "b.db").status == 0)
        try await desk.sql("b.db", "INSERT INTO t VALUES('kept', 'x')")
        _ = try await restart(desk, "b.db", first)
        try await expectEqual(desk, "a.db", "b.db", rows: 21)
      }
    }

    @Test(arguments: [false, true])
    func `nodes that slept find each other again`(_ isBoth: Bool) async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        let second = try await restart(desk, "b.db", first)
        let nodes = isBoth ? [first, second] : [second]
        try await desk.succeed("wait", "a.db", "--for", "second")
        // A process that is stopped within a write would keep its lock, which no sleep does.
        try await Task.sleep(for: .seconds(1))
        for node in nodes { node.signal(SIGSTOP) }
        try await desk.sql("a.db", "INSERT INTO t VALUES('asleep a', 'x')")
        try await desk.sql("b.db", "INSERT INTO t VALUES('asleep b', 'x')")
        try await Task.sleep(for: .seconds(isBoth ? 11 : 13))
        for node in nodes { node.signal(SIGCONT) }
        try await expectEqual(desk, "a.db", "b.db", rows: 22)
        #expect(try await desk.flotilla("wait", "a.db", "--for", "second").status == 0)
      }
    }
  }
}
