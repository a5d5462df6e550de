import Replication
import SQLite
import Testing

@testable import Store

/// A migration that commits each of its statements by itself, as Sequelize does and old scripts do:
/// the node may look after each of them.
@Suite struct SplitMigrationTests {
  private static let key = "id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL"

  /// What becomes of `age`: the columns afterwards, and what they are copied from.
  enum Change: CaseIterable {
    case type, drop, add, rename

    var columns: String {
      switch self {
      case .type: "\(key), age TEXT"
      case .drop: key
      case .add: "\(key), age INTEGER, note TEXT NOT NULL DEFAULT ''"
      case .rename: "\(key), years INTEGER"
      }
    }

    var source: String {
      switch self {
      case .type, .rename: "id, name, age"
      case .drop: "id, name"
      case .add: "id, name, age, ''"
      }
    }
  }

  enum Way: CaseIterable {
    /// What `queryInterface.removeColumn` and `changeColumn` of Sequelize do for SQLite.
    case backup
    case old, temporary

    func steps(_ change: Change) -> [String] {
      let create = "CREATE TABLE person(\(change.columns))"
      return switch self {
      case .backup:
        [
          "CREATE TABLE person_backup(\(change.columns))",
          "INSERT INTO person_backup SELECT \(change.source) FROM person", "DROP TABLE person",
          create, "INSERT INTO person SELECT * FROM person_backup", "DROP TABLE person_backup",
        ]
      case .old:
        [
          "ALTER TABLE person RENAME TO person_old", create,
          "INSERT INTO person SELECT \(change.source) FROM person_old", "DROP TABLE person_old",
        ]
      case .temporary:
        [
          "CREATE TEMP TABLE old AS SELECT * FROM person", "DROP TABLE person", create,
          "INSERT INTO person SELECT \(change.source) FROM old", "DROP TABLE old",
        ]
      }
    }
  }

  private func replicas() throws -> (TestReplica, TestReplica) {
    let schema = "CREATE TABLE person(\(Self.key), age INTEGER)"
    let a = try TestReplica(1, schema: schema, tracking: ["person"])
    let b = try TestReplica(2, schema: schema)
    try b.pull(from: a)
    try a.write("INSERT INTO person VALUES ('a', 'Ann', 1), ('b', 'Bob', 2), ('c', 'Cy', 3)")
    try b.exchange(with: a)
    for replica in [a, b] {
      try replica.store.lives.setDelivered(replica.store.position.frontier[replica.store.own])
      replica.clock += 1_000
    }
    return (a, b)
  }

  /// After which of so many steps a node looks, a bit for each: none, one, all but one, all.
  private static func looks(_ count: Int) -> [Int] {
    let all = 1 << count - 1
    return [0, all] + (0..<count).flatMap { [1 << $0, all ^ 1 << $0] }
  }

  /// Rows that others have come back only when the migration has put its own in.
  @Test(arguments: [Way.backup, .old], Change.allCases)
  func `is in nobody's way, with nodes in touch`(way: Way, change: Change) throws {
    let steps = way.steps(change)
    for looks in Self.looks(steps.count) {
      let (a, b) = try replicas()
      for (place, step) in steps.enumerated() {
        try a.write(step)
        guard looks & 1 << place != 0 else { continue }
        for _ in 1...2 { try a.exchange(with: b) }
        #expect(try b.content("person").count == 3, "\(looks)")
      }
      for _ in 1...2 { try a.exchange(with: b) }
      for replica in [a, b] {
        let names = try replica.application.prepareRows("SELECT name FROM person ORDER BY id")
        #expect(names == ["Ann", "Bob", "Cy"], "\(looks)")
      }
    }
  }

  @Test(arguments: Way.allCases, Change.allCases)
  func `undoes no edit and no delete, whenever the node looks`(way: Way, change: Change) throws {
    let steps = way.steps(change)
    for looks in Self.looks(steps.count) {
      let (a, b) = try replicas()
      try b.write("UPDATE person SET name = 'Bill' WHERE id = 'b'")
      for (place, step) in steps.enumerated() {
        try a.write(step)
        if looks & 1 << place != 0 { try a.foldAll() }
      }
      // Of what went with its table, and is not in the new one when that is seen first, nobody
      // knows whether a program has deleted it: it comes back.
      let isLost = way == .temporary && looks & 0b01110 == 0b00010
      if isLost { try a.foldAll() }
      try a.write("DELETE FROM person WHERE id = 'c'")
      for _ in 1...2 { try a.exchange(with: b) }
      for replica in [a, b] {
        let names = try replica.application.prepareRows("SELECT name FROM person ORDER BY id")
        #expect(names == ["Ann", "Bill"], "\(looks)")
        // Where a column is gone or has another type, nothing tells a copy from an edit: what
        // loses may be one.
        if change == .add || change == .rename {
          #expect(try replica.store.conflictLog.list(all: true).isEmpty, "\(looks)")
        }
      }
    }
  }
}
