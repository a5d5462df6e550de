import Replication
import SQLite
import Testing

@testable import Store

/// A program writes a row, and says that it had not seen what another machine had made of that.
@Suite struct `An edit that is marked as one that has not seen what stood` {
  /// What a row shows, by the columns of its table.
  private func standing(_ replica: TestReplica, _ id: String) throws -> OutsideLog.Row? {
    guard let text = try replica.text(id) else { return nil }
    return [("id", .string(id)), ("text", .string(text))]
  }

  /// Writes in a transaction, and marks the row in it; gives whether it was marked.
  @discardableResult
  private func overlook(
    _ replica: TestReplica, _ sql: String, of id: String = "r", ends: String = "COMMIT"
  ) throws -> Bool {
    let writer = replica.store.unseenWriter(of: ["NOTE"])
    let before = try standing(replica, id)
    try replica.write("BEGIN IMMEDIATE")
    try replica.write(sql)
    let isMarked = try writer.mark(
      "note", key: [.string(id)], over: before, on: replica.application)
    try replica.write(ends)
    return isMarked
  }

  private func marks(_ replica: TestReplica) throws -> Int64? {
    try replica.value("SELECT count(*) FROM _flotilla_unseen").integer
  }

  /// All know what `a` has written; nobody judges unless the first one does.
  private func site(_ rule: String = "newest-wins", appoints: Bool = false) throws -> AnchorSite {
    let site = try AnchorSite(rule, appoints: appoints)
    try site.a.write("UPDATE note SET text = 'author' WHERE id = 'r'", at: 10)
    try site.meet()
    return site
  }

  @Test func `is told to the author of that, and to nobody else`() throws {
    let site = try site()
    let old = try #require(try site.b.version())
    #expect(try overlook(site.b, "UPDATE note SET text = 'server' WHERE id = 'r'"))
    try site.b.write("", at: 20)
    let new = try #require(try site.b.version())
    #expect(new.created == old.created && !new.hasSeen(old) && new.rank > old.rank)
    #expect(try marks(site.b) == 0)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.text() == "server" })
    #expect(try site.a.conflicts() == ["author lost to server: older (newest-wins)"])
    for other in [site.b, site.anchor] { #expect(try other.conflicts().isEmpty) }
  }

  @Test func `is so for a delete of either`() throws {
    let site = try site()
    #expect(try overlook(site.b, "DELETE FROM note WHERE id = 'r'"))
    try site.b.write("", at: 20)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == nil)
    #expect(try site.a.conflicts() == ["author lost to (deleted): older (newest-wins)"])
    // And the other way round: the row is back.
    try site.a.write("INSERT INTO note VALUES ('q', 'v')", at: 30)
    try site.meet()
    try site.a.write("DELETE FROM note WHERE id = 'q'", at: 40)
    try site.meet()
    #expect(try overlook(site.b, "INSERT INTO note VALUES ('q', 'server')", of: "q"))
    try site.b.write("", at: 50)
    try site.meet()
    #expect(try site.isEqual && site.a.text("q") == "server")
    #expect(try site.a.conflicts().last == "(deleted) lost to server: older (newest-wins)")
  }

  @Test func `is of the same row as that, though nobody had made more of it`() throws {
    let site = try site()
    try site.a.write("INSERT INTO note VALUES ('new', 'author')", at: 20)
    try site.meet()
    let old = try #require(try site.b.version("new"))
    #expect(try overlook(site.b, "UPDATE note SET text = 'server' WHERE id = 'new'", of: "new"))
    try site.b.write("", at: 30)
    #expect(try site.b.version("new")?.created == old.created)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.a.conflicts() == ["author lost to server: older (newest-wins)"])
  }

  @Test func `is not marked over what this node has made, nor without being written`() throws {
    let site = try site()
    #expect(try !overlook(site.a, "UPDATE note SET text = 'server' WHERE id = 'r'"))
    #expect(try !overlook(site.b, "SELECT 1"))
    #expect(try !overlook(site.b, "INSERT INTO note VALUES ('x', 'new')", of: "x"))
    for one in [site.a, site.b] { #expect(try marks(one) == 0) }
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test func `lives and dies with the transaction that makes it`() throws {
    let site = try site()
    #expect(try overlook(site.b, "UPDATE note SET text = 'no' WHERE id = 'r'", ends: "ROLLBACK"))
    #expect(try marks(site.b) == 0)
    try site.b.write("UPDATE note SET text = 'seen' WHERE id = 'r'", at: 20)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "seen")
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test func `is one though the node was killed before it could fold it, or in that`() throws {
    let site = try site()
    #expect(try overlook(site.b, "UPDATE note SET text = 'server' WHERE id = 'r'"))
    try site.b.reopen()
    // One fold is undone.
    struct Stop: Error {}
    #expect(throws: (any Error).self) {
      try site.b.store.file.transaction {
        var edits = site.b.store.beginEdits()
        let moment = site.b.now
        try site.b.store.foldRest(&edits, at: moment)
        #expect(edits.count == 1)
        throw Stop()
      }
    }
    #expect(try marks(site.b) == 1)
    try site.b.write("", at: 20)
    #expect(try marks(site.b) == 0)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.a.conflicts() == ["author lost to server: older (newest-wins)"])
  }

  @Test func `is one where it waits behind many others, and is written again meanwhile`() throws {
    var pace = Pace()
    pace.journalEntries = 4
    let site = try AnchorSite("newest-wins", pace: pace, appoints: false)
    let ids = (10..<50).map { "n\($0)" }
    let rows = ids.map { "('\($0)', 'author')" }.joined(separator: ", ")
    try site.a.write("INSERT INTO note VALUES \(rows)", at: 10)
    try site.meet()
    for id in ids {
      let sql = "UPDATE note SET text = 'server' WHERE id = '\(id)'"
      #expect(try overlook(site.b, sql, of: id))
    }
    #expect(try site.b.store.fold(at: site.b.now).hasMore)
    #expect(try (1..<40).contains(marks(site.b) ?? 0))
    // One that is folded already, and one that waits.
    try site.b.write("UPDATE note SET text = 'again' WHERE id IN ('n10', 'n49')")
    try site.b.foldAll()
    #expect(try marks(site.b) == 0)
    try site.meet()
    #expect(try site.isEqual)
    let lost = try site.a.conflicts().map { String($0.prefix(11)) }
    #expect(lost == ids.map { _ in "author lost" })
    #expect(try site.a.text("n49") == "again" && site.a.text("n48") == "server")
  }

  @Test func `is none where somebody has noted one of a row that is not written`() throws {
    let site = try site()
    let note =
      "INSERT INTO _flotilla_unseen SELECT tbl, key, NULL FROM _flotilla_version "
      + "WHERE tbl = (SELECT id FROM _flotilla_local WHERE name = 'note')"
    try site.b.write(note)
    try site.b.foldAll()
    #expect(try marks(site.b) == 0)
    try site.b.write("UPDATE note SET text = 'seen' WHERE id = 'r'", at: 20)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "seen")
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test(arguments: ["newest-wins", "client-wins", "server-wins-on-conflict", "server-wins"])
  func `is judged by the rule of the table`(_ rule: String) throws {
    let site = try AnchorSite(rule)
    if rule == "server-wins" { return try refuseOwn(site) }
    try site.a.write("UPDATE note SET text = 'author' WHERE id = 'r'", at: 10)
    try site.meet()
    #expect(try overlook(site.b, "UPDATE note SET text = 'server' WHERE id = 'r'"))
    try site.b.write("", at: 20)
    // What was certified stands until the anchor has judged the other.
    try site.meet([site.a, site.b])
    #expect(try site.b.text() == "author" && site.b.pendingTexts == ["server"])
    #expect(try site.a.text() == "author" && site.a.conflicts().isEmpty)
    try site.meet()
    #expect(try site.isEqual)
    let isRejected = rule == "server-wins-on-conflict"
    #expect(try site.b.text() == (isRejected ? "author" : "server"))
    let reason = rule == "newest-wins" ? "older" : "unseen"
    let line =
      isRejected
      ? "server lost to author: unseen (\(rule))" : "author lost to server: \(reason) (\(rule))"
    #expect(try site.anchor.conflicts() == [line])
    #expect(try site.a.conflicts() == (isRejected ? [] : [line]))
    #expect(try site.b.conflicts() == (isRejected ? [line] : []))
  }

  @Test(arguments: [true, false])
  func `is judged where either is a delete`(isAuthors: Bool) throws {
    let site = try AnchorSite("client-wins")
    let (delete, update) = (
      "DELETE FROM note WHERE id = 'r'", "INSERT OR REPLACE INTO note VALUES ('r', 'text')"
    )
    try site.a.write(isAuthors ? delete : update, at: 10)
    try site.meet()
    #expect(try overlook(site.b, isAuthors ? update : delete))
    try site.b.write("", at: 20)
    #expect(try site.b.text() == (isAuthors ? nil : "text"))
    #expect(try site.b.pendingTexts == [isAuthors ? "text" : "(deleted)"])
    try site.meet()
    #expect(try site.isEqual && site.a.text() == nil)
    let line =
      isAuthors
      ? "text lost to (deleted): already-deleted (client-wins)"
      : "text lost to (deleted): unseen (client-wins)"
    #expect(try site.anchor.conflicts() == [line])
    #expect(try site.a.conflicts() == (isAuthors ? [] : [line]))
    #expect(try site.b.conflicts() == (isAuthors ? [line] : []))
  }

  /// What the anchor itself takes in stands at once.
  private func refuseOwn(_ site: AnchorSite) throws {
    try site.a.write("INSERT INTO note VALUES ('s', 'author')", at: 10)
    try site.meet()
    #expect(
      try overlook(
        site.anchor, "UPDATE note SET text = 'server' WHERE id = 's'", of: "s"))
    try site.anchor.write("", at: 20)
    try site.meet()
    #expect(try site.isEqual && site.a.text("s") == "server")
    let line = "author lost to server: unseen (server-wins)"
    #expect(try site.anchor.conflicts() == [line] && site.a.conflicts() == [line])
    #expect(try site.b.conflicts().isEmpty)
  }

  /// The anchor has not heard of the author's edit, and hears of both from the one who marks.
  @Test(arguments: [true, false])
  func `hands on what it was written over, whole, unless the mark lies`(isTrue: Bool) throws {
    let site = try AnchorSite("server-wins-on-conflict")
    try site.a.write("UPDATE note SET text = 'author' WHERE id = 'r'", at: 10)
    try site.meet([site.a, site.b])
    #expect(try overlook(site.b, "UPDATE note SET text = 'server' WHERE id = 'r'"))
    if !isTrue {
      let lie = Shelf.Entry(
        why: .constraint, values: [("id", .text(Array("r".utf8))), ("text", .text([108]))],
        keyCount: 1)
      try site.b.application.run(
        "UPDATE _flotilla_unseen SET row = ?", [.blob(Shelf.encode(lie))])
    }
    try site.b.write("", at: 20)
    #expect(try site.b.pendingTexts == [isTrue ? "author" : "?"])
    try site.meet([site.anchor, site.b])
    #expect(try site.anchor.text() == (isTrue ? "author" : "server"))
    try site.meet()
    #expect(try site.isEqual)
    let lost = try site.replicas.flatMap { try $0.conflicts() }
    #expect(lost.contains { $0.hasPrefix(isTrue ? "server lost" : "author lost") })
    #expect(!lost.contains { $0.hasPrefix("l lost") })
  }
}
