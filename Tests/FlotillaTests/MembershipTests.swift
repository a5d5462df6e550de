import Foundation
import Network
import Replication
import Store
import Testing

@testable import Flotilla

extension NodeTests {
  /// Joining a site by a code.
  @Suite struct `A joiner` {
    private func join(
      _ name: String, _ code: String, at node: Node, in site: TestSite, file: String? = nil
    ) async throws -> (TestReplica, JoinReport) {
      let replica = TestReplica(name: name, path: "\(site.folder)/\(file ?? name).db")
      let report = try await replica.library.join(
        code: code, node: name, at: try await node.address, progress: { _ in })
      return (replica, report)
    }

    @Test func `gets the schema and every row`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
        let first = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
        #expect(code.served)
        let (b, report) = try await join("b", code.code, at: first, in: site)
        #expect(report.rows >= 2)
        #expect(report.site == "Test")
        #expect(report.node == "b")
        #expect(report.from == "a")
        let rows = "SELECT * FROM item ORDER BY id"
        #expect(try b.rows(rows) == a.rows(rows))
        _ = try await site.run(b)
        try b.write("INSERT INTO item VALUES ('3', 'z')")
        #expect(try await eventually { try a.count() == 3 })
      }
    }

    @Test func `with a name that exists gets the next free one`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        var names: [String] = []
        for number in 1...3 {
          let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
          let (_, report) = try await join(
            "a", code.code, at: first, in: site, file: "copy\(number)")
          names.append(report.node)
        }
        #expect(names == ["a-2", "a-3", "a-4"])
      }
    }

    @Test func `gets no name of one that was shut out or has left`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        var names: [String] = []
        for number in 1...3 {
          let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
          let (b, report) = try await join(
            "b", code.code, at: first, in: site, file: "b\(number)")
          names.append(report.node)
          if number == 1 { _ = try await a.library.revoke("b") }
          if number == 2 { #expect(try await b.library.leave(force: true).left) }
        }
        #expect(names == ["b", "b-2", "b-3"])
      }
    }

    @Test func `of several at once with one name has it to itself`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        var codes: [String] = []
        for _ in 0..<4 {
          codes.append(
            try await a.library.invite(timeToLive: .seconds(60), role: "writer").code)
        }
        let names = try await withThrowingTaskGroup(of: String.self) { group in
          for (number, code) in codes.enumerated() {
            group.addTask {
              try await self.join("w", code, at: first, in: site, file: "w\(number)").1.node
            }
          }
          return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(names == ["w", "w-2", "w-3", "w-4"])
      }
    }

    @Test func `is told what is wrong with its code`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let used = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
        _ = try await join("b", used, at: first, in: site)
        let expired = try await a.library.invite(timeToLive: .milliseconds(1), role: "writer").code
        try await Task.sleep(for: .milliseconds(20))
        let unknown = RandomNumbers.inviteCode().description
        for (code, word) in [
          (used, "used"), (expired, "expired"), (unknown, "no such code"),
          (String(used.dropLast()), "mistyped"),
        ] {
          let error = await #expect(throws: FlotillaError.self) {
            try await join("c", code, at: first, in: site)
          }
          #expect(error?.code == .invitation)
          #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
          #expect(!FileManager.default.fileExists(atPath: "\(site.folder)/c.db-flotilla"))
        }
      }
    }

    @Test func `is served by a process that only invites, until a node takes over`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
        #expect(!code.served)
        let ready = Lines()
        let serving = Task {
          try await a.library.serveInvitation(code) { ready.add($0) }
        }
        #expect(try await eventually { !ready.all.isEmpty })
        var options = RunOptions()
        options.listen = "127.0.0.1:19499"
        options.discovery = false
        let run = Task { [options] in
          try await Replica.run([a.library], options: options, log: { _ in }, ready: { _ in })
        }
        #expect(try await serving.value == nil)
        #expect(try await eventually { try await a.library.status(all: false).running })
        let b = TestReplica(name: "b", path: "\(site.folder)/b.db")
        let report = try await b.library.join(
          code: code.code, node: "b", at: "127.0.0.1:19499", progress: { _ in })
        #expect(report.node == "b")
        try await a.library.stop()
        try await run.value
      }
    }
  }

  /// Leaving a site.
  @Suite struct `A node that leaves` {
    private func traces(of replica: TestReplica) throws -> [String] {
      try replica.rows(
        "SELECT name FROM sqlite_schema WHERE name LIKE '%flotilla%' ORDER BY name")
    }

    @Test func `is forgotten by its peers`() async throws {
      try await TestSite.with { site in
        let ((a, first), (_, second), (_, third)) = try await site.three()
        await third.stop(Bye(.leaving, "c has left the site"))
        #expect(
          try await eventually { try await first.status(all: true).peers.map(\.node) == ["b"] })
        #expect(
          try await eventually { try await second.status(all: true).peers.map(\.node) == ["a"] })
        #expect(try await eventually { try await first.isInSync })
        let wait = try await a.library.wait(for: .all, timeout: .seconds(5))
        #expect(wait.missing == [])
        // Neither a restart nor hearsay brings it back.
        await first.stop()
        #expect(try await a.library.status(all: true).peers.map(\.node) == ["b"])
      }
    }

    @Test func `may leave its address to another one, who is left in peace there`() async throws {
      try await TestSite.with { site in
        let lines = Locked(0)
        let log: @Sendable (String) -> Void = { line in
          if line.hasPrefix("connected with") { lines.withLock { $0 += 1 } }
        }
        let first = try await site.run(try await site.replica("a"), log: log)
        let second = try await site.run(try await site.replica("b"), to: [first])
        let both = [try await first.address, try await second.address]
        let third = try await site.run(try await site.replica("c"), to: both, log: log)
        for node in [first, second, third] {
          #expect(try await eventually { await node.connectedCount == 2 })
        }
        await second.stop()
        let fourth = try await site.run(
          try await site.replica("d"), to: [both[0], try await third.address], listen: both[1])
        for node in [first, third, fourth] {
          #expect(try await eventually { await node.connectedCount == 2 })
        }
        try await Task.sleep(for: .seconds(1))
        let before = lines.withLock { $0 }
        try await Task.sleep(for: .seconds(3))
        #expect(lines.withLock { $0 } == before)
      }
    }

    @Test func `without a running node tells its peers all the same`() async throws {
      try await TestSite.with { site in
        let ((_, first), (b, second)) = try await site.two()
        await second.stop()
        let report = try await b.library.leave(force: false)
        #expect(report.left)
        #expect(try await eventually { try await first.status(all: true).peers.isEmpty })
      }
    }

    @Test func `leaves nothing behind but the data`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        try b.write("INSERT INTO item VALUES ('x', '1')")
        #expect(try await eventually { try a.count() == 1 })
        #expect(try await eventually { try await second.isInSync })
        await second.stop()
        #expect(try await b.library.leave(force: false).left)
        #expect(try traces(of: b) == [])
        #expect(try b.rows("PRAGMA journal_mode") == ["delete"])
        #expect(!FileManager.default.fileExists(atPath: b.path + "-flotilla"))
        #expect(try b.rows("SELECT * FROM item") == ["x|1"])
        try b.write("INSERT INTO item VALUES ('y', '2')")
        let error = await #expect(throws: FlotillaError.self) {
          try await b.library.status(all: false)
        }
        #expect(error?.code == .notInitialised)
      }
    }

    @Test func `with edits that nobody has must be forced`() async throws {
      try await TestSite.with { site in
        let ((_, first), (b, second)) = try await site.two()
        await second.stop()
        await first.stop()
        try b.write("INSERT INTO item VALUES ('x', '1')")
        let refused = try await b.library.leave(force: false)
        #expect(!refused.left)
        #expect(refused.unsent_rows == 1)
        #expect(try await b.library.status(all: false).node == "b")
        let forced = try await b.library.leave(force: true)
        #expect(forced.left)
        #expect(try traces(of: b) == [])
        #expect(try b.rows("SELECT * FROM item") == ["x|1"])
      }
    }

    @Test func `with conflicts that nobody has looked at must be forced`() async throws {
      try await TestSite.with { site in
        let ((_, first), (b, second)) = try await site.two()
        try b.write("INSERT INTO item VALUES ('x', '1')")
        #expect(try await eventually { try await first.isInSync })
        #expect(try await eventually { try await second.isInSync })
        try b.write(
          """
          INSERT INTO _flotilla_conflict(name, key, at, reason, rule, loser)
          SELECT 'item', key, 1, 'older', '', NULL FROM _flotilla_version LIMIT 1;
          -- A row that goes on under another number is news, and asks nothing of anybody.
          INSERT INTO _flotilla_conflict(name, key, at, reason, rule, loser, state)
          SELECT 'item', key, 2, 'key-collision', '', NULL, 'rekeyed' FROM _flotilla_version LIMIT 1
          """)
        await second.stop()
        let refused = try await b.library.leave(force: false)
        #expect(!refused.left && refused.unsent_rows == 0 && refused.open_conflicts == 1)
        let id = try #require(try await b.library.conflicts().conflicts.last?.id)
        _ = try await b.library.dismissConflict(id)
        #expect(try await b.library.leave(force: false).left)
      }
    }

    @Test func `while its node runs stops it`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        var options = RunOptions()
        options.listen = "127.0.0.1:0"
        options.discovery = false
        options.peers = [try await first.address]
        let run = Task { [options] in
          try await Replica.run([b.library], options: options, log: { _ in }, ready: { _ in })
        }
        #expect(try await eventually { try await first.isInSync })
        #expect(try await b.library.leave(force: false).left)
        try await run.value
        #expect(try traces(of: b) == [])
        #expect(try b.rows("PRAGMA journal_mode") == ["delete"])
        #expect(try await eventually { try await first.status(all: true).peers.isEmpty })
      }
    }
  }
}
