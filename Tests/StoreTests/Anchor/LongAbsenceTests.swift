import Replication
import SQLite
import Testing

@testable import Store

/// The anchor is away for a day, and everybody goes on working.
@Suite struct `An anchor that was away for a day` {
  private static let rows = 10_000
  private static let concurrent = 500

  @Test func `judges each of 10,000 edits of five nodes once, and nothing is lost`() throws {
    let site = try AnchorSite("server-wins-on-conflict", count: 6)
    try site.anchor.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rows))
      INSERT INTO note SELECT i, 'base' FROM n
      """, at: 2)
    let nodes = Array(site.replicas.dropFirst())
    for node in nodes { try node.pull(from: site.anchor) }
    // Each writes its share, the first 100 rows of its share also the next one does, later.
    let share = Self.rows / nodes.count
    for (index, node) in nodes.enumerated() {
      let first = index * share
      try node.write(
        """
        UPDATE note SET text = 'of \(index)' WHERE id + 0 > \(first) AND id + 0 <= \(first + share)
        """,
        at: 1_000)
    }
    let both = Self.concurrent / nodes.count
    for (index, node) in nodes.enumerated() {
      let first = (index + 1) % nodes.count * share
      try node.write(
        """
        UPDATE note SET text = 'again by \(index)'
        WHERE id + 0 > \(first) AND id + 0 <= \(first + both)
        """,
        at: 2_000)
    }
    try site.meet(nodes)
    for node in nodes { #expect(try node.store.verdicts.unjudgedCount() == share + both) }
    #expect(try Set(nodes.map { try $0.content("note") }).count == 1)

    try site.anchor.pull(from: nodes[0])
    try site.anchor.foldAll()
    for node in nodes {
      try node.pull(from: site.anchor)
      try node.foldAll()
    }
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(site.anchor.store.currentJudged.frontier.covers(nodes[4].store.position.frontier))
    for (index, node) in nodes.enumerated() {
      let verdicts = Dictionary(grouping: try node.verdicts()) { $0 }.mapValues(\.count)
      #expect(
        verdicts == [
          "accepted server-wins-on-conflict": share,
          "rejected unseen server-wins-on-conflict": both,
        ])
      let log = try node.conflicts()
      #expect(log.count == both)
      let other = (index + 1) % nodes.count
      #expect(
        Set(log) == [
          "again by \(index) lost to of \(other): unseen (server-wins-on-conflict)"
        ])
    }
    #expect(try site.anchor.store.conflictLog.list(all: true).count == Self.concurrent)
    #expect(
      try site.anchor.value("SELECT count(*) FROM note WHERE text LIKE 'of %'")
        == .integer(Int64(Self.rows)))
    #expect(
      try site.anchor.value("SELECT count(*) FROM _flotilla_ruling WHERE kind < 128")
        == .integer(Int64(Self.concurrent)))
  }
}
