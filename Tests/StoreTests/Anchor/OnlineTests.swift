import Replication
import SQLite
import Testing

@testable import Store

/// Edits in live contact with the anchor, under the rule that asks for that.
@Suite struct `An edit in touch with the anchor` {
  private static let session: UInt64 = 0xFEED
  private let site: AnchorSite

  init() throws {
    site = try AnchorSite("server-wins")
    try connect()
  }

  /// Both ends know the session.
  private func connect(_ session: UInt64 = Self.session) throws {
    site.anchor.store.setLiveSessions([session: site.a.origin])
    _ = try site.a.store.goOnline(session, at: site.a.now)
  }

  private func edit(_ text: String, at second: Int64 = 10) throws {
    try site.a.write("UPDATE note SET text = '\(text)' WHERE id = 'r'", at: second)
  }

  private func deliver() throws -> [String] {
    try site.meet()
    #expect(try site.isEqual)
    return try site.a.verdicts()
  }

  @Test func `stands`() throws {
    try edit("mine")
    #expect(try deliver() == ["accepted server-wins"])
    #expect(try site.anchor.text() == "mine")
    try edit("again", at: 20)
    try site.a.write("DELETE FROM note", at: 30)
    #expect(try deliver().last == "accepted server-wins")
    #expect(try site.b.text() == nil)
  }

  @Test func `stands in a row of edits that were not judged in between`() throws {
    try edit("one", at: 10)
    try edit("two", at: 20)
    #expect(try deliver() == ["superseded server-wins", "accepted server-wins"])
    #expect(try site.anchor.text() == "two")
  }

  @Test func `does not stand if the contact was lost before it was delivered`() throws {
    try edit("mine")
    site.anchor.store.setLiveSessions([:])
    #expect(try deliver() == ["rejected offline server-wins"])
    #expect(try site.a.conflicts() == ["mine lost to base: offline (server-wins)"])
  }

  @Test func `does not stand if it comes in a later session`() throws {
    try edit("mine")
    try connect(0xBEEF)
    #expect(try deliver() == ["rejected offline server-wins"])
  }

  @Test func `does not stand in the session of another`() throws {
    site.anchor.store.setLiveSessions([Self.session: site.b.origin])
    try edit("mine")
    #expect(try deliver() == ["rejected offline server-wins"])
  }

  @Test func `does not stand once the anchor was started again`() throws {
    try edit("mine")
    try site.anchor.reopen()
    #expect(try deliver() == ["rejected offline server-wins"])
  }

  @Test func `does not stand one version behind the anchor`() throws {
    try edit("mine")
    try site.anchor.write("UPDATE note SET text = 'newer' WHERE id = 'r'", at: 5)
    #expect(try deliver() == ["rejected unseen server-wins"])
    #expect(try site.a.conflicts() == ["mine lost to newer: unseen (server-wins)"])
  }

  @Test func `carries no offline edit under it`() throws {
    _ = try site.a.store.goOnline(0, at: site.a.now)
    try edit("offline")
    try connect()
    try edit("online", at: 20)
    #expect(try deliver() == ["superseded server-wins", "rejected offline server-wins"])
    // Once that is judged, and what stands has come, the next one is made on a certificate.
    try edit("now", at: 30)
    #expect(try deliver().last == "accepted server-wins")
  }

  @Test func `counts as offline if it was written before the contact, and found after`() throws {
    _ = try site.a.store.goOnline(0, at: site.a.now)
    try site.a.write("UPDATE note SET text = 'before' WHERE id = 'r'")
    try connect()
    try site.a.foldAll()
    #expect(try deliver() == ["rejected offline server-wins"])
  }

  @Test func `counts as offline if it was written in touch, and found when that was over`() throws {
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'")
    _ = try site.a.store.goOnline(0, at: site.a.now)
    #expect(try deliver() == ["rejected offline server-wins"])
  }

  @Test func `counts as offline on top of what another wrote and nobody has judged`() throws {
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 5)
    try site.a.pull(from: site.b)
    try edit("over b")
    #expect(try deliver() == ["rejected offline server-wins"])
    #expect(try site.b.verdicts() == ["rejected offline server-wins"])
  }

  @Test func `does not keep its session once it is certified`() throws {
    try edit("mine")
    #expect(try site.a.version()?.session == Self.session)
    _ = try deliver()
    #expect(try site.a.version()?.session == 0)
    #expect(try site.anchor.version()?.certificate?.edit.origin == site.a.origin)
  }

  @Test func `of a new row needs no contact`() throws {
    _ = try site.a.store.goOnline(0, at: site.a.now)
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 10)
    #expect(try deliver() == ["accepted server-wins"])
    #expect(try site.anchor.text("n") == "new")
  }

  @Test func `at the anchor itself is a certificate at once`() throws {
    try site.anchor.write("UPDATE note SET text = 'here' WHERE id = 'r'", at: 10)
    let version = try #require(try site.anchor.version())
    #expect(!version.isTentative && version.edit == version.dot)
    #expect(try site.anchor.store.verdicts.unjudgedCount() == 0)
    _ = try deliver()
    #expect(try site.a.text() == "here")
  }
}
