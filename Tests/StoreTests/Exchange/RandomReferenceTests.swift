import Replication
import SQLite
import Testing

@testable import Store

/// Rows that refer to each other and claim unique values, edited at random by programs with and
/// without foreign keys: what stands is what a plain recomputation says, at every replica.
@Suite struct `References at random` {
  private static let schema = """
    CREATE TABLE a(id TEXT PRIMARY KEY NOT NULL, u INT UNIQUE, up TEXT REFERENCES a,
      best TEXT REFERENCES b DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE b(id TEXT PRIMARY KEY NOT NULL, u INT UNIQUE,
      a TEXT REFERENCES a ON DELETE CASCADE, code INT REFERENCES a(u) ON UPDATE SET NULL);
    CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, b TEXT NOT NULL REFERENCES b ON DELETE CASCADE,
      a TEXT REFERENCES a ON DELETE SET NULL);
    CREATE INDEX found ON c(b);
    """
  private static let references = [
    PlainStanding.Reference(child: "a", column: "up", parent: "a", to: "id"),
    PlainStanding.Reference(child: "a", column: "best", parent: "b", to: "id"),
    PlainStanding.Reference(child: "b", column: "a", parent: "a", to: "id"),
    PlainStanding.Reference(child: "b", column: "code", parent: "a", to: "u"),
    PlainStanding.Reference(child: "c", column: "b", parent: "b", to: "id"),
    PlainStanding.Reference(child: "c", column: "a", parent: "a", to: "id"),
  ]
  private static let tables = ["a", "b", "c"]

  @Test(arguments: Seeded.seeds(24))
  func `hold as a plain recomputation says`(seed: UInt64) throws {
    var random = Seeded(seed)
    let comment = Comment("repeat with: FLOTILLA_SEED=\(seed) … --filter RandomReferenceTests")
    // Mostly few rows are parked because of others, or come back, in one commit.
    var pace = Pace()
    if seed % 4 > 0 { pace.parkedRows = Int(seed % 4) }
    var replicas = [
      try TestReplica(
        1, schema: Self.schema, tracking: random.pick([["a", "b", "c"], ["c", "b", "a"]]),
        pace: pace)
    ]
    let isStrict = random.chance(60)
    for number in 2...(2 + UInt64(random.below(2))) {
      let replica = try TestReplica(number, schema: Self.schema, pace: pace)
      try replica.exchange(with: replicas[0])
      replicas.append(replica)
    }
    for replica in replicas {
      try replica.write("PRAGMA foreign_keys = \(isStrict || random.chance(50) ? "ON" : "OFF")")
    }
    for _ in 0..<(10 + random.below(25)) {
      let replica = random.pick(replicas)
      for _ in 0..<(1 + random.below(8)) { try write(replica, &random) }
      if random.chance(10) { try replica.reopen() }
      try replica.foldAll()
      if random.chance(70) {
        let other = random.pick(replicas)
        if other !== replica { try pull(other, from: replica, &random) }
        try check(other, comment, isStrict: isStrict)
      }
      try check(replica, comment, isStrict: isStrict)
    }
    for _ in 0..<4 {
      for replica in replicas { try replica.foldAll() }
      for other in replicas.dropFirst() { try replicas[0].exchange(with: other) }
    }
    for replica in replicas {
      try replica.foldAll()
      try check(replica, comment, isStrict: isStrict)
      for table in Self.tables {
        #expect(try replica.content(table) == replicas[0].content(table), comment)
      }
    }
  }

  /// A whole exchange, or one in slices of which the last may be missing.
  private func pull(
    _ replica: TestReplica, from other: TestReplica, _ random: inout Seeded
  ) throws {
    guard random.chance(30) else {
      try replica.pull(from: other)
      return try recall(replica)
    }
    let (covers, batches) = try other.export(above: replica.store.position.frontier)
    try replica.mergeSlice(batches, covers: covers, from: other)
    try recall(replica)
  }

  /// What others let come back may take some commits more; foreign keys hold in each.
  private func recall(_ replica: TestReplica) throws {
    while try replica.store.settlement.isRecalling { _ = try replica.store.fold(at: replica.now) }
  }

  private func check(_ replica: TestReplica, _ comment: Comment, isStrict: Bool) throws {
    let plain = try PlainStanding(
      replica.store, references: Self.references, unique: ["a": ["u"], "b": ["u"]])
    let standing = plain.standing()
    for table in Self.tables {
      let keys = try replica.application.rows("SELECT id FROM \(table)").compactMap { row in
        Key([Replication.Value(row[0])], collations: [.binary])
      }
      #expect(Set(keys) == standing[table] ?? [], "\(table) \(comment)")
    }
    guard isStrict else { return }
    #expect(try replica.application.rows("PRAGMA foreign_key_check").isEmpty, comment)
  }

  private func write(_ replica: TestReplica, _ random: inout Seeded) throws {
    func key() -> String { "'\(random.pick(["p", "q", "r", "s"]))'" }
    func maybe() -> String { random.chance(30) ? "NULL" : key() }
    func number() -> String { random.chance(40) ? "NULL" : "\(random.below(4))" }
    let sql: String
    switch random.below(14) {
    case 0, 1: sql = "INSERT INTO a VALUES (\(key()), \(number()), \(maybe()), NULL)"
    case 2: sql = "INSERT INTO a VALUES (\(key()), \(number()), NULL, NULL)"
    case 3, 4: sql = "INSERT INTO b VALUES (\(key()), \(number()), \(maybe()), NULL)"
    case 5: sql = "INSERT INTO b VALUES (\(key()), NULL, NULL, \(number()))"
    case 6, 7: sql = "INSERT INTO c VALUES (\(key()), \(key()), \(maybe()))"
    case 8: sql = "UPDATE a SET best = \(maybe()) WHERE id = \(key())"
    case 9: sql = "UPDATE OR IGNORE a SET u = \(number()), up = \(maybe()) WHERE id = \(key())"
    case 10: sql = "DELETE FROM a WHERE id = \(key())"
    case 11: sql = "DELETE FROM b WHERE id = \(key())"
    case 12: sql = "DELETE FROM c WHERE id = \(key())"
    default: sql = "INSERT OR REPLACE INTO b VALUES (\(key()), \(number()), \(maybe()), NULL)"
    }
    do {
      try replica.write(sql)
    } catch let error as SQLiteError {
      guard error.isConstraint else { throw error }
    }
  }
}
