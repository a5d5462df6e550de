import Testing

@testable import Flotilla

/// The order in which peers are asked for what is missing.
@Suite struct PullTurnsTests {
  private func turns(of ids: UInt64...) -> PullTurns {
    var it = PullTurns()
    for id in ids { it.enter(id) }
    return it
  }

  @Test func `one has the turn, and the others wait in the order in which they came`() {
    var it = turns(of: 1, 2, 3)
    #expect(it.next() == 1)
    it.begin(1, at: 0)
    #expect(it.next() == nil && it.waiting == [2, 3])
    let hasEndedAnother = it.end(2)
    #expect(!hasEndedAnother)
    #expect(it.end(1) && it.next() == 2)
    // Who has nothing to send takes no turn.
    #expect(it.next() == 3 && it.next() == nil)
  }

  @Test func `silence loses the turn, and whatever comes keeps it`() {
    var it = turns(of: 1, 2)
    _ = it.next()
    it.begin(1, at: 100)
    it.look(at: 99 + PullTurns.patience)
    #expect(it.current == 1)
    it.hear(1, at: 4_000)
    it.hear(2, at: 5_000)
    it.look(at: 3_999 + PullTurns.patience)
    #expect(it.current == 1)
    it.look(at: 4_000 + PullTurns.patience)
    #expect(it.current == nil && it.next() == 2)
  }

  @Test func `who brings a row now and then keeps the others waiting for half a minute`() {
    var it = turns(of: 1, 2)
    _ = it.next()
    it.begin(1, at: 0)
    for moment in stride(from: 2_500 as Int64, through: 27_500, by: 2_500) {
      it.look(at: moment)
      #expect(it.current == 1)
      it.hear(1, at: moment)
    }
    it.look(at: PullTurns.longest + 10)
    #expect(it.current == nil && it.next() == 2)
    // Who brings much keeps the turn, and so does who holds nobody up.
    it.enter(3)
    it.begin(2, at: 40_000)
    for moment in stride(from: 40_100 as Int64, through: 100_000, by: 100) {
      it.hear(2, at: moment)
      it.look(at: moment)
    }
    #expect(it.current == 2 && it.end(2) && it.next() == 3)
    it.begin(3, at: 100_000)
    for moment in stride(from: 102_500 as Int64, through: 160_000, by: 2_500) {
      it.hear(3, at: moment)
      it.look(at: moment)
    }
    #expect(it.current == 3)
  }

  @Test func `who leaves neither waits nor has the turn`() {
    var it = turns(of: 1, 2, 3, 4)
    _ = it.next()
    it.begin(1, at: 0)
    it.leave(3)
    it.skip(2)
    #expect(it.current == 1 && it.waiting == [4])
    it.leave(1)
    #expect(it.current == nil && it.waiting == [4])
  }
}
