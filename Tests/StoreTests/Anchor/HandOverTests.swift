import Replication
import SQLite
import Testing

@testable import Store

/// What one anchor has decided counts for the next one, and what nobody could decide later is
/// decided before the last one goes.
@Suite struct `When the anchor changes,` {
  @Test(arguments: [true, false])
  func `what the one before has decided is not judged anew`(isSlow: Bool) throws {
    let site = try AnchorSite("client-wins", pace: isSlow ? AnchorSite.slow : Pace())
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    try site.b.pull(from: site.a)
    #expect(try site.b.pendingTexts == ["of a"])
    for author in [site.a, site.b] {
      try site.anchor.pull(from: author)
      try site.anchor.foldAll()
    }
    #expect(try site.anchor.text() == "of b")
    // It comes back, and is appointed before all has come that was decided.
    try site.appoint(site.b, heardBy: [site.b, site.anchor])
    try site.b.pull(from: site.anchor)
    try site.b.foldAll()
    #expect(site.b.store.currentOffice.part == .judging)
    #expect(try site.b.text() == "of b" && site.b.pendingTexts.isEmpty)
    try site.hear(site.a)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "of b")
    let log = ["of a lost to of b: unseen (client-wins)"]
    #expect(try site.anchor.conflicts() == log && site.a.conflicts() == log)
    #expect(try site.b.conflicts().isEmpty)
    #expect(try site.b.verdicts() == ["accepted client-wins"])
  }

  @Test func `an edit that stands counts as accepted, whatever an earlier one has said`() throws {
    let site = try AnchorSite("server-wins", count: 4)
    let third = site.replicas[3]
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.b.pull(from: site.a)
    try site.anchor.pull(from: site.a)
    try third.pull(from: site.anchor)
    try site.appoint(site.b, isForced: true, heardBy: [site.a, site.b, third])
    try third.pull(from: site.b)
    try site.a.pull(from: third)
    #expect(try site.a.text() == "of a")
    #expect(try site.a.verdicts() == ["accepted server-wins"])
    try site.hear(site.anchor)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "of a")
    #expect(try site.a.verdicts() == ["accepted server-wins"] && site.a.conflicts().isEmpty)
  }

  @Test(arguments: [true, false])
  func `and nobody comes after, what waits is judged first`(isSlow: Bool) throws {
    let site = try AnchorSite("server-wins", pace: isSlow ? AnchorSite.slow : Pace())
    try site.anchor.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO note SELECT 'n' || i, 'base' FROM n
      """, at: 5)
    try site.meet()
    try site.a.write("UPDATE note SET text = 'of a'", at: 10)
    try site.anchor.pull(from: site.a)
    #expect(try site.anchor.pendingTexts.count == 301)
    try site.appoint(nil, heardBy: [site.anchor])
    #expect(try site.anchor.pendingTexts.isEmpty)
    #expect(site.anchor.store.currentOffice.part == .none)
    try site.meet()
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.a.value("SELECT count(*) FROM note WHERE text = 'base'") == .integer(301))
    #expect(
      try site.a.verdicts() == Array(repeating: "rejected offline server-wins", count: 301))
    #expect(try site.a.conflicts().count == 301)
  }
}
