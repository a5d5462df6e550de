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

    /// It says that it has let go of what nobody else knows of, and that nothing is left.
    @Test func `deletes nothing by saying that others were away`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first.address])
        #expect(try await eventually { try b.count() == 2 })
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        for node in [first, second] { await site.tell(node) }
        let own = await first.position.own
        let mark = Replication.Mark(number: 9, id: 1)
        let standing = CutStanding(whole: mark, cleared: mark)
        let link = try await site.talk(to: first, as: keys, "liar", standing: standing)
        await link.acceptLongFrames()
        var news = StabilityNews(standing: standing)
        news.acknowledgements[keys.identity] = await said(keys, of: keys.identity, mark, in: site)
        try await link.send(.stability(news))
        let claim = "liar says that deleted rows went while this node was away"
        #expect(
          try await eventually {
            try await first.status(all: true).remarks.contains { $0.hasPrefix(claim) }
          })
        // All that is here, and no row.
        let covers = await first.position.frontier
        try await link.send(
          .have(Have(frontier: covers, frontierHash: covers.hash, rootDigest: 0)))
        let kind = Begin.Kind.full(covers: covers)
        try await link.send(.begin(Begin(kind, rows: 0, number: 0)))
        try await link.send(.end(End(rows: 0, check: kind.check(number: 1))))
        #expect(try await rows(on: link) == 0)
        link.close()
        try b.write("INSERT INTO item VALUES ('3', 'z')")
        #expect(try await eventually { try [a.count(), b.count()] == [3, 3] })
        let (here, there) = (await first.position, await second.position)
        #expect(here.own == own && here.stability.cleared == .none)
        #expect(there.stability.cleared == .none)
      }
    }

    @Test func `signs for nobody else that it holds a cut`() async throws {
      try await TestSite.with { site in
        let first = try await site.run(try await site.replica("a"))
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        await site.tell(first)
        let link = try await site.talk(to: first, as: keys, "liar")
        let node = await first.identity.node
        var news = StabilityNews(standing: CutStanding())
        news.acknowledgements[node] = await said(
          keys, of: node, Replication.Mark(number: 9, id: 1), in: site)
        try await link.send(.stability(news))
        var bye: Bye?
        while bye == nil, let message = try? await link.receive() {
          if case .bye(let last) = message { bye = last }
        }
        #expect(bye?.code == .badMessage)
        #expect(await first.position.stability == Stability())
      }
    }

    private func said(
      _ keys: NodeKeys, of node: Identity, _ mark: Replication.Mark, in site: TestSite
    ) async -> Acknowledgement {
      var said = Acknowledgement(
        node: node, mark: mark, last: Dot(Origin.of(node, life: 0, .openSSL), 1))
      said.signature = keys.node.sign(said.text(in: await site.membership.site))
      return said
    }

    /// How many batches of rows come before the end.
    private func rows(on link: MessageLink) async throws -> Int {
      var batches = 0
      try? await link.send(.ping(sent: 77, ClockView(wall: 0)))
      while let message = try? await link.receive() {
        switch message {
        case .rows, .part: batches += 1
        case .pong(77, _), .bye: return batches
        default: break
        }
      }
      return batches
    }
  }
}
