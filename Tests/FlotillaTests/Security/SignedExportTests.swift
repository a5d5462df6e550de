import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  @Suite struct `An export` {
    /// The news of a commit may reach a session later than the export that covers it: then it would
    /// send what it has no signature for, and nobody would take that.
    @Test func `goes with a signature for all that it covers, whatever its session has heard`()
      async throws
    {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let node = try await site.run(a)
        _ = try await site.run(b, to: [node])
        try a.write("INSERT INTO item VALUES ('first', 'x')")
        #expect(try await eventually { try b.count() == 1 })
        #expect(try await eventually { try await node.isInSync })
        await node.hearNoMore()
        try a.write("INSERT INTO item VALUES ('second', 'x')")
        for session in await node.sessions.values { await session.feed(.ask) }
        #expect(try await eventually { try b.count() == 2 })
      }
    }
  }
}

extension Node {
  /// All that the store tells from now on is taken for old.
  fileprivate func hearNoMore() { position.age = .max }
}
