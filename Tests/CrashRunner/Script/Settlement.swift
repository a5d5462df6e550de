import Replication
import SQLite
import Store

/// Two replicas that are brought together after a fault.
struct Settlement {
  private let life: Life

  init(_ life: Life) { self.life = life }

  /// Folds and exchanges until both hold the same.
  func settle() throws {
    let replicas = try Side.allCases.filter { try life.isReplica($0) }
    for side in replicas { try life.foldAll(side) }
    if replicas.count == 2 {
      try life.exchange()
      try checkEqual()
    }
  }

  /// What Flotilla keeps beside the rows fits them.
  func checkBooks() throws {
    for side in try Side.allCases.filter({ try life.isReplica($0) }) {
      try Self.checkBooks(life.store(side), side.rawValue)
    }
  }

  /// Edits after the fault are captured and travel.
  func probe() throws {
    guard try Side.allCases.allSatisfy({ try life.isReplica($0) }) else { return }
    for side in Side.allCases {
      try life.write(
        side,
        """
        INSERT INTO item(id, name, n) VALUES ('probe \(side)', 'probe \(side)', 1);
        INSERT INTO person(email) VALUES ('probe \(side)');
        UPDATE item SET n = 77 WHERE id = '\(side == .a ? "b" : "a")';
        DELETE FROM line WHERE item = '\(side == .a ? "b" : "a")' AND pos = 1;
        """)
      try life.exchange()
    }
    try life.exchange()
    try checkEqual()
    for side in Side.allCases {
      let rows = try Content(path: life.path(side)).rows["item"] ?? []
      guard rows.count(where: { $0.contains("probe ") }) == 2 else {
        throw CrashFailure("\(side) did not get what was written after the fault")
      }
    }
  }

  /// The tables that both track hold the same rows.
  private func checkEqual() throws {
    let (one, two) = (try life.store(.a), try life.store(.b))
    guard one.position.frontier == two.position.frontier else {
      throw CrashFailure("the frontiers differ")
    }
    guard one.position.digest == two.position.digest else {
      throw CrashFailure("the digests differ")
    }
    let (mine, theirs) = (try Content(path: life.path(.a)), try Content(path: life.path(.b)))
    let tracked = try one.trackedTables().map(\.name)
    guard try two.trackedTables().map(\.name) == tracked else {
      throw CrashFailure("the tracked tables differ")
    }
    for table in tracked where mine.rows[table] != theirs.rows[table] {
      // Between the two halves of a migration one side has other columns.
      guard mine.columns[table] == theirs.columns[table] else { continue }
      throw CrashFailure("the replicas differ: \(mine.difference(from: theirs) ?? table)")
    }
  }

  /// Triggers, journal, versions and hashes are as the rows say.
  static func checkBooks(_ store: Store, _ side: String) throws {
    let health = try store.survey.health()
    guard health.hasJournal, health.uncaptured.isEmpty, health.damage == nil else {
      throw CrashFailure("\(side): uncaptured \(health.uncaptured), \(health.damage ?? "")")
    }
    // A comparison with the rows finds nothing new.
    let before = store.position
    try store.repair()
    while try store.fold(at: Clock.now).hasMore {}
    guard store.position.frontier == before.frontier, store.position.digest == before.digest else {
      throw CrashFailure("\(side): its versions were not those of its rows")
    }
  }
}
