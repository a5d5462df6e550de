import Replication
import Testing

@testable import Flotilla

/// How often a member may have first copies as pages.
@Suite struct CopyRationsTests {
  private static let one = Identity(high: 0, low: 1)
  private static let other = Identity(high: 0, low: 2)

  @Test func `are had a few times at once, and then once a minute`() {
    var it = CopyRations()
    for _ in 0...CopyRations.atOnce {
      #expect(it.mayHave(9, Self.one, at: 1_000) == true)
      it.note(9, of: 9, Self.one, at: 1_000)
    }
    #expect(it.mayHave(9, Self.one, at: 60_999) == false)
    #expect(it.mayHave(9, Self.one, at: 61_000) == true)
    it.note(9, of: 9, Self.one, at: 61_000)
    #expect(it.mayHave(9, Self.one, at: 120_999) == false)
    // Others have theirs.
    #expect(it.mayHave(9, Self.other, at: 61_000) == true)
  }

  @Test func `cost no more in many parts than whole`() {
    var it = CopyRations()
    let bytes = 1_234_567
    for _ in 0...CopyRations.atOnce {
      #expect(it.mayHave(bytes, Self.one, at: 1) == true)
      for _ in 0..<1_000 { it.note(bytes / 1_000, of: bytes, Self.one, at: 1) }
    }
    #expect(it.mayHave(bytes, Self.one, at: 1) == false)
  }

  @Test func `take longer if they are large`() {
    var it = CopyRations()
    let bytes = 4 << 30
    for _ in 0...CopyRations.atOnce { it.note(bytes, of: bytes, Self.one, at: 0) }
    #expect(it.mayHave(bytes, Self.one, at: 1_048_575) == false)
    #expect(it.mayHave(bytes, Self.one, at: 1_048_576) == true)
  }

  @Test func `go on where they were cut, however often`() {
    var it = CopyRations()
    it.note(1 << 20, of: 1 << 20, Self.one, at: 0)
    // Each time it comes a hundredth further.
    for _ in 0..<100 {
      #expect(it.mayHave(1 << 20, Self.one, at: 0) == true)
      it.note((1 << 20) / 100, of: 1 << 20, Self.one, at: 0)
    }
    #expect(it.mayHave(1 << 20, Self.one, at: 0) == true)
  }
}
