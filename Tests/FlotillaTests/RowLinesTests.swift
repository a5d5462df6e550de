import Replication
import Store
import Testing

@testable import Flotilla

/// What the log says of rows that came and are not as they should be.
@Suite struct RowLinesTests {
  private func moment(_ uptime: Int64) -> Instant { Instant(uptime: uptime, wall: 0) }

  @Test func `rows on the shelf are told at once, and then all that came in a minute`() {
    var it = RowLines(path: "a b.db")
    let end = "; see why: flotilla conflicts 'a b.db' --parked"
    let first = it.shelved(1, from: "desk", at: moment(0))
    #expect(first == "1 row from desk cannot stand in its table yet, and is kept\(end)")
    #expect(it.shelved(7, from: "desk", at: moment(1)) == nil)
    #expect(it.shelved(2, from: "hall", at: moment(59_999)) == nil)
    let second = it.shelved(0, from: nil, at: moment(60_000))
    #expect(second == "9 rows more cannot stand in their tables yet, and are kept\(end)")
  }

  @Test func `rows without all of their content and rows that were left out have their own lines`()
  {
    var it = RowLines(path: "a.db")
    var content = UnmatchedContent()
    #expect(it.unmatched(content, from: "desk", at: moment(0)).isEmpty)
    (content.rows, content.leftOut) = (1, 3)
    let lines = it.unmatched(content, from: "desk", at: moment(0))
    #expect(lines.map { $0.prefix(18) } == ["1 row from desk ca", "3 rows from desk w"])
    #expect(it.unmatched(content, from: "hall", at: moment(1)).isEmpty)
    let later = it.unmatched(UnmatchedContent(), from: "", at: moment(60_000))
    #expect(later.map { $0.prefix(18) } == ["1 row from members", "3 rows from member"])
  }

  @Test func `an author of two contents is told once`() {
    var it = RowLines(path: "a.db")
    var content = UnmatchedContent()
    content.doubled = [Origin(rawValue: 1), Origin(rawValue: 2)]
    #expect(it.doubled(content) == content.doubled)
    content.doubled.insert(Origin(rawValue: 3))
    #expect(it.doubled(content) == [Origin(rawValue: 3)])
    #expect(it.doubled(content).isEmpty)
  }

  @Test func `why writes cannot be taken in is told once, and again after they were`() {
    var it = RowLines(path: "a.db")
    #expect(it.couldNotFold("no room") == "could not take in what was written: no room")
    #expect(it.couldNotFold("no room") == nil)
    #expect(it.couldNotFold("a lock") == "could not take in what was written: a lock")
    it.hasFolded()
    #expect(it.couldNotFold("a lock") == "could not take in what was written: a lock")
  }
}
