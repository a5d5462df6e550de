import Foundation
import Replication
import SQLite
import Store
import Testing

@testable import Flotilla

extension NodeTests {
  /// First copies that were cut off.
  @Suite struct `A first copy` {
    /// A replica as a join that is cut off right after it became a member leaves it.
    private func half(_ name: String, from inviter: Node, in site: TestSite) async throws
      -> TestReplica
    {
      let replica = TestReplica(name: name, path: "\(site.folder)/\(name).db")
      try Connection(path: replica.path, mode: .create).execute(TestSite.schema)
      let who = await inviter.identity
      let keys = NodeKeys()
      await site.admit(keys, name)
      try replica.library.create(
        await site.identities(keys, name), keys,
        copying: FirstCopy(
          inviter: who.node, name: who.name, address: try await inviter.address, rows: 100))
      return replica
    }

    private func first(in site: TestSite) async throws -> Node {
      let a = try await site.replica("a")
      try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
      return try await site.run(a)
    }

    @Test func `that was cut off shows in the status`() async throws {
      try await TestSite.with { site in
        let b = try await half("b", from: try await first(in: site), in: site)
        let status = try await b.library.status(all: false)
        #expect(status.first_copy == StatusReport.FirstCopy(from: "a", rows: 0, of: 100))
        #expect(!status.in_sync)
        #expect(status.peers.map(\.node) == ["a"])
        let remark = try #require(status.remarks.first)
        #expect(remark.contains("from a is not complete"))
        #expect(remark.contains("flotilla run ") && remark.contains("flotilla join "))
      }
    }

    /// By a code that nobody knows, and by one of a site whose table has another key.
    @Test(arguments: ["wal", "delete"], [false, true])
    func `that does not begin leaves what a program has put into the file`(
      _ mode: String, _ isKnown: Bool
    ) async throws {
      try await TestSite.with { site in
        let a = try await first(in: site)
        let code =
          isKnown
          ? try await a.invite(timeToLive: .seconds(60), role: "writer").code
          : RandomNumbers.inviteCode().description
        let proxy = try await TestProxy(to: a.address, dripAfter: 0)
        await proxy.start()
        let path = "\(site.folder)/b.db"
        let joining = Task {
          try await TestReplica(name: "b", path: path).library.join(
            code: code, node: "b", at: proxy.address, progress: { _ in })
        }
        #expect(try await eventually { FileManager.default.fileExists(atPath: path) })
        let program = try Connection(path: path)
        program.setBusyTimeout(milliseconds: 5_000)
        try program.execute(
          """
          PRAGMA journal_mode = \(mode);
          CREATE TABLE item(n INTEGER PRIMARY KEY, text TEXT); INSERT INTO item VALUES (1, 'own')
          """)
        await proxy.open()
        let error = await #expect(throws: FlotillaError.self) { try await joining.value }
        #expect(
          error?.message.contains(isKnown ? "primary keys do not fit" : "no such code") == true)
        try program.execute("INSERT INTO item VALUES (2, 'more')")
        let rows = try Connection(path: path).rows("SELECT text FROM item")
        #expect(rows.map { $0[0].string } == ["own", "more"])
        await proxy.stop()
      }
    }

    @Test(arguments: ["wal", "delete"])
    func `that does not begin takes away an empty file, in which nobody can write then`(
      _ mode: String
    ) async throws {
      try await TestSite.with { site in
        let b = TestReplica(name: "b", path: "\(site.folder)/b.db")
        #expect(try b.library.prepare())
        let program = try Connection(path: b.path)
        try program.execute("PRAGMA journal_mode = \(mode); SELECT * FROM sqlite_schema")
        b.library.removeEmpty()
        // "EXCLUSIVE" is had beside nobody in WAL.
        let isThere = FileManager.default.fileExists(atPath: b.path)
        #expect(isThere == (mode == "wal"))
        let write = "CREATE TABLE item(n INTEGER PRIMARY KEY)"
        if isThere {
          try program.execute(write)
        } else {
          #expect(throws: SQLiteError.self) { try program.execute(write) }
          let left = try FileManager.default.contentsOfDirectory(atPath: site.folder)
          #expect(!left.contains { $0.hasPrefix("b.db") }, "\(left)")
        }
      }
    }

    @Test func `goes on with the same join, which needs no code that is good`() async throws {
      try await TestSite.with { site in
        let b = try await half("b", from: try await first(in: site), in: site)
        func join() async throws -> JoinReport {
          try await b.library.join(
            code: RandomNumbers.inviteCode().description, node: "other", at: nil, progress: { _ in }
          )
        }
        let report = try await join()
        #expect(report.node == "b" && report.from == "a" && report.site == "Test")
        #expect(report.rows == 2)
        #expect(try b.rows("SELECT * FROM item ORDER BY id") == ["1|x", "2|y"])
        #expect(try await b.library.status(all: false).first_copy == nil)
        let error = await #expect(throws: FlotillaError.self) { try await join() }
        #expect(error?.code == .alreadyInitialised)
      }
    }

    @Test func `goes on with a node, beside which join says so`() async throws {
      try await TestSite.with { site in
        let a = try await first(in: site)
        let b = try await half("b", from: a, in: site)
        await a.stop()
        let node = try await site.run(b)
        let status = try await b.library.status(all: false)
        #expect(!status.in_sync)
        #expect(status.remarks.first?.contains("it goes on when a is in reach") == true)
        let error = await #expect(throws: FlotillaError.self) {
          try await b.library.join(
            code: RandomNumbers.inviteCode().description, node: nil, at: nil, progress: { _ in })
        }
        #expect(error?.message.contains("its node makes the first copy") == true)
        let again = try await site.run(TestReplica(name: "a", path: a.path))
        _ = try await node.sync(with: try await again.address, timeout: .seconds(10))
        #expect(try await eventually { await node.copy.unfinished == nil })
        #expect(try b.count() == 2)
        #expect(try await eventually { try await node.isInSync })
      }
    }

    @Test func `is complete with what any member brings, once its goal is known`() async throws {
      try await TestSite.with { site in
        let a = try await first(in: site)
        let c = try await site.replica("c")
        let third = try await site.run(c, to: [a])
        #expect(try await eventually { try await third.isInSync })
        let (b, d) = (
          try await half("b", from: a, in: site), try await half("d", from: a, in: site)
        )
        let goal = await a.position.frontier
        await a.stop()
        // Two halves are no whole, however equal they are.
        let fourth = try await site.run(d)
        let store = try Store(path: b.path)
        let inviter = try #require(try store.members.peers().first)
        var told = inviter
        told.frontier = goal
        try store.members.save([told])
        let second = try await site.run(b, to: [fourth])
        #expect(
          try await eventually {
            try await second.status(all: false).peers.contains {
              $0.node == "d" && $0.state == .inSync
            }
          })
        #expect(await second.copy.unfinished != nil)
        #expect(await fourth.copy.unfinished != nil)
        _ = try await second.sync(with: try await third.address, timeout: .seconds(10))
        #expect(try await eventually { await second.copy.unfinished == nil })
        #expect(try b.count() == 2)
      }
    }
  }
}
