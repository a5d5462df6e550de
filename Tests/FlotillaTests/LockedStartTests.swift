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
      #expect(await node.life == 1)
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

    @Test func `meets nobody before the lock is free`() async throws {
      try await withUnsentEdit { site, a, first, b in
        let holder = try Connection(path: b.path)
        try holder.execute("BEGIN IMMEDIATE")
        let ended = try await site.run(b, to: [first])
        await #expect(throws: FlotillaError.self) {
          try await b.library.sync(with: "a", timeout: .seconds(1))
        }
        #expect(await ended.connectedCount == 0)
        await ended.stop()
        #expect(try a.count() == 0)
        let node = try await site.run(b, to: [first])
        try holder.execute("ROLLBACK")
        #expect(try await eventually { try await node.isInSync })
        await node.stop()
        try await expectSameLife(site, a, first, b)
      }
    }
  }
}
