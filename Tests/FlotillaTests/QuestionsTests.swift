import Replication
import Store
import Testing

@testable import Flotilla

/// What members were asked, and what counts as an answer.
@Suite struct QuestionsTests {
  private let objects = [SchemaObject(kind: .table, name: "item", sql: "CREATE TABLE item (id)")]

  @Test func `a schema is asked for once at a time, and taken away`() {
    var it = Questions()
    it.tell(objects, 1)
    #expect(!it.hasSchema(1))
    let isNew = [it.askForSchema(1), it.askForSchema(1), it.askForSchema(2)]
    #expect(isNew == [true, false, true] && !it.isEmpty)
    it.tell(objects, 1)
    #expect(it.hasSchema(1) && !it.hasSchema(2))
    let taken = [it.takeSchema(1), it.takeSchema(1), it.takeSchema(2)]
    #expect(taken == [objects, nil, nil] && it.isEmpty)
  }

  @Test func `what nobody compares is not answered`() {
    var it = Questions()
    it[1]?.refuse(.failed)
    it[1] = Inspection()
    #expect(it[1] == nil && it.isEmpty)
    it.beginInspection(1)
    it[1]?.refuse(.failed)
    #expect(!it.isEmpty && it[1]?.hasAnswered == true && it[1]?.isOver == true)
    let ended = it.endInspection(1)
    #expect(ended?.refusal == .failed && it.isEmpty)
  }

  @Test func `silence has its reasons`() {
    func reason(_ it: Inspection, isConnected: Bool = true) -> String {
      guard case .stopped(_, let text) = it.silence(isConnected: isConnected) else { return "" }
      return text
    }
    var it = Inspection()
    #expect(reason(it) == "no answer in time")
    #expect(reason(it, isConnected: false) == "the connection ended before it answered")
    it.refuse(.notAllowed)
    #expect(reason(it) == "it goes by other rights than this node")
    it.end(failure: "the disk is full")
    #expect(reason(it) == "the disk is full")
  }
}
