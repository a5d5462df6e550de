import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// What a node would say may have grown too long for any peer.
  @Suite("A message that is too long") struct TooLongTests {
    @Test func `ends the connection and not the node`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        let session = try #require(await first.sessions.values.first)
        var position = await first.position
        position.age += 1_000
        for number in 1...200_000 as ClosedRange<UInt64> {
          position.frontier.raise(Origin(rawValue: number), to: 1)
        }
        await session.feed(.advanced(position))
        #expect(try await eventually { await session.isClosed })
        // They meet again, and go on.
        try a.write("INSERT INTO item VALUES ('k', 'x')")
        #expect(try await eventually { try b.count() == 1 })
      }
    }
  }
}
