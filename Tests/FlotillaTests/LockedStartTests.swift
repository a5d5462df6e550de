import Foundation
import Replication
import SQLite
import Testing

@testable import Flotilla

extension NodeTests {
  /// A program has the write lock, so the file cannot be told that a run begins.
  @Suite struct `A node that starts while the file is locked` {
    /// A node that runs, and a replica that does not, with an edit that nobody else has got.
    private func withUnsentEdit(
      _ body: (TestSite, _ a: TestReplica, _ first: Node, _ b: TestReplica) async throws -> Void
    ) async throws {
      try await TestSite.with { site in
        let ((a, first), (b, second)) = try await site.two()
        let address = try await first.address
        await first.stop()
        try b.write("INSERT INTO item VALUES ('unsent', '1')")
        #expect(try await eventually { try b.count("_flotilla_journal") == 0 })
        await second.stop()
        try await body(site, a, try await site.run(a, listen: address), b)
      }
    }

    /// The edit arrives, under the origin under which it was written.
    private func expectSameLife(
      _ site: TestSite, _ a: TestReplica, _ first: Node, _ b: TestReplica
    ) async throws {
      let node = try await site.run(b, to: [first])
      #expect(try await eventually { try await node.isInSync })
      #expect(try a.rows("SELECT id FROM item") == ["unsent"])
      #expect(await node.life.number == 1)
      #expect(await node.lifeRemark() == nil)
    }

    @Test func `for one command says so, and tells nobody anything`() async throws {
      try await withUnsentEdit { site, a, first, b in
        let holder = try Connection(path: b.path)
        try holder.execute("BEGIN IMMEDIATE")
        let error = await #expect(throws: FlotillaError.self) {
          try await b.library.sync(with: nil, timeout: .seconds(1))
        }
        #expect(error?.code == .locked)
        #expect(try a.count() == 0)
        try holder.execute("ROLLBACK")
        try await expectSameLife(site, a, first, b)
      }
    }

    @Test func `waits for the lock as long as was said`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, second)) = try await site.two()
        _ = try await a.library.appoint(.here, rule: "newest-wins")
        #expect(try await eventually { await second.anchor != nil })
        await second.stop()
        let (library, limit) = (b.library, Duration.milliseconds(500))
        let edit = "INSERT INTO item VALUES ('late', '1')"
        let commands: [() async throws -> Void] = [
          { _ = try await library.sync(with: nil, timeout: limit) },
          { _ = try await library.wait(for: .all, timeout: limit) },
          { _ = try await library.verify(timeout: limit) },
          { _ = try await library.sqlOnline(edit, timeout: limit) },
          { _ = try await library.sql(edit, timeout: limit) },
        ]
        let holder = try Connection(path: b.path)
        try holder.execute("BEGIN IMMEDIATE")
        for (number, command) in commands.enumerated() {
          let start = ContinuousClock.now
          let error = await #expect(throws: FlotillaError.self) { try await command() }
          #expect(error?.code == .locked, "\(number)")
          let took = ContinuousClock.now - start
          #expect(took < .seconds(4), "\(number): \(took)")
        }
        try holder.execute("ROLLBACK")
        #expect(try b.count() == 0)
      }
    }

    @Test func `meets nobody before the lock is free`() async throws {
      try await withUnsentEdit { site, a, first, b in
        let holder = try Connection(path: b.path)
        try holder.execute("BEGIN IMMEDIATE")
        let peers = [try await first.address]
        let ended = try await site.run(b, to: peers, within: .zero)
        await #expect(throws: FlotillaError.self) {
          try await b.library.sync(with: "a", timeout: .seconds(1))
        }
        #expect(await ended.connectedCount == 0)
        await ended.stop()
        #expect(try a.count() == 0)
        let node = try await site.run(b, to: peers, within: .zero)
        try holder.execute("ROLLBACK")
        #expect(try await eventually { try await node.isInSync })
        await node.stop()
        try await expectSameLife(site, a, first, b)
      }
    }
  }
}
