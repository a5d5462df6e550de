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
