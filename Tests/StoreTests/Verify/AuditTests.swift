import Replication
import SQLite
import Testing

@testable import Store

/// Whether what stands in the tables is what the versions say.
@Suite struct AuditTests {
  static let schema = """
    CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, v UNIQUE, w DEFAULT 5);
    CREATE TABLE pair(a REAL, b TEXT COLLATE RTRIM, c, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE other(id INTEGER PRIMARY KEY, v);
    """

  static func replica(_ number: UInt64 = 1, pace: Pace = Pace()) throws -> TestReplica {
    let replica = try TestReplica(
      number, schema: schema, tracking: ["t", "pair", "other"], pace: pace)
    try replica.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO t SELECT 'Key' || i, i, NULL FROM n;
      INSERT INTO pair SELECT v / 2.0, 'x  ', v FROM t;
      INSERT INTO other SELECT v * v * v, zeroblob(v) FROM t;
      """)
    try replica.foldAll()
    try replica.write("DELETE FROM other WHERE id < 1000")
    try replica.foldAll()
    return replica
  }

  @Test func `of a sound replica finds nothing`() throws {
    let replica = try Self.replica()
    let result = try replica.audit()
    #expect(result.count == 0 && result.wrongSums == 0)
    #expect(result.rows == 300 + 300 + 291)
    #expect(result.digest == replica.store.position.digest)
    #expect(result.frontier == replica.store.position.frontier)
  }

  @Test func `takes in what waits to be folded`() throws {
    let replica = try Self.replica()
    try replica.write("UPDATE t SET v = -v; DELETE FROM pair WHERE c = 7")
    let result = try replica.audit()
    #expect(result.count == 0 && result.wrongSums == 0)
    #expect(result.rows == 300 + 299 + 291)
  }

  @Test func `finds what was written past the triggers, and makes edits of it`() throws {
    let replica = try Self.replica()
    let before = replica.store.position.frontier[replica.origin]
    try replica.writePastTriggers(
      """
      UPDATE t SET v = 'x' WHERE id = 'key7'; DELETE FROM pair WHERE c = 9;
      INSERT INTO other VALUES (1, 2), (-4, 3);
      """)
    let result = try replica.audit()
    #expect(
      result.findings.map { "\($0.kind.rawValue) \($0.table)" }.sorted() == [
        "added other", "added other", "changed t", "removed pair",
      ])
    #expect(
      result.findings.first { $0.kind == .removed }?.key.values == [.real(4.5), .text([0x78])])
    #expect(result.strays.map(\.state) == [.uncaptured, .uncaptured])
    #expect(result.wrongSums == 0)
    #expect(result.digest != replica.store.position.digest)

    #expect(try replica.audit(repairs: true).count == 4)
    try replica.foldAll()
    let after = try replica.audit()
    #expect(after.count == 0 && after.wrongSums == 0)
    #expect(replica.store.position.frontier[replica.origin] == before + 4)
  }

  @Test func `finds versions that somebody has changed, and sums that are wrong`() throws {
    for change in [
      "UPDATE _flotilla_version SET hash = 5 WHERE key = (SELECT max(key) FROM _flotilla_version)",
      "DELETE FROM _flotilla_version WHERE key = (SELECT max(key) FROM _flotilla_version)",
      "UPDATE _flotilla_version SET hash = NULL WHERE key = (SELECT max(key) FROM "
        + "_flotilla_version)",
    ] {
      let replica = try Self.replica()
      try replica.write(change)
      let result = try replica.audit()
      #expect(result.count == 1 && result.wrongSums == 1, "\(change)")
      _ = try replica.audit(repairs: true)
      try replica.foldAll()
      let after = try replica.audit()
      #expect(after.count == 0 && after.wrongSums == 0, "\(change)")
      try replica.reopen()
      #expect(replica.store.position.digest == after.digest)
    }
  }

  @Test func `finds sums that are wrong in the file alone, or in memory alone`() throws {
    for isInMemory in [false, true] {
      let replica = try Self.replica()
      let sums = replica.store.position.digest
      try replica.write("UPDATE _flotilla_digest SET sum = sum + 1 WHERE bucket IN (3, 200)")
      if isInMemory {
        try replica.reopen()
        try replica.write("UPDATE _flotilla_digest SET sum = sum - 1 WHERE bucket IN (3, 200)")
      }
      let result = try replica.audit()
      #expect(result.count == 0 && result.wrongSums == 2)
      #expect(result.digest == sums)
      // What is edited meanwhile is not undone.
      try replica.write("INSERT INTO other VALUES (1, 'later')")
      _ = try replica.audit(repairs: true)
      try replica.write("INSERT INTO other VALUES (2, 'later')")
      try replica.foldAll()
      #expect(try replica.audit().wrongSums == 0)
      try replica.reopen()
      #expect(try replica.audit().wrongSums == 0)
    }
  }

  @Test func `does not take parked rows for missing ones`() throws {
    let (one, two) = (try Self.replica(1), try Self.replica(2))
    try two.pull(from: one)
    try one.write("INSERT INTO t VALUES ('one', 'same', 1)")
    try two.write("INSERT INTO t VALUES ('two', 'same', 2)")
    try one.exchange(with: two)
    try two.pull(from: one)
    let results = [try one.audit(), try two.audit()]
    for result in results { #expect(result.count == 0 && result.wrongSums == 0) }
    #expect(results.map(\.parked).reduce(0, +) > 0)
    #expect(results[0].digest == results[1].digest)
  }

  @Test func `does not take columns that are kept beside a row for changes`() throws {
    let replica = try Self.replica()
    try replica.write("ALTER TABLE other RENAME COLUMN v TO y")
    try replica.foldAll()
    #expect(try replica.audit().count == 0)
    try replica.writePastTriggers("UPDATE other SET y = 'z' WHERE id = 1000")
    #expect(try replica.audit().findings.map(\.kind) == [.changed])
  }

  @Test func `goes on in another snapshot where one may not be kept so long`() throws {
    var pace = Pace()
    pace.snapshotTime = 25
    pace.comparedRows = 20
    let replica = try Self.replica(pace: pace)
    try replica.writePastTriggers("UPDATE t SET w = 1 WHERE v > 298; DELETE FROM pair WHERE c < 3")
    let (result, renewals) = try replica.countingAudit()
    #expect(renewals > 3)
    #expect(result.count == 4)
    #expect(result.rows == 300 + 298 + 291)
  }

  @Test func `gives up sums that it cannot take in time`() throws {
    var pace = Pace()
    (pace.walBytes, pace.mostWalBytes) = (0, 0)
    let replica = try Self.replica(pace: pace)
    let error = #expect(throws: StoreError.self) { try replica.audit() }
    #expect(error?.code == .busy)
    #expect(replica.store.exports.isEmpty && replica.store.verification.audits.isEmpty)
  }

  @Test func `counts a row whose key is too long to be kept`() throws {
    let replica = try Self.replica()
    try replica.writePastTriggers("INSERT INTO t VALUES (hex(zeroblob(1000)), 'x', 1)")
    let result = try replica.audit()
    #expect(result.findings.isEmpty && result.uncaptured == 1)
  }

  @Test func `keeps some findings and counts all`() throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", tracking: ["t"])
    try replica.writePastTriggers(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO t SELECT i, i FROM n
      """)
    let result = try replica.audit()
    #expect(result.count == 3_000)
    #expect(result.findings.count == 1_000 && result.strays.count == 1_000)
    _ = try replica.audit(repairs: true)
    try replica.foldAll()
    #expect(try replica.audit().count == 0)
  }
}

extension TestReplica {
  /// Looks at everything, and then lets go of it or repairs it.
  func audit(repairs: Bool = false) throws -> AuditResult {
    try countingAudit(repairs: repairs).0
  }

  func countingAudit(repairs: Bool = false) throws -> (AuditResult, renewals: Int) {
    let id = try store.openAudit(at: now).id
    defer { try? store.closeAudit(id) }
    var renewals = 0
    while true {
      switch try store.auditStep(id, at: now) {
      case .more: break
      case .spent:
        renewals += 1
        _ = try store.renewAudit(id, at: now)
      case .done(let result):
        if repairs { try store.repair(after: id) }
        return (result, renewals)
      }
    }
  }

  /// Writes as a program would that takes the triggers away and puts them back.
  func writePastTriggers(_ sql: String) throws {
    let triggers = try application.rows(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '\\_flotilla%' "
        + "ESCAPE '\\'")
    try application.execute("BEGIN IMMEDIATE")
    for trigger in triggers { try application.execute("DROP TRIGGER \(trigger[0].string!)") }
    try application.execute(sql)
    for trigger in triggers { try application.execute(trigger[1].string!) }
    try application.execute("COMMIT")
  }
}
