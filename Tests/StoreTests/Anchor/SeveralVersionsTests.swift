import Replication
import SQLite
import Testing

@testable import Store

/// An anchor that has judged several edits of one row sends a word on each in one push.
@Suite struct `Several versions of a row in one exchange` {
  private static let schema =
    "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, code TEXT UNIQUE)"

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || ' ' || text || ' ' || coalesce(code, '-') FROM note ORDER BY id")
  }

  @Test(arguments: ["newest-wins", "client-wins", "server-wins-on-conflict"])
  func `leave no row that was deleted, though its value was taken when it came`(
    rule: String
  ) throws {
    let site = try AnchorSite(rule, schema: Self.schema)
    try site.anchor.write("UPDATE note SET code = 'c'", at: 2)
    try site.meet()
    // Its key changes twice: the row in between comes and goes while nobody judges.
    try site.a.write("UPDATE note SET id = 's' WHERE id = 'r'", at: 10)
    try site.b.pull(from: site.a)
    try site.b.write("UPDATE note SET id = 'm' WHERE id = 's'", at: 20)
    try site.a.pull(from: site.b)
    let outcome = try site.anchor.pull(from: site.a)
    try site.a.merge(try #require(outcome.fold.push), from: site.anchor)
    for replica in [site.anchor, site.a] {
      #expect(try rows(replica) == ["m base c"])
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty)
    }
    try site.meet()
    #expect(try site.isEqual && site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test func `keep of each what it says`() throws {
    let site = try AnchorSite("client-wins", schema: Self.schema, count: 4)
    let other = site.replicas[3]
    try site.b.write("UPDATE note SET code = 'c'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('n', 'of a', 'c')", at: 20)
    try other.pull(from: site.a)
    try other.write("UPDATE note SET text = 'of another', code = 'd' WHERE id = 'n'", at: 30)
    try site.a.pull(from: other)
    // The first of the two does not fit here, and is not the last word.
    try site.b.pull(from: site.a)
    #expect(try rows(site.b) == ["n of another d", "r base c"])
    #expect(try site.b.pendingTexts == ["of a"])
    try site.meet()
    #expect(try site.isEqual)
    #expect(try rows(site.anchor) == ["n of another d", "r base c"])
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test(arguments: ["newest-wins", "client-wins"])
  func `lose no edit that was to be made again on top of the first`(rule: String) throws {
    let site = try AnchorSite(rule)
    try site.a.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 15)
    try site.b.pull(from: site.a)
    let outcome = try site.anchor.pull(from: site.b)
    try site.a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    try site.a.merge(try #require(outcome.fold.push), from: site.anchor)
    #expect(try site.a.pendingTexts == ["two"])
    try site.meet()
    #expect(try site.replicas.map { try $0.text() } == ["two", "two", "two"])
    #expect(try site.isEqual)
    #expect(try site.b.conflicts().map { $0.prefix(16) } == ["of b lost to two"])
    #expect(try site.a.verdicts().last == "accepted \(rule)")
  }

  @Test func `lose no edit that another row displaces before it is made again`() throws {
    let site = try AnchorSite("newest-wins", schema: Self.schema)
    try site.anchor.write("INSERT INTO note VALUES ('n', 'old', NULL)", at: 2)
    try site.anchor.write("INSERT INTO note VALUES ('m', 'new', NULL)", at: 3)
    try site.meet()
    try site.a.write("UPDATE note SET text = 'one' WHERE id = 'm'", at: 10)
    try site.anchor.pull(from: site.a)
    try site.anchor.write("UPDATE note SET code = 'u' WHERE id = 'n'", at: 11)
    try site.a.write("UPDATE note SET text = 'two', code = 'u' WHERE id = 'm'", at: 20)
    try site.a.pull(from: site.anchor)
    #expect(try rows(site.a) == ["n old u", "r base -"])
    try site.meet()
    #expect(try rows(site.a) == ["m one -", "n old u", "r base -"])
    #expect(
      try site.isEqual && site.replicas.allSatisfy { try $0.store.tableSurvey.parkedRows().isEmpty }
    )
    #expect(try site.a.conflicts() == ["two lost to one: parked (newest-wins)"])
    #expect(try site.a.verdicts(of: "m").last == "rejected parked newest-wins")
  }
}

extension TestReplica {
  /// Merges what another replica has just made.
  func merge(_ push: Push, from other: TestReplica) throws {
    var merge = Merge(
      sender: other.store.node, kind: .push(origin: push.origin, from: push.from, to: push.to),
      batches: [push.batch], rowsBefore: 0, checkBefore: 0,
      end: End(rows: push.rows, check: push.check), movesFrontier: true)
    merge.judged = push.judged
    merge.standing = other.store.stability.standing
    _ = try store.merge(merge, at: now)
  }
}
