import Replication
import Testing

@testable import Flotilla

/// What is known of why a node is to stop.
@Suite struct StopRequestTests {
  @Test func `a request stands, and what a later one leaves out remains`() {
    var it = StopRequest()
    #expect(!it.isMade && it.bye == nil && it.failure == nil && !it.startsAgain)
    it.make()
    #expect(it.isMade && it.bye == nil && it.failure == nil && !it.startsAgain)
    let lost = Bye(.stopping, "the file is gone")
    it.make(lost, because: FlotillaError(.notADatabase, "moved"), startsAgain: true)
    it.make()
    #expect(it.bye == lost && it.failure?.message == "moved" && it.startsAgain)
    let leaving = Bye(.leaving, "left")
    it.make(leaving)
    #expect(it.bye == leaving && it.failure?.message == "moved" && it.startsAgain)
  }

  @Test func `who waits goes on at the request, and who comes later at once`() async {
    let node = Waiting()
    async let first: Void = node.wait()
    async let second: Void = node.wait()
    await node.make()
    _ = await (first, second)
    await node.wait()
  }

  private actor Waiting {
    private var request = StopRequest()

    func wait() async { await withCheckedContinuation { request.wait($0) } }
    func make() { request.make() }
  }
}
