import Replication
import SQLite
import Testing

@testable import Store

/// What becomes of edits that an anchor is to judge when their author begins a new life and fetches
/// everything anew: those that nobody else holds it will never see under their numbers.
@Suite struct `An edit of a life that is over` {
  private let site: CollectionSite
  private var a: TestReplica { site.site.a }
  private var b: TestReplica { site.site.b }

  /// `x` is on all replicas.
  init() throws {
    site = try CollectionSite("client-wins", appoints: true)
    try b.store.lives.begin(run: 1)
    try a.write("INSERT INTO note VALUES ('x', 'x')", at: 10)
    try site.site.meet()
  }

  /// `x` is deleted and forgotten without `b`, which begins a life when it hears of that.
  private func forget() throws {
    try a.write("DELETE FROM note WHERE id = 'x'", at: 50)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 2)
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: a.store.stability.cleared, at: b.now)
  }

  private func comeBack() throws {
    try a.store.stability.news.map {
      try b.store.deletions.hear($0, from: a.store.node, isLeaf: false)
    }
    try b.pull(from: a)
    try b.foldAll()
    try site.site.meet()
    #expect(try site.site.isEqual && b.store.verdicts.openCount() == 0)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
  }

  @Test func `is superseded if its author wrote the row again in that life`() throws {
    try b.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 30)
    try b.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 31)
    try forget()
    try comeBack()
    #expect(try a.text() == "two")
    #expect(try b.verdicts(of: "r") == ["superseded client-wins", "accepted client-wins"])
  }

  @Test func `has the verdict of the one that was made again for it, and handed on`() throws {
    try b.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 30)
    try site.site.anchor.pull(from: b)
    try site.site.anchor.foldAll()
    try b.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 31)
    // Made again on top of what is certified.
    try b.pull(from: site.site.anchor)
    try forget()
    try comeBack()
    #expect(try a.text() == "two")
    #expect(
      try b.verdicts(of: "r")
        == ["superseded client-wins", "accepted client-wins", "accepted client-wins"])
  }

  @Test func `of a row that was deleted and forgotten is rejected, or agrees`() throws {
    try a.write("INSERT INTO note VALUES ('y', 'y')", at: 11)
    try site.site.meet()
    try b.write("UPDATE note SET text = 'late' WHERE id = 'y'", at: 30)
    try b.write("DELETE FROM note WHERE id = 'x'", at: 31)
    try a.write("DELETE FROM note WHERE id IN ('x', 'y')", at: 50)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 4)
    try site.comeBack(b)
    try comeBack()
    #expect(try b.verdicts(of: "x") == ["accepted client-wins"])
    #expect(try b.verdicts(of: "y") == ["rejected already-deleted client-wins"])
    #expect(try b.conflicts() == ["late lost to ?: already-deleted (client-wins)"])
  }

  @Test func `is not in the log without its content, if it was written over since`() throws {
    try b.write("UPDATE note SET text = 'late' WHERE id = 'x'", at: 30)
    try forget()
    try b.write("UPDATE note SET text = 'later' WHERE id = 'x'", at: 60)
    try comeBack()
    #expect(try b.conflicts() == ["later lost to ?: already-deleted (client-wins)"])
    #expect(
      try b.verdicts(of: "x") == ["superseded", "rejected already-deleted client-wins"])
  }

  @Test func `does not come after what its author wrote over it since`() throws {
    try b.write("DELETE FROM note WHERE id = 'r'", at: 30)
    try forget()
    try b.write("INSERT INTO note VALUES ('r', 'again')", at: 60)
    try comeBack()
    #expect(try site.replicas.map { try $0.text() } == ["again", "again", "again"])
    #expect(try b.verdicts(of: "r") == ["superseded", "accepted client-wins"])
  }

  @Test func `is not handed on beside one that has come, though its exchange is not over`() throws {
    try forget()
    let anchor = site.site.anchor
    try anchor.write("UPDATE note SET text = 'newest' WHERE id = 'r'", at: 70)
    let (covers, batches) = try anchor.export(above: Frontier())
    try b.mergeSlice(batches, covers: covers, from: anchor)
    try a.write("UPDATE note SET text = 'waits' WHERE id = 'r'", at: 65)
    try a.store.stability.news.map {
      try b.store.deletions.hear($0, from: a.store.node, isLeaf: false)
    }
    try b.pull(from: a)
    try b.foldAll()
    #expect(b.store.stability.renewal == nil)
    #expect(try b.version()?.dot == anchor.version()?.dot)
    try site.site.meet()
    #expect(try site.site.isEqual && b.conflicts().isEmpty)
  }
  @Test func `is not handed on while it comes from somebody else`() throws {
    let anchor = site.site.anchor
    try forget()
    try a.write("UPDATE note SET text = 'waits' WHERE id = 'r'", at: 60)
    let (covers, batches) = try a.export(above: Frontier())
    try b.mergeSlice(batches, covers: covers, from: a)
    try a.write("UPDATE note SET text = 'over it' WHERE id = 'r'", at: 70)
    try anchor.write("UPDATE note SET text = 'certified' WHERE id = 'r'", at: 65)
    try anchor.store.stability.news.map {
      try b.store.deletions.hear($0, from: anchor.store.node, isLeaf: false)
    }
    try b.pull(from: anchor)
    try b.foldAll()
    #expect(b.store.stability.renewal == nil)
    try site.site.meet([anchor, a])
    try site.site.meet()
    #expect(try site.site.isEqual && a.text() == "over it")
    #expect(try a.conflicts().isEmpty && site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
  }

  @Test func `that others know is not handed on by the word of an earlier anchor`() throws {
    let anchor = site.site.anchor
    try site.site.appoint(b, isForced: true, heardBy: [b])
    try site.site.appoint(anchor, isForced: true, heardBy: [anchor, a])
    try a.write("UPDATE note SET text = 'over it' WHERE id = 'r'", at: 40)
    try site.site.meet([anchor, a])
    try forget()
    try site.site.hear(b)
    try comeBack()
    #expect(try a.text() == "over it")
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }
  @Test func `is not forgotten by its author when others have let go of it`() throws {
    let anchor = site.site.anchor
    try b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 30)
    try a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 40)
    try a.pull(from: b)
    try site.site.appoint(b, isForced: true, heardBy: [b])
    try site.site.appoint(nil, heardBy: [a])
    try site.site.appoint(anchor, isForced: true, heardBy: [anchor, a])
    try site.site.meet([anchor, a])
    try #require(try a.text() == "of a" && a.pendingTexts.isEmpty)
    try forget()
    try site.site.hear(b)
    try comeBack()
    let texts = try [b.text() ?? ""] + b.conflicts()
    #expect(texts.contains { $0.hasPrefix("of b") })
  }
}
