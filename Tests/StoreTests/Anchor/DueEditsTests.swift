import Replication
import SQLite
import Testing

@testable import Store

/// In which order an anchor judges what came together.
@Suite struct DueEditsTests {
  /// Rows that were written in the opposite order of their keys, a second apart, and are folded in
  /// the order of these, in several commits.
  private func write(_ keys: [String], at seconds: Int64, _ author: TestReplica) throws {
    for key in keys { try author.write("INSERT INTO note(id, text) VALUES ('\(key)', 'new')") }
    try fold(at: seconds, author)
  }

  private func fold(at seconds: Int64, _ author: TestReplica) throws {
    let start = Int64(1_800_001_000_000) + 1_000 * seconds
    try author.write("UPDATE _flotilla_journal SET at = \(start) + 1000 * id")
    author.clock = start + 100_000
    try author.foldAll()
  }

  private func site(_ schema: String = AnchorSite.schema) throws -> AnchorSite {
    var pace = Pace()
    (pace.journalEntries, pace.judgedAtOnce) = (2, 0)
    return try AnchorSite("client-wins", schema: schema, pace: pace)
  }

  private func names(_ due: ArraySlice<DueEdit>, _ store: Store) throws -> [String] {
    try due.flatMap { try store.pending.items($0.dot) }.map { item in
      guard case .text(let bytes)? = item.key.values?.first else { return "?" }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private func deferral(_ late: ArraySlice<DueEdit>) -> Deferral {
    var deferral = Deferral()
    for edit in late { deferral.putOff(edit, for: .room(nil)) }
    return deferral
  }

  /// Neighbours in the file, where they were written all over it.
  @Test func `of one author is that of their numbers, up to one of another author`() throws {
    let site = try site()
    let store = site.anchor.store
    try write(["n9", "n8", "n7", "n6", "n5", "n4"], at: 100, site.a)
    try site.anchor.pull(from: site.a)
    func due() throws -> [String] {
      let due = DueEdits(store.connection, store.versions, store.pending)
      return try names(due.take(100, beside: Deferral()), store)
    }
    #expect(try due() == ["n4", "n5", "n6", "n7", "n8", "n9"])
    // The third was made when three of the six were.
    try write(["m"], at: 102, site.b)
    try site.anchor.pull(from: site.b)
    #expect(try due() == ["n7", "n8", "n9", "m", "n4", "n5", "n6"])
    for replica in site.replicas { replica.clock = site.b.clock }
    try site.meet()
    #expect(try site.isEqual && site.a.content("note").count == 8)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
  }

  @Test func `what was put off is not among the next ones`() throws {
    let site = try site()
    let store = site.anchor.store
    try write(["n3", "n2", "n1"], at: 100, site.a)
    try site.anchor.pull(from: site.a)
    try store.due.readAhead(9, beside: Deferral())
    let late = try store.due.take(1, beside: Deferral())
    #expect(try names(late, store) == ["n1"])
    store.due.rolledBack()
    let rest = try store.due.take(9, beside: deferral(late))
    #expect(try names(rest, store) == ["n2", "n3"])
    #expect(try store.due.take(9, beside: deferral(late + rest)).isEmpty)
  }

  /// In the order of the keys a child comes before its parent, which was written before it.
  @Test(arguments: [2, 7, 500])
  func `a tree is accepted whole, whichever way its keys go`(slice: Int) throws {
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT REFERENCES note)"
    let site = try site(schema)
    for replica in site.replicas {
      (replica.store.pace.judgedWhole, replica.store.pace.judgedRows) = (slice, slice)
    }
    let count = 40
    for row in 0..<count {
      let parent = row == 0 ? "NULL" : "'k\(99 - (row - 1) / 2)'"
      try site.a.write("INSERT INTO note(id, text) VALUES ('k\(99 - row)', \(parent))")
    }
    try fold(at: 100, site.a)
    for replica in site.replicas { replica.clock = site.a.clock }
    try site.meet()
    #expect(try site.isEqual && site.anchor.content("note").count == count + 1)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(
      try site.a.store.verdicts.list(after: 0, through: .max).allSatisfy {
        $0.outcome == .accepted
      })
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }
}
