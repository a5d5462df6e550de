import Replication
import SQLite
import Testing

@testable import Store

/// A program writes the key of a row that is parked, and that it could not see.
@Suite struct `A parked row whose key is written again` {
  private static let schema =
    "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, code TEXT UNIQUE)"

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || ' ' || text || ' ' || coalesce(code, '-') FROM note ORDER BY id")
  }

  /// Two of the nodes give the code 7 to two rows; that of `a` is parked.
  private func site(_ rule: String, isNew: Bool, appoints: Bool = true) throws -> AnchorSite {
    let site = try AnchorSite(rule, schema: Self.schema, appoints: appoints)
    if !isNew { try site.anchor.write("INSERT INTO note VALUES ('p', 'old', NULL)", at: 5) }
    try site.meet()
    try site.b.write("UPDATE note SET code = '7' WHERE id = 'r'", at: 10)
    try site.a.write(
      """
      INSERT INTO note VALUES ('p', 'allergy', '7')
      ON CONFLICT DO UPDATE SET text = 'allergy', code = '7'
      """, at: 20)
    try site.meet([site.a, site.b])
    for replica in [site.a, site.b] {
      #expect(try replica.store.tableSurvey.parkedRows().count == 1)
      #expect(try rows(replica).count == 1)
    }
    return site
  }

  private func expectLogged(
    _ site: AnchorSite, at replicas: [TestReplica], _ comment: Comment
  ) throws {
    #expect(try site.isEqual, comment)
    for replica in site.replicas {
      #expect(try rows(replica).first == "p readmitted 8", comment)
      #expect(
        try replica.store.tableSurvey.parkedRows().isEmpty && replica.pendingTexts.isEmpty, comment)
      let isExpected = replicas.contains { $0 === replica }
      let lost = try replica.conflicts().map { $0.prefix(25) }
      #expect(lost == (isExpected ? ["allergy lost to readmitted"].map { $0.prefix(25) } : []))
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `is in the log of its author, where nobody judges`(isNew: Bool, byAuthor: Bool) throws {
    let site = try site("newest-wins", isNew: isNew, appoints: false)
    let old = try #require(try site.b.version("p"))
    let writer = byAuthor ? site.a : site.b
    try writer.write("INSERT INTO note VALUES ('p', 'readmitted', '8')", at: 30)
    let new = try #require(try writer.version("p"))
    #expect(new.rank > old.rank && !new.context.covers(old.dot))
    #expect(new.created == (isNew ? new.dot : old.created))
    try site.meet()
    try expectLogged(site, at: [site.a], "by the author: \(byAuthor)")
  }

  @Test(arguments: [true, false])
  func `while no node runs, is not put over it by the one that starts`(isMigrated: Bool) throws {
    let site = try site("newest-wins", isNew: true, appoints: false)
    // The value is free by then, so what is parked would fit.
    try site.a.write(
      """
      DELETE FROM note WHERE id = 'r';
      INSERT INTO note VALUES ('p', 'readmitted', '8');
      """)
    if isMigrated { try site.a.write("CREATE INDEX texts ON note(text)") }
    if !isMigrated { try site.a.reopen() }
    try site.a.foldAll()
    try site.meet()
    try expectLogged(site, at: [site.a], "the schema has changed: \(isMigrated)")
  }

  @Test func `is in the log of who wrote it, where its author is gone`() throws {
    let site = try site("newest-wins", isNew: true, appoints: false)
    site.b.store.departed = [site.a.origin]
    try site.b.write("INSERT INTO note VALUES ('p', 'readmitted', '8')", at: 30)
    #expect(try site.b.conflicts() == ["allergy lost to readmitted: older (newest-wins)"])
  }

  @Test(
    arguments: ["newest-wins", "client-wins", "server-wins-on-conflict"],
    [(true, true), (true, false), (false, true), (false, false)])
  func `is judged, or in the log of its author`(
    rule: String, how: (isNew: Bool, byAuthor: Bool)
  ) throws {
    let site = try site(rule, isNew: how.isNew)
    let writer = how.byAuthor ? site.a : site.b
    try writer.write("INSERT INTO note VALUES ('p', 'readmitted', '8')", at: 30)
    if !how.byAuthor { #expect(try site.b.pendingTexts == ["allergy"]) }
    // The anchor hears of both from who wrote over it.
    try site.meet([site.anchor, writer])
    try site.meet()
    try expectLogged(
      site, at: how.byAuthor ? [site.a] : [site.anchor, site.a], "\(rule), \(how)")
    #expect(try site.replicas.allSatisfy { try $0.store.verdicts.unjudgedCount() == 0 })
    let verdict = how.byAuthor ? "superseded" : "rejected"
    #expect(try site.a.verdicts(of: "p")[0].hasPrefix(verdict))
  }

  @Test func `is no conflict if the same is written again`() throws {
    let site = try site("newest-wins", isNew: true, appoints: false)
    try site.b.write("UPDATE note SET code = NULL", at: 30)
    #expect(try rows(site.b) == ["p allergy 7", "r first -"])
    try site.meet()
    try site.a.write("UPDATE note SET code = '9' WHERE id = 'p'", at: 40)
    try site.meet()
    #expect(try site.isEqual && site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test func `in the transaction that would have shown it, is not seen either`() throws {
    let site = try site("newest-wins", isNew: true, appoints: false)
    try site.b.write(
      "BEGIN; DELETE FROM note WHERE id = 'r'; INSERT INTO note VALUES ('p', 'mine', '7'); COMMIT",
      at: 30)
    try site.meet()
    #expect(try site.isEqual && rows(site.a) == ["p mine 7"])
    #expect(try site.a.conflicts() == ["allergy lost to mine: older (newest-wins)"])
  }
}
