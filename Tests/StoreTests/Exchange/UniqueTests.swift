import Replication
import SQLite
import Testing

@testable import Store

/// Replicas that claim the same unique values: the same rows stand everywhere, those that follow
/// from the set of versions, and nothing is lost.
@Suite struct UniqueTests {
  static let table = TestTable(
    name: "t",
    sql: "(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, v INTEGER CHECK(v < 90), w TEXT)",
    key: [("id", ["'a'", "'b'", "'c'", "'d'", "'e'"])], collations: [.binary],
    columns: ["u", "v", "w"])
  static let schema =
    "CREATE TABLE t\(table.sql); CREATE UNIQUE INDEX tw ON t(w COLLATE NOCASE) WHERE v > 30"

  @Test(arguments: Seeded.seeds(120))
  func `which row stands follows from the versions alone`(seed: UInt64) throws {
    var random = Seeded(seed)
    let replicas = try (1...3).map {
      try TestReplica(
        $0, schema: Self.schema, tracking: $0 == 1 ? ["t"] : [])
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
    for replica in replicas { faults += try missing(replica) + misplaced(replica) }
    for replica in replicas.dropFirst() {
      let (mine, theirs) = (try replica.content("t"), try replicas[0].content("t"))
      if mine != theirs { faults.append("\(replica.store.nodeName): \(mine), not \(theirs)") }
    }
    #expect(faults == [], "repeat with: FLOTILLA_SEED=\(seed) … --filter UniqueTests")
  }

  private func write(_ replica: TestReplica, _ random: inout Seeded) throws {
    let (key, other) = (random.pick(Self.table.key[0].values), random.pick(["'a'", "'b'", "'c'"]))
    let value = random.pick(["'x'", "'y'", "'z'", "NULL"])
    let word = random.pick(["'p'", "'P'", "'q'", "NULL"])
    let sql = random.pick([
      "INSERT OR REPLACE INTO t VALUES (\(key), \(value), \(random.below(90)), \(word))",
      "INSERT OR IGNORE INTO t VALUES (\(key), \(value), \(random.below(90)), \(word))",
      "UPDATE OR IGNORE t SET w = \(word), v = v + 5 WHERE id = \(key)",
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

  /// Rows that stand though the versions say otherwise, and the other way round: computed anew from
  /// all of them.
  private func misplaced(_ replica: TestReplica) throws -> [String] {
    let table = try #require(replica.store.tables.table("t"))
    let rows = try Outside.rows(replica, [Self.table])
    let live = try Outside.versions(replica, [Self.table])
      .filter { $0.key.table == "t" && !$0.value.isDeleted }
      .compactMap { name, _ in
        try replica.store.versions.version(table: table.id, key: name.key).map { (name, $0) }
      }.sorted { Precedence($0.1, $0.0.key) < Precedence($1.1, $1.0.key) }
    var taken: Set<String> = []
    var faults: [String] = []
    for (name, _) in live {
      let entry = try replica.store.shelf.entry(table: table.id, key: name.key)
      let content =
        entry.map { Dictionary(uniqueKeysWithValues: $0.values.map { ($0.name, $0.value) }) }
        ?? rows[name]?.mapValues { Replication.Value($0) } ?? [:]
      let claims = Self.claims(content)
      let stands = taken.isDisjoint(with: claims)
      if stands { taken.formUnion(claims) }
      if stands != (rows[name] != nil) {
        faults.append("\(name) at \(replica.store.nodeName) should \(stands ? "" : "not ")stand")
      }
    }
    return faults
  }

  private static func claims(_ content: [String: Replication.Value]) -> Set<String> {
    var claims: Set<String> = []
    if case .text(let bytes)? = content["u"] { claims.insert("u \(bytes)") }
    if case .text(let bytes)? = content["w"], case .integer(let v)? = content["v"], v > 30 {
      claims.insert("w " + String(decoding: bytes, as: UTF8.self).lowercased())
    }
    return claims
  }
}
