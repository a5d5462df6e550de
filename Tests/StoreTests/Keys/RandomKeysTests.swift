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
    /// Programs write the numbers of other rows as text.
    var isLoose = false
    var labels = 0
    /// The labels of rows that were deleted.
    var deleted: Set<String> = []
    var all: Set<String> = []
    /// Which table is made anew, and what changes in it.
    var migrations: [(place: Int, change: (String, String))] = []
    private var levels: [Origin: Int] = [:]

    init(
      tables: [KeySchema.Table], replicas: [TestReplica],
      migrations: [(place: Int, change: (String, String))] = []
    ) {
      (self.tables, self.replicas, self.migrations) = (tables, replicas, migrations)
    }

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

    /// Deletes a row that nothing refers to here; SQLite gives the number again if it was the last.
    mutating func remove(_ replica: TestReplica, _ random: inout Seeded) throws {
      let table = random.pick(tables)
      guard let (_, label) = try pick(table, replica, &random) else { return }
      do {
        try replica.application.execute("DELETE FROM \(table.name) WHERE label = '\(label)'")
        deleted.insert(label)
      } catch {
        guard error.isConstraint else { throw error }
      }
      // What gets its number before anybody looks is that row, edited (docs/limits.md).
      try replica.foldAll()
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
        values += [number(key), "'\(name)'"]
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

    private func number(_ key: Int64) -> String { isLoose ? "'\(key)'" : "\(key)" }

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
          WHERE label = '\(label)' AND \(reference.column) = \(number(key))
          """
        ).isEmpty
      else { return }
      try replica.write(
        """
        UPDATE \(table.name)
        SET \(reference.column) = \(number(key)), means_\(reference.column) = '\(name)'
        WHERE label = '\(label)'
        """)
    }

    /// The next of the migrations that make a table anew, on one machine; programs go on at once.
    mutating func migrate(_ replica: TestReplica, _ random: inout Seeded) throws {
      let level = levels[replica.origin] ?? 0
      guard level < migrations.count else { return }
      levels[replica.origin] = level + 1
      let (place, (old, new)) = migrations[level]
      let (name, connection) = (tables[place].name, replica.application)
      let sql = try replica.value("SELECT sql FROM sqlite_schema WHERE name = '\(name)'").string
      let columns = try replica.prepareRows("SELECT name FROM pragma_table_info('\(name)')")
        .joined(separator: ", ")
      let fresh = (sql ?? "").replacing(/^CREATE TABLE [^(]*/, with: "CREATE TABLE new__\(name)")
        .replacing(old, with: new)
      try connection.execute(
        """
        PRAGMA foreign_keys = OFF; BEGIN; \(fresh);
        INSERT INTO new__\(name)(\(columns)) SELECT \(columns) FROM \(name);
        DROP TABLE \(name); ALTER TABLE new__\(name) RENAME TO \(name); COMMIT;
        PRAGMA foreign_keys = ON
        """)
    }

    /// A transaction of some statements.
    mutating func transact(_ replica: TestReplica, _ random: inout Seeded) throws {
      try replica.write("BEGIN IMMEDIATE")
      for _ in 0..<(1 + random.below(5)) { try write(replica, &random) }
      try replica.write("COMMIT")
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
          try replica.store.conflictLog.list(all: true).compactMap { conflict in
            conflict.loser?.values.first { $0.name == "label" }.map { "\($0.value)" }
          }
        }
        if Set(found).count < found.count { faults.append("\(who): a row is there twice") }
        // Whose parent is deleted waits.
        let waiting =
          try deleted.isEmpty
          ? []
          : replica.store.tableSurvey.parkedRows().flatMap(\.values)
            .filter { $0.name == "label" }.map { "\($0.value)" }
        for label in all.subtracting(found).subtracting(deleted)
        where !(logged + waiting).contains("\(Replication.Value.text(Array(label.utf8)))") {
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

  @Test(arguments: Seeded.seeds(24, keeping: [109]), [false, true])
  func `where rows are deleted and their numbers given again, too`(
    seed: UInt64, hasAnchor: Bool
  ) throws { try play(seed, hasAnchor: hasAnchor, deletes: true) }

  @Test(arguments: Seeded.seeds(24), [false, true])
  func `where numbers are text, and references have several columns, too`(
    seed: UInt64, hasAnchor: Bool
  ) throws { try play(seed, hasAnchor: hasAnchor, deletes: seed % 2 == 0, isLoose: true) }

  @Test(arguments: Seeded.seeds(24, keeping: [101, 210, 326, 344]))
  func `where tables are made anew meanwhile, too`(seed: UInt64) throws {
    var random = Seeded(seed)
    let schema = KeySchema(&random).declared()
    var pace = Pace()
    (pace.journalEntries, pace.comparedRows) = (random.pick([3, 1_000]), random.pick([2, 500]))
    (pace.batchRows, pace.mergedRows) = (random.pick([1, 4, 500]), random.pick([3, 500]))
    let replicas = try KeysTests.site(
      2 + random.below(2), schema: schema.sql, tables: schema.tables.map(\.name), pace: pace)
    for replica in replicas { try replica.foldAll() }
    let changes = [
      ("label TEXT", "label TEXT UNIQUE"), ("v INTEGER", "v TEXT"), ("", ""),
    ]
    var play = Play(
      tables: schema.tables, replicas: replicas,
      migrations: (0..<random.below(4)).map { _ in
        let column = ("v INTEGER", "x\(random.below(1_000_000_000)) TEXT DEFAULT 'x', v INTEGER")
        return (random.below(schema.tables.count), random.pick(changes + [column]))
      })
    for _ in 0..<(20 + random.below(60)) {
      let (replica, other) = (random.pick(replicas), random.pick(replicas))
      switch random.below(20) {
      case 0...9: try play.transact(replica, &random)
      case 10...12: try replica.foldAll()
      case 13...14: try play.migrate(replica, &random)
      case 15: try replica.reopen()
      case 16 where other !== replica:
        let (covers, batches) = try other.export(above: replica.store.position.frontier)
        let part = Array(batches.prefix(random.below(batches.count + 1)))
        try replica.mergeSlice(part, covers: covers, from: other)
      default: if other !== replica { try replica.pull(from: other) }
      }
    }
    for replica in replicas {
      for _ in play.migrations {
        try play.migrate(replica, &random)
        try play.transact(replica, &random)
      }
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    let faults = try play.faults()
    #expect(
      faults == [],
      "\(schema.sql)\nrepeat with: FLOTILLA_SEED=\(seed) … --filter RandomKeysTests")
  }

  private func play(
    _ seed: UInt64, hasAnchor: Bool, deletes: Bool = false, isLoose: Bool = false
  ) throws {
    var random = Seeded(seed)
    let schema = KeySchema(&random).declared(isLoose: isLoose)
    let count = 2 + random.below(3)
    let replicas = try KeysTests.site(
      count, schema: schema.sql, tables: schema.tables.map(\.name))
    if hasAnchor {
      try KeysTests.appoint(replicas)
      try KeysTests.settle(replicas)
    }
    var play = Play(tables: schema.tables, replicas: replicas)
    play.isLoose = isLoose
    if deletes { for replica in replicas { try replica.write("PRAGMA foreign_keys = ON") } }
    for _ in 0..<(20 + random.below(40)) {
      let (replica, other) = (random.pick(replicas), random.pick(replicas))
      switch random.below(20) {
      case 0...2 where deletes: try play.remove(replica, &random)
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
