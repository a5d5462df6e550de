import Testing

@testable import Replication

/// A peer can name origins without end; a session takes no more than a frontier may have.
@Suite struct OriginLimitTests {
  /// As many origins as travel in one frontier, from a number on.
  private func origins(from first: UInt64, count: Int = Limits.frontierEntries) -> Frontier {
    Frontier(
      Dictionary(
        uniqueKeysWithValues: (0..<UInt64(count)).map { (Samples.origin(first + $0), 1) }))
  }

  @Test func `a second Have with other origins ends the session`() {
    var conversation = Conversation.known()
    #expect(conversation.hear(.have(conversation.have(origins(from: 100)))).bye == nil)
    let directives = conversation.hear(.have(conversation.have(origins(from: 100_000))))
    #expect(directives.bye == .badMessage)
    #expect(conversation.session.outgoing.peerFrontier.entries.count <= Limits.frontierEntries)
  }

  @Test func `an exchange that covers too many origins is refused at its Begin`() {
    var conversation = Conversation.known(holding: origins(from: 100))
    let begin = Begin(.full(covers: origins(from: 100_000)), rows: 0)
    #expect(conversation.hear(.begin(begin)).bye == .badMessage)
  }

  @Test func `a frontier of as many origins as may be is taken`() {
    var conversation = Conversation.known(holding: origins(from: 100, count: 16_000))
    let begin = Begin(.full(covers: origins(from: 100)), rows: 0)
    #expect(conversation.hear(.begin(begin)).bye == nil)
  }
}
