import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// A member that says what was deleted and forgotten while others were away.
  @Suite struct `A member that says it has collected` {
    /// What goes was deleted 400 days ago.
    @Test func `cannot put a floor above what is written today`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let link = try await site.talk(to: node, "liar")
        let now = node.clock.now.moment
        func floor(_ days: Int64) -> Floor {
          Floor(
            term: .none, epoch: 0, stamp: Stamp(millisecondsSince1970: now + days * 86_400_000))
        }
        let floors = Floors([1: floor(30), 2: floor(0), 3: floor(-360), 4: floor(-410)])
        try await link.send(.stability(StabilityNews(standing: CutStanding(), floors: floors)))
        let taken = Floors([4: floor(-410)])
        #expect(try await eventually { await node.position.stability.floors == taken })
        link.close()
      }
    }
  }
}
