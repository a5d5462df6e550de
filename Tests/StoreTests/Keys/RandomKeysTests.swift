import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// Random schemas with numbers for keys, written on several machines that do not hear of each
/// other: every row refers to the row that its author meant, and nothing is lost.
@Suite struct RandomKeysTests {
  /// What one schedule does.
  private struct Play {
    let tables: [KeySchema.Table]
    let replicas: [TestReplica]
    var labels = 0
    /// The labels of rows that were deleted.
    var deleted: Set<String> = []
    var all: Set<String> = []

    mutating func write(_ replica: TestReplica, _ random: inout Seeded) throws {
      let table = random.pick(tables)
      switch random.below(10) {
      case 0...6: try insert(table, replica, &random)
      case 7...8:
        guard let (_, label) = try pick(table, replica, &random) else { return }
        try replica.write("UPDATE \(table.name) SET v = v + 1 WHERE label = '\(label)'")
      default: try refer(table, replica, &random)
      }
    }

    private mutating func insert(
      _ table: KeySchema.Table, _ replica: TestReplica, _ random: inout Seeded
    ) throws {
      labels += 1
      let label = "\(replica.store.nodeName)/\(labels)"
      var columns = ["label"]
      var values = ["'\(label)'"]
      for reference in table.references {
        let parent = tables[reference.parent]
        guard let (key, name) = try pick(parent, replica, &random),
          reference.isOfKey || random.below(4) > 0
        else {
          if reference.isOfKey { return }
          continue
        }
        columns += [reference.column, "means_\(reference.column)"]
        values += ["\(key)", "'\(name)'"]
      }
      if table.ownKey == ["line"] {
        columns.append("line")
        values.append("\(random.below(3))")
      }
      do {
        try replica.application.execute(
          "INSERT INTO \(table.name)(\(columns.joined(separator: ", "))) "
            + "VALUES (\(values.joined(separator: ", ")))")
        all.insert(label)
      } catch {
        guard error.isConstraint else { throw error }
      }
    }

    private func pick(
      _ table: KeySchema.Table, _ replica: TestReplica, _ random: inout Seeded
    ) throws -> (key: Int64, label: String)? {
      let rows = try replica.application.rows(
        "SELECT \(KeySchema.keyColumn(table)), label FROM \(table.name) ORDER BY 1, 2", [])
      guard !rows.isEmpty else { return nil }
      let row = rows[max(random.below(rows.count), random.below(rows.count))]
      guard let key = row[0].integer, let label = row[1].string else { return nil }
      return (key, label)
    }

    private func refer(
      _ table: KeySchema.Table, _ replica: TestReplica, _ random: inout Seeded
    ) throws {
      guard let reference = table.references.first(where: { !$0.isOfKey }),
        let (key, name) = try pick(tables[reference.parent], replica, &random),
        let (_, label) = try pick(table, replica, &random),
        // Who writes the number that stands there already means what the row meant before.
        try replica.prepareRows(
          """
          SELECT label FROM \(table.name)
          WHERE label = '\(label)' AND \(reference.column) = \(key)
          """
        ).isEmpty
      else { return }
      try replica.write(
        """
        UPDATE \(table.name) SET \(reference.column) = \(key), means_\(reference.column) = '\(name)'
        WHERE label = '\(label)'
        """)
    }

    /// Rows that refer to another one than their authors meant.
    func misplaced(_ replica: TestReplica) throws -> [String] {
      var faults: [String] = []
      for table in tables {
        for reference in table.references {
          let parent = tables[reference.parent]
          // Of two pages of one row one is in the log: who refers to it refers to the other now.
          let mayBeLogged = parent.ownKey != ["id"]
          let wrong = try replica.prepareRows(
            """
            SELECT c.label || ' means ' || c.means_\(reference.column) || ', not '
              || ifnull(p.label, 'none')
            FROM \(table.name) c LEFT JOIN \(parent.name) p
              ON p.\(KeySchema.keyColumn(parent)) = c.\(reference.column)
            WHERE c.\(reference.column) IS NOT NULL
              AND p.label IS NOT c.means_\(reference.column)
              AND (NOT \(mayBeLogged) OR c.means_\(reference.column) IN (
                SELECT label FROM \(parent.name)))
            """)
          faults += wrong.map {
            "\(replica.store.nodeName): \(table.name).\(reference.column): \($0)"
          }
        }
      }
      return faults
    }

    func faults() throws -> [String] {
      var faults: [String] = []
      for replica in replicas {
        let who = replica.store.nodeName
        faults += try misplaced(replica)
        var found: [String] = []
        for table in tables {
          found += try replica.prepareRows("SELECT label FROM \(table.name)")
          let (mine, first) = (
            try replica.content(table.name), try replicas[0].content(table.name)
          )
          if mine != first { faults.append("\(who): \(table.name) differs") }
        }
        let logged = try replicas.flatMap { replica in
          try replica.store.conflictList(all: true).compactMap { conflict in
            conflict.loser?.values.first { $0.name == "label" }.map { "\($0.value)" }
          }
        }
        if Set(found).count < found.count { faults.append("\(who): a row is there twice") }
        for label in all.subtracting(found)
        where !logged.contains("\(Replication.Value.text(Array(label.utf8)))") {
          faults.append("\(who): \(label) is lost")
        }
      }
      return faults
    }
  }

  @Test(arguments: Seeded.seeds(24))
  func `every row refers to the one that its author meant`(seed: UInt64) throws {
    try play(seed, hasAnchor: false)
  }

  @Test(arguments: Seeded.seeds(24))
  func `beside an anchor, too`(seed: UInt64) throws { try play(seed, hasAnchor: true) }

  private func play(_ seed: UInt64, hasAnchor: Bool) throws {
    var random = Seeded(seed)
    let schema = KeySchema(&random).declared()
    let count = 2 + random.below(3)
    let replicas = try KeysTests.site(
      count, schema: schema.sql, tables: schema.tables.map(\.name))
    if hasAnchor {
      try KeysTests.appoint(replicas)
      try KeysTests.settle(replicas)
    }
    var play = Play(tables: schema.tables, replicas: replicas)
    for _ in 0..<(20 + random.below(40)) {
      let (replica, other) = (random.pick(replicas), random.pick(replicas))
      switch random.below(20) {
      case 0...14: try play.write(replica, &random)
      case 15...16: try replica.foldAll()
      case 17: try replica.reopen()
      default:
        guard other !== replica else { continue }
        try replica.pull(from: other)
        // While authors are away, too, nothing is shown under another row than is meant.
        #expect(try play.misplaced(replica) == [], "\(schema.sql)\nFLOTILLA_SEED=\(seed)")
      }
    }
    for replica in replicas { try replica.foldAll() }
    try KeysTests.settle(replicas)
    let faults = try play.faults()
    #expect(
      faults == [],
      "\(schema.sql)\nrepeat with: FLOTILLA_SEED=\(seed) … --filter RandomKeysTests")
  }
}
