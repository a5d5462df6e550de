import Replication
import Testing

@testable import Flotilla

/// How a sync tells who is done.
@Suite struct SyncRoundTests {
  private let desk = Identity(high: 0, low: 1)
  private let hall = Identity(high: 0, low: 2)
  private let here = Frontier([Origin(rawValue: 1): 5])

  private func peer(
    _ node: Identity, holds: Frontier = Frontier(), traffic: Int = 0
  ) -> PeerRecord {
    var peer = PeerRecord(node, name: node == desk ? "desk" : "hall")
    peer.holds = holds
    peer.traffic.count(sent: true, rows: traffic)
    peer.traffic.count(sent: false, rows: 2 * traffic)
    return peer
  }

  private func error(_ it: SyncRound, _ peer: PeerRecord) -> String? {
    it.report(peer.node, [peer.node: peer], here: here, since: 0, at: 9)?.error
  }

  @Test func `a member is done after an exchange each way that has brought all`() {
    var it = SyncRound(mark: here)
    it.enter(desk, before: nil, error: nil)
    #expect(error(it, peer(desk)) == SyncReport.late)
    #expect(error(it, peer(desk, traffic: 3)) == SyncReport.late)
    let done = peer(desk, holds: here, traffic: 3)
    #expect(error(it, done) == nil)
    it.enter(desk, before: done.traffic, error: nil)
    #expect(error(it, done) == SyncReport.late)
  }

  @Test func `the end is noted once, and rows of the round alone are told`() throws {
    var it = SyncRound(mark: here)
    let before = peer(desk, traffic: 10).traffic
    it.enter(desk, before: before, error: nil)
    var done = peer(desk, holds: here, traffic: 10)
    done.traffic.count(sent: true, rows: 1)
    done.traffic.count(sent: false, rows: 2)
    #expect(it.hasEnded(desk, [desk: done], here: here))
    it.noteEnds([desk: done], here: here, at: 1_500)
    it.noteEnds([desk: done], here: here, at: 2_500)
    #expect(!it.hasEnded(desk, [desk: done], here: here))
    let report = try #require(it.report(desk, [desk: done], here: here, since: 500, at: 9_999))
    #expect(report.seconds == 1 && report.sent_rows == 1 && report.received_rows == 2)
  }

  @Test func `who is cut off is not waited for, nor who has left or is away`() {
    var rounds = SyncRounds()
    let (first, second) = (rounds.begin(here), rounds.begin(here))
    rounds[first].enter(desk, before: nil, error: nil)
    rounds[second].enter(hall, before: nil, error: "not in reach")
    let peers = [desk: peer(desk), hall: peer(hall)]
    #expect(!rounds[first].isSettled(desk, peers, here: here))
    #expect(!rounds[first].isSettled(hall, peers, here: here))
    #expect(rounds[first].isSettled(desk, [:], here: here))
    #expect(rounds[second].isSettled(hall, peers, here: here))
    rounds.cut(peer(desk), "cut", here: here)
    rounds.cut(peer(hall), "cut", here: here)
    #expect(rounds[first].isSettled(desk, peers, here: here))
    #expect(error(rounds[first], peer(desk)) == "cut")
    #expect(error(rounds[second], peer(hall)) == "not in reach")
    rounds.end(first)
    rounds[first].enter(desk, before: nil, error: nil)
    #expect(rounds[first].members.isEmpty)
  }

  @Test func `nobody is asked without a connection`() {
    var it = SyncRound(mark: here)
    it.enter(desk, before: nil, error: nil)
    let asked = it.takeQuestion([desk: peer(desk, holds: here)], here: here)
    #expect(asked == nil)
  }

  @Test func `how far it is is told once something was missing`() {
    var it = SyncRound(mark: here)
    let told = [0, 8, 2].map { it.progress(left: $0) }
    #expect(
      told == [nil, WorkProgress(.exchanging, 0, of: 8), WorkProgress(.exchanging, 6, of: 8)])
  }
}
