import Replication
import Testing

@Suite struct NumberBlocksTests {
  @Test func `each member has blocks of its own, by turns`() {
    let size = NumberBlocks.size
    #expect(NumberBlocks(member: 0, of: 3).start(after: 0) == 0)
    #expect(NumberBlocks(member: 1, of: 3).start(after: 0) == size)
    #expect(NumberBlocks(member: 2, of: 3).start(after: 7) == 2 * size)
    // It has seen numbers of a later block: its own comes again after all others.
    #expect(NumberBlocks(member: 0, of: 3).start(after: size + 1) == 4 * size)
    #expect(NumberBlocks(member: 1, of: 3).start(after: 2 * size) == (4 + 1) * size)
  }

  @Test func `a member goes on in its block until half of it is used`() {
    let (mine, size) = (NumberBlocks(member: 3, of: 3), NumberBlocks.size)
    let last = 3 * size + size / 2
    #expect(mine.start(after: 3 * size + 9) == 3 * size + 9)
    #expect(mine.start(after: last) == last)
    #expect(mine.start(after: last + 1) == (4 + 3) * size)
    #expect(mine.start(after: 3 * size + 9, leaves: 1) == (4 + 3) * size)
  }

  @Test func `lives that begin from one state of the file begin in blocks of their own`() {
    let (mine, size) = (NumberBlocks(member: 3, of: 3), NumberBlocks.size)
    for last in [3 * size + 9, 4 * size + 9] {
      let starts = (1...16 as ClosedRange<UInt64>).compactMap {
        mine.start(after: last, leaves: NumberBlocks.left(by: $0))
      }
      #expect(Set(starts).count == 16)
      #expect(starts.allSatisfy { $0 / size % 4 == 3 && $0 > last })
    }
  }

  @Test func `two members never give one number, whatever they have seen`() {
    var last: [Int64] = [0, 0, 0]
    var given: Set<Int64> = []
    for step in 0..<3_000 {
      let member = step * 7 % 3
      // One in five has heard of all the others.
      let seen = step % 5 == 0 ? last.max() ?? 0 : last[member]
      guard let start = NumberBlocks(member: Int64(member), of: 3).start(after: seen) else {
        Issue.record("no block is left")
        return
      }
      last[member] = start + 1
      #expect(given.insert(start + 1).inserted)
    }
  }

  @Test func `there are turns for all who were ever admitted, and no more than twice as many`() {
    let size = NumberBlocks.size
    for (count, turns) in [(0, 4), (4, 4), (5, 8), (9, 16), (1_000, 1_024), (9_999, 1_024)] {
      let blocks = NumberBlocks(member: 1, of: Int64(count))
      #expect(blocks.start(after: 2 * size) == (Int64(turns) + 1) * size)
    }
  }

  @Test func `where none is left nothing is arranged`() {
    for last in [Int64.max, NumberBlocks.limit, NumberBlocks.limit - 1, -1] {
      #expect(NumberBlocks(member: 5, of: 3).start(after: last) == nil)
    }
    #expect(NumberBlocks(member: -4, of: 3) == NumberBlocks(member: 0, of: 3))
    #expect(NumberBlocks(member: 1_024, of: 5_000) == NumberBlocks(member: 0, of: 1_024))
  }
}
