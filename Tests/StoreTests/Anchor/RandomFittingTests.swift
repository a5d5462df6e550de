import Replication
import SQLite
import Testing

@testable import Store

/// Random edits of rows that claim the same values and refer to each other, beside an anchor.
@Suite struct `Beside an anchor` {
  private static let schema = """
    CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, u TEXT UNIQUE,
      above TEXT REFERENCES note)
    """

  @Test(arguments: Seeded.seeds(60))
  func `nothing is parked in the end, and nothing lost`(seed: UInt64) throws {
    var random = Seeded(seed)
    var pace = Pace()
    if random.below(2) == 0 { (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 0, 3) }
    let rule = random.pick(["newest-wins", "client-wins", "server-wins", "server-wins-on-conflict"])
    let site = try AnchorSite(rule, schema: Self.schema, pace: pace)
    for replica in site.replicas { try replica.application.execute("PRAGMA foreign_keys = ON") }
    for moment in 10..<50 {
      let replica = random.pick(site.replicas)
      switch random.below(10) {
      case 0...5: try write(replica, at: Int64(moment), &random)
      case 6: try replica.foldAll()
      case 7: try replica.reopen()
      default: try site.meet(site.replicas.filter { $0 === replica || random.below(2) == 0 })
      }
    }
    try site.meet()
    let repeated = Comment("repeat with: FLOTILLA_SEED=\(seed) … --filter RandomFittingTests")
    #expect(try site.isEqual, repeated)
    for replica in site.replicas {
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty, repeated)
      #expect(
        try replica.pendingTexts.isEmpty && replica.store.verdicts.unjudgedCount() == 0, repeated)
      #expect(
        try replica.application.prepareRows("PRAGMA foreign_key_check").isEmpty, repeated)
      #expect(
        try replica.application.prepareRows("PRAGMA integrity_check") == ["ok"], repeated)
      // Whatever was rejected is in the log of its author, unless that has written over it.
      let log = Set(try replica.store.conflictLog.list(all: true).compactMap { $0.loser?.edit })
      let verdicts = try replica.store.verdicts.list(after: 0, through: .max)
      for verdict in verdicts where verdict.reason == "parked" {
        let isLast = !verdicts.contains { $0.key == verdict.key && $0.seq > verdict.seq }
        #expect(!isLast || log.contains(Dot(replica.origin, verdict.seq)), repeated)
      }
    }
  }

  private func write(
    _ replica: TestReplica, at moment: Int64, _ random: inout Seeded
  ) throws {
    let (key, other) = (random.pick(["a", "b", "c", "d"]), random.pick(["a", "b", "c", "r"]))
    let value = random.pick(["'x'", "'y'", "'z'", "NULL"])
    let sql = random.pick([
      "INSERT OR REPLACE INTO note VALUES ('\(key)', 't\(moment)', \(value), NULL)",
      "INSERT OR IGNORE INTO note VALUES ('\(key)', 't\(moment)', \(value), '\(other)')",
      "UPDATE OR IGNORE note SET u = \(value), text = 't\(moment)' WHERE id = '\(key)'",
      "UPDATE OR REPLACE note SET u = \(value) WHERE id = '\(key)'",
      "UPDATE OR IGNORE note SET above = '\(other)' WHERE id = '\(key)'",
      "UPDATE note SET u = CASE u WHEN 'x' THEN NULL ELSE u END, text = 't\(moment)'",
      "DELETE FROM note WHERE id = '\(key)'",
    ])
    do {
      try replica.write(sql, at: moment)
    } catch let error as SQLiteError {
      guard error.isConstraint else { throw error }
    }
  }
}
