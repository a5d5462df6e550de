import Replication
import SQLite
import Testing

@testable import Store

/// What becomes of the verdicts of who loses the right to write.
@Suite struct `The verdict of an edit that its author takes back` {
  private let site: AnchorSite
  private var anchor: TestReplica { site.anchor }
  private var a: TestReplica { site.a }

  init() throws { site = try AnchorSite("client-wins") }

  private func allow(_ rights: Rights, delivered: UInt64) throws {
    try a.store.allow(rights, delivered: delivered, at: a.now)
  }

  private static let reading = Rights(tables: ["note": .read])

  /// The anchor hears of all that the author covers now, and the author of what was judged.
  private func meet() throws {
    let filter = ExportFilter(sender: a.store.rights)
    let (covers, batches) = try a.export(.above(anchor.store.position.frontier), filter: filter)
    try anchor.merge(batches, .full(covers: covers), from: a)
    try anchor.foldAll()
    try a.pull(from: anchor)
  }

  @Test func `is that it was not allowed, once its number is judged`() throws {
    try a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try allow(Self.reading, delivered: 0)
    #expect(try a.verdicts() == ["pending"])
    try meet()
    #expect(try a.verdicts() == ["rejected not-allowed client-wins"])
    #expect(try anchor.text() == "base")
    let log = try a.conflicts()
    #expect(log == ["mine lost to ?: not-allowed ()"], "\(log)")
  }

  @Test func `is that it was accepted if it was on its way`() throws {
    try a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try a.write("INSERT INTO note VALUES ('n', 'new')", at: 11)
    let (covers, batches) = try a.export(.above(anchor.store.position.frontier))
    try allow(Self.reading, delivered: 0)
    try anchor.merge(batches, .full(covers: covers), from: a)
    try a.pull(from: anchor)
    #expect(try a.verdicts() == ["accepted client-wins", "accepted client-wins"])
    #expect(try a.version()?.edit == Dot(a.store.own, 1))
  }

  @Test func `comes at once where nothing may be written any more`() throws {
    try a.write("UPDATE note SET text = 'sent' WHERE id = 'r'", at: 10)
    let (covers, batches) = try a.export(.above(anchor.store.position.frontier))
    try anchor.merge(batches, .full(covers: covers), from: a)
    try a.write("INSERT INTO note VALUES ('n', 'unsent')", at: 11)
    try allow(Rights(general: .read), delivered: 1)
    #expect(try a.verdicts() == ["pending", "rejected not-allowed"])
    try a.pull(from: anchor)
    #expect(try a.verdicts() == ["accepted client-wins", "rejected not-allowed"])
    #expect(try a.store.verdicts.unjudgedCount() == 0)
  }

  @Test func `is told to who reads the file beside the node when the row is put back`() throws {
    try allow(Self.reading, delivered: 0)
    let key = try #require(try a.store.tables.key(of: "note", ["id": .text(Array("r".utf8))]))
    func isPutBack() throws -> Bool? {
      let beside = try Store(path: a.path, inspects: false)
      guard case .refused(let isPutBack) = try beside.permission(toWrite: key, of: "note") else {
        return nil
      }
      return isPutBack
    }
    #expect(try isPutBack() == true)
    try a.write("DELETE FROM note WHERE id = 'r'", at: 10)
    try a.foldAll()
    #expect(try isPutBack() == false)
    let (_, batches) = try anchor.export(.rows(try a.store.wantedRows()))
    try a.merge(batches, .repair, from: anchor)
    #expect(try isPutBack() == true)
    #expect(try a.text() == "base")
  }

  @Test func `is not known where the table may not even be read`() throws {
    try a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    let (covers, batches) = try a.export(.above(anchor.store.position.frontier))
    try anchor.merge(batches, .full(covers: covers), from: a)
    try allow(Rights(tables: ["note": .none]), delivered: 1)
    let hidden = ExportFilter(reader: a.store.rights)
    let (known, news) = try anchor.export(.above(a.store.position.frontier), filter: hidden)
    try a.merge(news, .full(covers: known), from: anchor, judged: anchor.store.currentJudged)
    #expect(try a.verdicts() == ["unknown client-wins"])
  }

  @Test func `is the anchor's, where the right went before the word on what it was made on came`()
    throws
  {
    try a.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    let word = try #require(anchor.pull(from: a).fold.push)
    try a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 11)
    try site.b.pull(from: a)
    try allow(Self.reading, delivered: 2)
    try a.merge(word, from: anchor)
    #expect(try a.text() == "one" && a.pendingTexts == ["two"] && a.conflicts().isEmpty)
    #expect(try a.store.wantedRows().isEmpty)
    try anchor.pull(from: site.b)
    try a.pull(from: anchor)
    #expect(try a.text() == "two" && a.pendingTexts.isEmpty && a.conflicts().isEmpty)
    #expect(try a.verdicts().last == "accepted client-wins")
  }

  /// Somebody else has it, and the anchor hears of it from there when it has judged its number.
  @Test(arguments: [("client-wins", "mine"), ("server-wins", "base")])
  func `is the rule's, where somebody else has the edit`(rule: String, expected: String) throws {
    let site = try AnchorSite(rule)
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    try a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try b.pull(from: a)
    try a.store.allow(Self.reading, delivered: 0, at: a.now)
    let filter = ExportFilter(sender: a.store.rights)
    let (covers, batches) = try a.export(.above(anchor.store.position.frontier), filter: filter)
    try anchor.merge(batches, .full(covers: covers), from: a)
    #expect(try anchor.text() == "base")
    #expect(anchor.store.isJudged(Dot(a.store.own, 1)))
    let (held, all) = try b.export(.above(Frontier()))
    try anchor.merge(all, .full(covers: held), from: b)
    try b.pull(from: anchor)
    for replica in [anchor, b] {
      #expect(try replica.text() == expected && replica.version()?.isTentative == false)
    }
    #expect(try anchor.conflicts().count == (expected == "mine" ? 0 : 1))
  }
}
