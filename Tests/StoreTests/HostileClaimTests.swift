import Replication
import SQLite
import Testing

@testable import Store

/// A member that may write claims things about others: what nobody could pass on is not taken.
@Suite struct HostileClaimTests {
  private func merge(
    _ replica: TestReplica, covers: Frontier, judged: Judged? = nil, signedTerm: UInt64? = nil
  ) throws {
    var merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [], rowsBefore: 0,
      checkBefore: 0, end: End(rows: 0, check: 0), movesFrontier: true)
    (merge.judged, merge.signedTerm) = (judged, signedTerm)
    _ = try replica.store.merge(merge, at: replica.now)
  }

  private func invented(from first: UInt64, count: Int) -> Frontier {
    Frontier(
      Dictionary(
        uniqueKeysWithValues: (0..<UInt64(count)).map { (Origin(rawValue: first + $0), 1) }))
  }

  @Test func `invented origins leave room for those of members`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    try merge(replica, covers: invented(from: 100, count: 1_000))
    #expect(throws: StoreError.self) {
      try merge(replica, covers: invented(from: 100_000, count: 15_000))
    }
    #expect(replica.store.position.frontier.list.count <= Limits.strangeOrigins + 1)
    // A node that begins a new life is heard all the same.
    let life = Origin(rawValue: 77)
    try replica.store.note([
      KnownAuthor(origin: life, node: Identity(high: 2, low: 2), name: "b", life: 5)
    ])
    try merge(replica, covers: invented(from: 100, count: 1_000).joined(Frontier([life: 3])))
    for number in 0..<40 as Range<UInt64> {
      try? merge(replica, covers: invented(from: 1_000_000 * number, count: 1))
    }
    try merge(replica, covers: Frontier([life: 4]))
    #expect(replica.store.position.frontier[life] == 4)
    #expect(replica.store.position.frontier.list.count <= Limits.strangeOrigins + 2)
  }

  @Test func `what was judged stays short enough to be told`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let term = Term(number: 1, incarnation: 1)
    let held = invented(from: 50, count: 20)
    for round in 1...5 as ClosedRange<UInt64> {
      let frontier = invented(from: round * 1_000_000, count: Limits.frontierEntries - 20)
      try merge(
        replica, covers: held, judged: Judged(term: term, frontier: frontier.joined(held)))
      let judged = replica.store.currentJudged
      #expect(judged.frontier.covers(held) && judged.frontier.list.count <= 1_024)
      #expect(try Judged(judged.bytes) == judged)
    }
  }

  @Test func `a term that nobody was appointed for unseats no anchor`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let governance = Governance(
      term: Term(number: 1, incarnation: 5), isHeld: true, isOwn: true, isFirst: true)
    _ = try replica.store.govern(governance, at: replica.now)
    #expect(replica.store.currentOffice.part == .judging)
    for number in [18, 1 << 32, 1 << 62] as [UInt64] {
      let judged = Judged(term: Term(number: number, incarnation: 1))
      #expect(throws: StoreError.self) {
        try merge(replica, covers: Frontier(), judged: judged, signedTerm: 1)
      }
    }
    #expect(replica.store.currentOffice.part == .judging)
    #expect(replica.store.currentJudged.term.number <= 1)
    // One that is on its way does.
    let next = Judged(term: Term(number: 2, incarnation: 1))
    try merge(replica, covers: Frontier(), judged: next, signedTerm: 1)
    #expect(replica.store.currentOffice.part == .none)
  }
}
