import Replication
import SQLite
import Testing

@testable import Store

/// Replicas that claim the same unique values: which row stands is not decided alike yet, but
/// nothing may be lost and nobody may stop.
@Suite struct UniqueTests {
  static let table = TestTable(
    name: "t", sql: "(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, v INTEGER CHECK(v < 90))",
    key: [("id", ["'a'", "'b'", "'c'", "'d'", "'e'"])], collations: [.binary],
    columns: ["u", "v"])

  @Test(arguments: Seeded.seeds(40))
  func `what collides is kept on the shelf`(seed: UInt64) throws {
    var random = Seeded(seed)
    let replicas = try (1...3).map {
      try TestReplica(
        $0, schema: "CREATE TABLE t\(Self.table.sql)", tracking: $0 == 1 ? ["t"] : [])
    }
    for replica in replicas.dropFirst() { try replica.pull(from: replicas[0]) }
    for _ in 0..<40 {
      let replica = random.pick(replicas)
      let other = random.pick(replicas)
      switch random.below(10) {
      case 0...4: try write(replica, &random)
      case 5: try replica.foldAll()
      case 6: try replica.reopen()
      default: if other !== replica { try replica.pull(from: other) }
      }
    }
    for _ in 0..<3 {
      for (low, high) in [(0, 1), (1, 2), (0, 2)] {
        try replicas[low].exchange(with: replicas[high])
      }
    }
    var faults = try Verdict(replicas, [Self.table], shelves: true).faults
    for replica in replicas { faults += try missing(replica) }
    #expect(faults == [], "repeat with: FLOTILLA_SEED=\(seed) … --filter UniqueTests")
  }

  private func write(_ replica: TestReplica, _ random: inout Seeded) throws {
    let (key, other) = (random.pick(Self.table.key[0].values), random.pick(["'a'", "'b'", "'c'"]))
    let value = random.pick(["'x'", "'y'", "'z'", "NULL"])
    let sql = random.pick([
      "INSERT OR REPLACE INTO t VALUES (\(key), \(value), \(random.below(90)))",
      "INSERT OR IGNORE INTO t VALUES (\(key), \(value), \(random.below(90)))",
      "UPDATE OR IGNORE t SET u = \(value), v = v + 1 WHERE id = \(key)",
      "UPDATE OR REPLACE t SET u = \(value) WHERE id = \(key)",
      "UPDATE OR IGNORE t SET id = \(key) WHERE id = \(other)",
      "DELETE FROM t WHERE id = \(key)",
    ])
    do {
      try replica.application.execute(sql)
    } catch {
      guard error.isConstraint else { throw error }
    }
  }

  /// Live versions whose content is neither in the table nor, whole, on the shelf.
  private func missing(_ replica: TestReplica) throws -> [String] {
    let table = try #require(replica.store.tables.table("t"))
    let statements = try #require(table.statements)
    var faults: [String] = []
    let rows = try Outside.rows(replica, [Self.table])
    for (name, version) in try Outside.versions(replica, [Self.table])
    where name.table == "t" && !version.isDeleted {
      let entry = try replica.store.shelf.entry(table: table.id, key: name.key)
      let content =
        entry.map { Dictionary(uniqueKeysWithValues: $0.values.map { ($0.name, $0.value) }) }
        ?? rows[name]?.mapValues { Replication.Value($0) }
      let values = statements.shape.columns.map { content?[$0] ?? .null }
      if content == nil || statements.contentHash(values) != version.hash {
        faults.append("\(replica.store.nodeName) has lost \(name): \(values)")
      }
      if entry != nil, rows[name] != nil { faults.append("\(name) stands and is on the shelf") }
    }
    let check = try replica.prepareRows("PRAGMA integrity_check")
    return check == ["ok"] ? faults : faults + check
  }
}
