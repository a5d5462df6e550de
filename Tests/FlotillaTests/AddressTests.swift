import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// How members learn where others are.
  @Suite struct `Addresses` {
    @Test func `that were heard of are remembered, though who told them is gone`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        let middle = try await site.run(b)
        let left = try await site.run(a, to: [middle])
        let address = try await left.address
        #expect(try await eventually { await left.connectedCount == 1 })
        // When the third hears of it, nobody answers there.
        await left.stop()
        #expect(try await eventually { await middle.connectedCount == 0 })
        let right = try await site.run(c, to: [middle])
        #expect(try await eventually { await right.knows(left.identity.node, at: address) })
        await middle.stop()
        await right.stop()
        _ = try await site.run(a, listen: address)
        let again = try await site.run(c)
        #expect(try await eventually { await again.connectedCount == 1 })
      }
    }

    @Test func `of a member that comes are told to those who are here already`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        var late = try await site.run(c)
        let address = try await late.address
        await late.stop()
        let middle = try await site.run(b, to: [address])
        // It dials from 127.0.0.1, where it does not listen: only it can dial the one that comes.
        let first = try await site.run(a, to: [middle], listen: "127.0.0.2:0")
        #expect(try await eventually { await first.connectedCount == 1 })
        late = try await site.run(c, listen: address)
        #expect(try await eventually { await first.connectedCount == 2 })
      }
    }

    @Test func `of a node that runs for one command alone are not told`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let address = try await first.address
        let report = try await b.library.sync(with: address, timeout: .seconds(10))
        #expect(report.peers.map(\.error) == [nil])
        #expect(await first.peers.values.map(\.address) == [nil])
      }
    }
  }
}

extension Node {
  fileprivate func knows(_ node: Identity, at address: String) -> Bool {
    peers[node]?.address == address
  }
}
