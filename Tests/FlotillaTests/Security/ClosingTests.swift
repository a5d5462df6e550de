import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// What a member says of others counts as far as these have signed for it.
  @Suite struct `A site that a version before has founded` {
    @Test func `is closed by an admin's node, and what was there before stays`() async throws {
      try await TestSite.with(isClosed: false) { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        // Of a member that is gone there is no signature.
        let gone = Origin(rawValue: 4_711)
        try a.write("INSERT INTO item VALUES ('from a', 'x')")
        try a.write("INSERT INTO _flotilla_origin(origin, seq) VALUES (4711, 6)")
        let first = try await site.run(a)
        #expect(await first.position.frontier[gone] == 6)
        let second = try await site.run(b, to: [first.address])
        try b.write("INSERT INTO item VALUES ('from b', 'x')")
        #expect(
          try await eventually {
            let exempt = await [first.roster.roll.exempt, second.roster.roll.exempt]
            return exempt.allSatisfy { $0?.contains(gone) == true }
          })
        #expect(
          try await eventually {
            let (here, there) = (await first.position.frontier, await second.position.frontier)
            return try [a.count(), b.count()] == [2, 2] && here == there && there[gone] == 6
          })
        let origins = await [first.position.own, second.position.own]
        #expect(
          try await eventually {
            let known = await [first.position.reaches, second.position.reaches]
            return known.allSatisfy { reaches in origins.allSatisfy { reaches[$0] != nil } }
          })
      }
    }

    /// The admin that closed it may never have met those who had that.
    @Test func `is told by any admin's node what else was there before`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO _flotilla_origin(origin, seq) VALUES (4711, 6)")
        let node = try await site.run(a)
        #expect(
          try await eventually {
            await node.roster.roll.exempt?.contains(Origin(rawValue: 4_711)) == true
          })
        #expect(await node.roster.roll.exempt?.contains(node.position.own) == false)
      }
    }
  }
}
