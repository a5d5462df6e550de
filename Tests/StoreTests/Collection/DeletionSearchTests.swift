import Replication
import Testing

@testable import Store

/// When deleted versions are looked for.
@Suite struct DeletionSearchTests {
  private let some = Frontier([Origin(rawValue: 1): 5])
  private let more = Frontier([Origin(rawValue: 1): 6])

  /// Whether each of these would begin a look, or goes on with one.
  private func begins(
    _ it: inout DeletionSearch, _ moments: [(stable: Frontier, at: Int64)]
  ) -> [Bool] {
    moments.map { it.begin($0.stable, pause: 100, at: $0.at) }
  }

  @Test func `a look is begun after a pause, and goes on until all versions were looked at`() {
    var it = DeletionSearch()
    #expect(begins(&it, [(some, 0), (some, 1), (more, 2)]) == [true, true, true])
    #expect(it.isRunning)
    it.goOn(after: nil)
    #expect(!it.isRunning)
    #expect(begins(&it, [(more, 99), (some, 100)]) == [false, true])
  }

  @Test func `what had to wait is looked at again when more is everywhere`() {
    var it = DeletionSearch()
    _ = it.begin(some, pause: 100, at: 0)
    it.holdUp()
    #expect(!it.waits(beyond: some))
    it.goOn(after: nil)
    #expect(it.waits(beyond: some) && !it.waits(beyond: more))
    #expect(begins(&it, [(some, 1), (more, 2)]) == [false, true])
    it.goOn(after: nil)
    #expect(!it.waits(beyond: more))
  }
}
