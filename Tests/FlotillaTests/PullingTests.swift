import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Asking one peer after the other.
  @Suite struct `A node that asks its peers` {
    private func have(from link: MessageLink) async throws -> Have {
      while true { if case .have(let have) = try await link.receive() { return have } }
    }

    @Test func `tells one that has nothing for it what it holds, whoever's turn it is`()
      async throws
    {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let silent = try await site.talk(to: node)
        _ = try await have(from: silent)
        let turn = await node.pullTurns.current
        #expect(turn != nil)
        // It might wait for us as we wait for the silent one, and that one for it.
        let waiting = try await site.talk(to: node)
        let nothing = Have(
          frontier: Frontier(), frontierHash: Frontier().hash, rootDigest: 0, asks: false)
        try await waiting.send(.have(nothing))
        _ = try await have(from: waiting)
        #expect(await node.pullTurns.current == turn)
        silent.close()
        waiting.close()
      }
    }

    @Test func `gives the turn to the next when all that a peer has is here`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let first = try await site.talk(to: node)
        _ = try await have(from: first)
        let turn = await node.pullTurns.current
        let second = try await site.talk(to: node)
        let more = Frontier([Origin(rawValue: 77): 1])
        try await second.send(
          .have(Have(frontier: more, frontierHash: more.hash, rootDigest: 1, asks: false)))
        #expect(try await eventually { await node.peers.values.contains { $0.holds == more } })
        #expect(await node.pullTurns.waiting.count == 1)
        #expect(await node.pullTurns.current == turn)
        try await first.send(
          .have(
            Have(
              frontier: Frontier(), frontierHash: Frontier().hash, rootDigest: 0, asks: false)))
        _ = try await have(from: second)
        #expect(await node.pullTurns.current.map { $0 != turn } == true)
        first.close()
        second.close()
      }
    }
  }
}

/// When a first copy is given up.
@Suite struct CopyWatchTests {
  @Test func `a copy that goes on, by rows or by bytes, is not given up`() {
    var watch = CopyWatch(at: 0)
    for step in 1...100 as ClosedRange<Int64> {
      let (now, isOdd) = (step * 29_000, step % 2 == 1)
      let bytes = Int(step / 2) * CopyWatch.trickle
      let isStalled = watch.isStalled(
        rows: UInt64(isOdd ? step : step - 1), bytes: bytes, at: now)
      #expect(!isStalled)
    }
  }

  @Test func `pings alone are no progress`() {
    var watch = CopyWatch(at: 0)
    let isStalled = (1...30 as ClosedRange<Int64>).map { second in
      watch.isStalled(rows: 0, bytes: Int(second) * 40, at: second * 1_000)
    }
    #expect(isStalled.firstIndex(of: true) == 29)
  }

  @Test func `a new connection counts from its own beginning`() {
    var watch = CopyWatch(at: 0)
    let first = watch.isStalled(rows: 0, bytes: 1 << 30, at: 1_000)
    let broken = watch.isStalled(rows: 0, bytes: 0, at: 20_000)
    let again = watch.isStalled(rows: 0, bytes: CopyWatch.trickle, at: 30_000)
    let later = watch.isStalled(rows: 0, bytes: CopyWatch.trickle, at: 59_999)
    #expect([first, broken, again, later] == [false, false, false, false])
  }
}
