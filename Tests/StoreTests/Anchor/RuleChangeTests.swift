import Replication
import SQLite
import Testing

@testable import Store

/// Rules are for the anchor and for admins to set, whatever another node sends.
@Suite struct `A change of a rule` {
  private let site: AnchorSite

  init() throws {
    site = try AnchorSite("server-wins")
    try allow([])
  }

  /// Says who may set rules beside the anchor, and who writes under which origin.
  private func allow(_ others: [TestReplica], once: [TestReplica] = []) throws {
    let anchor = site.anchor.store.node
    site.anchor.store.ruleSetters = RuleSetters(
      members: Set([anchor] + others.map(\.store.node)),
      anchors: Set([anchor] + once.map(\.store.node)))
    for replica in site.replicas {
      let store = replica.store
      try site.anchor.store.members.note([
        KnownAuthor(origin: store.own, node: store.node, name: store.nodeName, life: 1)
      ])
    }
  }

  private func rules() throws -> [String] {
    try site.replicas.map { try $0.store.trackedTables().map(\.rule).joined(separator: " ") }
  }

  @Test func `by who may not is rejected, and the anchor's stands everywhere`() throws {
    try site.a.store.track(["note"], rule: "client-wins", at: site.a.now)
    try site.b.pull(from: site.a)
    #expect(try rules() == ["server-wins", "client-wins", "client-wins"])
    try site.meet()
    #expect(try rules() == ["server-wins", "server-wins", "server-wins"])
    #expect(try site.isEqual)
    let verdicts = try site.a.store.verdicts.list(after: 0, through: .max)
    #expect(verdicts.map(\.outcome) == [.rejected] && verdicts[0].reason == "not-allowed")
    for replica in [site.anchor, site.a] {
      #expect(try replica.store.conflictLog.list(all: true).map(\.reason) == ["not-allowed"])
    }
    #expect(try site.b.store.conflictLog.list(all: true).isEmpty)
  }

  @Test func `by who may stands everywhere`() throws {
    try allow([site.a])
    try site.a.store.track(["note"], rule: "client-wins", at: site.a.now)
    try site.meet()
    #expect(try rules() == ["client-wins", "client-wins", "client-wins"])
    #expect(try site.isEqual)
  }

  @Test func `by a node that nobody knows is rejected`() throws {
    try site.anchor.store.members.note([
      KnownAuthor(origin: site.a.store.own, node: site.b.store.node, name: "b", life: 1)
    ])
    try site.a.store.track(["note"], rule: "client-wins", at: site.a.now)
    try site.meet()
    #expect(try rules() == ["server-wins", "server-wins", "server-wins"])
  }

  @Test func `is none if a table is chosen, or said again`() throws {
    for replica in site.replicas {
      try replica.write("CREATE TABLE more(id TEXT PRIMARY KEY NOT NULL)")
    }
    try site.a.store.track(["more"], rule: nil, at: site.a.now)
    try site.meet()
    #expect(try rules().allSatisfy { $0 == "newest-wins server-wins" })
    try site.a.store.untrack(["more"], at: site.a.now)
    try site.meet()
    #expect(try rules().allSatisfy { $0 == "server-wins" })
    try site.a.store.track(["more"], rule: nil, at: site.a.now)
    try site.meet()
    #expect(try rules().allSatisfy { $0 == "newest-wins server-wins" })
    #expect(try site.isEqual)
    #expect(try site.anchor.store.conflictLog.list(all: true).isEmpty)
  }

  @Test func `is none by giving up a table and choosing it anew`() throws {
    try site.a.store.untrack(["note"], at: site.a.now)
    try site.meet()
    #expect(try rules() == ["server-wins", "server-wins", "server-wins"])
    let verdicts = try site.a.store.verdicts.list(after: 0, through: .max)
    #expect(verdicts.contains { $0.outcome == .rejected && $0.reason == "not-allowed" })
    try site.a.store.track(["note"], rule: nil, at: site.a.now)
    try site.meet()
    #expect(try rules() == ["server-wins", "server-wins", "server-wins"])
    #expect(try site.isEqual)
    for replica in site.replicas { #expect(try replica.text() == "base") }
  }

  /// Its author hears of both at once.
  @Test func `after the judgement is not told as the rule of that`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.anchor.pull(from: site.a)
    try site.anchor.store.track(["note"], rule: "server-wins", at: site.anchor.now)
    try site.meet()
    #expect(try site.a.verdicts(of: "r") == ["accepted"])
    // What is made from then on is told by it.
    try site.a.write("INSERT INTO note VALUES ('n', 'next')", at: 20)
    try site.meet()
    #expect(try site.a.verdicts(of: "n") == ["accepted server-wins"])
  }

  /// Nobody is to judge it any more, and its author writes the row again.
  @Test func `is no rule of what is given up before a verdict comes`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.a.store.track(["note"], rule: "server-wins", at: site.a.now)
    try site.appoint(nil, heardBy: [site.a])
    try site.a.write("UPDATE note SET text = 'again' WHERE id = 'r'", at: 20)
    #expect(
      try site.a.store.verdicts.list(after: 0, through: .max).map(\.outcome).contains(.superseded))
    for verdict in try site.a.store.verdicts.list(after: 0, through: .max) {
      #expect(verdict.rule == nil)
    }
  }

  @Test func `that an earlier anchor has certified holds under the next one`() throws {
    try allow([], once: [site.a])
    try site.appoint(site.a)
    try site.meet()
    try site.a.store.track(["note"], rule: "client-wins", at: site.a.now)
    try site.appoint(site.anchor, isForced: true)
    try site.meet()
    #expect(try rules() == ["client-wins", "client-wins", "client-wins"])
    #expect(try site.isEqual)
  }
}
