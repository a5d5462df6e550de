import Replication
import Testing

/// Questions of a member for the schema of another one, and their answers.
@Suite struct DescribingTests {
  static let offer = Offer(siteName: "clinic", rows: 7, objects: 2)
  static let table = SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a PRIMARY KEY)")
  static let index = SchemaObject(kind: .index, name: "i", sql: "CREATE INDEX i ON t(a)")

  @Test func `are answered with what a joiner is told`() {
    var it = Conversation.known()
    #expect(it.hear(.describe) == [.describe])
    #expect(
      it.feed(.offer(Self.offer, [Self.table, Self.index])).sent
        == [.offer(Self.offer), .schema(Self.table), .schema(Self.index)])
    // Once for each question.
    #expect(it.feed(.offer(Self.offer, [Self.table])).isEmpty)
    #expect(it.hear(.describe) == [.describe])
  }

  @Test func `end with the last object that was offered`() {
    var it = Conversation.known()
    for _ in 1...2 {
      #expect(it.feed(.describe).sent == [.describe])
      #expect(it.feed(.describe).isEmpty)
      #expect(it.hear(.offer(Self.offer)).isEmpty)
      #expect(it.hear(.schema(Self.table)).isEmpty)
      #expect(it.hear(.schema(Self.index)) == [.described([Self.table, Self.index])])
    }
    it.feed(.describe)
    let empty = Offer(siteName: "clinic", rows: 0, objects: 0)
    #expect(it.hear(.offer(empty)) == [.described([])])
  }

  @Test(
    arguments: [
      [.schema(table)], [.offer(offer)], [.describe, .describe],
    ] as [[Message]])
  func `that nobody has asked end the session`(messages: [Message]) {
    var it = Conversation.known()
    var all: [Session.Directive] = []
    for message in messages { all = it.hear(message) }
    #expect(all.bye == .badMessage)
  }

  @Test(
    arguments: [
      [.schema(table)], [.offer(offer), .offer(offer)],
      [.offer(offer), .schema(table), .schema(index), .schema(table)],
    ] as [[Message]])
  func `that are answered out of order end the session`(messages: [Message]) {
    var it = Conversation.known()
    it.feed(.describe)
    var all: [Session.Directive] = []
    for message in messages { all = it.hear(message) }
    #expect(all.bye == .badMessage)
  }

  @Test func `are not answered without end`() {
    var it = Conversation.known()
    it.feed(.describe)
    it.hear(.offer(Offer(siteName: "", rows: 0, objects: UInt64(Limits.schemaObjects))))
    let long = String(repeating: "x", count: Limits.schemaText)
    let object = SchemaObject(kind: .view, name: "v", sql: long)
    for _ in 0..<Limits.schemaBytes / Limits.schemaText - 1 {
      #expect(it.hear(.schema(object)).isEmpty)
    }
    #expect(it.hear(.schema(object)).bye == .badMessage)
  }
}
