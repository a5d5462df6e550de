import Testing

@testable import Replication

@Suite struct LivesByWordTests {
  private let node = Identity(high: 1, low: 1)

  private func member(_ number: UInt64) -> Identity { Identity(high: 2, low: number) }

  private func at(_ hours: Int64) -> Instant {
    Instant(uptime: hours * 3_600_000, wall: 0)
  }

  @Test func `the word of one member counts twice`() {
    var lives = LivesByWord()
    let taken = (0..<5).map { lives.mayBegin(by: member(1), at: at($0)) }
    #expect(taken == [true, true, false, false, false] && lives.count == 2)
    #expect(!lives.isBelieved(member(1)) && lives.isBelieved(member(2)))
  }

  @Test func `that of all counts eight times, then once an hour`() {
    var lives = LivesByWord()
    let taken = (0..<12 as Range<UInt64>).map { lives.mayBegin(by: member($0), at: at(0)) }
    #expect(taken.filter(\.self).count == 8 && !taken[8])
    let later = [(20, 1), (21, 1), (21, 2)].map { lives.mayBegin(by: member($0), at: at($1)) }
    #expect(later == [true, false, true])
  }
}

@Suite struct MergeFirsthandTests {
  private static let (known, other) = (Origin(rawValue: 1), Origin(rawValue: 2))

  private func version(_ origin: Origin, _ seq: UInt64) -> Version {
    let dot = Dot(origin, seq)
    return Version(dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
  }

  private func merge(_ kind: Begin.Kind) -> Merge {
    Merge(
      sender: Identity(high: 1, low: 1), kind: kind, batches: [], rowsBefore: 0, checkBefore: 0,
      end: End(rows: 0, check: 0), movesFrontier: true)
  }

  @Test func `of an origin that is known at first hand no more is covered`() {
    let covers = Frontier([Self.known: 1 << 40, Self.other: 9])
    let merge = merge(.full(covers: covers)).believing([Self.known: 5])
    #expect(merge.claim == Frontier([Self.known: 5, Self.other: 9]))
    #expect(self.merge(.full(covers: covers)).believing([Self.known: 0]).claim[Self.known] == 0)
    #expect(self.merge(.full(covers: covers)).believing([:]).claim == covers)
    let less = Frontier([Self.known: 3])
    #expect(self.merge(.full(covers: less)).believing([Self.known: 5]).claim == less)
  }

  @Test func `rows beyond it are hearsay, and so is how far they were worked through`() {
    let covers = Frontier([Self.known: 1 << 40, Self.other: 9])
    var merge = merge(.full(covers: covers)).believing([Self.known: 5])
    #expect(merge.isHearsay(version(Self.known, 6)) && !merge.isHearsay(version(Self.known, 5)))
    #expect(!merge.isHearsay(version(Self.other, 6)))
    merge.movesFrontier = false
    #expect(merge.progress(after: Dot(Self.other, 7)) == Frontier([Self.known: 5, Self.other: 7]))
  }
}
