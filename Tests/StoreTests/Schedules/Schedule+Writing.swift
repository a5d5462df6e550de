import Replication
import SQLite

@testable import Store

/// What applications do to the files.
extension Schedule {
  /// A transaction of a few random statements.
  mutating func write(_ node: Int) throws {
    let tracked = tables.filter { isTracked($0, node) }
    guard !tracked.isEmpty else { return }
    var statements: [String] = []
    for _ in 0..<(random.chance(20) ? 6 : 1 + random.below(2)) {
      let table = random.pick(tracked)
      let extra = (nodes[node].extra[table.name] ?? []).map { String($0.prefix { $0 != " " }) }
      statements.append(
        table.statement(replica: node, of: nodes.count, extra: extra, &random))
    }
    try commit(statements, at: node)
  }

  private func isTracked(_ table: ScheduleTable, _ node: Int) -> Bool {
    nodes[node].replica.store.tables.table(table.name)?.isTracked == true
  }

  /// Commits statements; what a constraint forbids has no effect.
  private mutating func commit(_ statements: [String], at node: Int) throws {
    let replica = nodes[node].replica
    let application = replica.application
    tell("write at \(node), \(now(node).wall): \(statements.joined(separator: "; "))")
    try application.execute("BEGIN IMMEDIATE")
    let last = try replica.value("SELECT coalesce(max(id), 0) FROM _flotilla_journal")
    for sql in statements {
      do {
        try application.execute(sql)
      } catch {
        guard error.isConstraint || error.primary == 20 else { throw error }
        tell("refused: \(error.message)")
      }
    }
    let note = "UPDATE _flotilla_journal SET at = \(now(node).wall) WHERE id > "
    try application.execute(note + "\(last.integer ?? 0)")
    try application.execute("COMMIT")
    try nodes[node].witness.written(replica, tables, at: now(node).wall)
  }

  mutating func trackAll(_ node: Int) throws {
    let missing = tables.map(\.name).filter { name in
      nodes[node].replica.store.tables.table(name)?.isTracked != true
    }
    // Only a node that knows the site's settings adds to them.
    guard !missing.isEmpty, missing.count < tables.count || node == 0 else { return }
    tell("track \(missing) at \(node)")
    try take(node) { try $0.track(missing, rule: nil, at: $1) }
    feed(node: node, .advanced(nodes[node].replica.store.position))
  }

  /// One migration of one table.
  mutating func migrate(_ node: Int) throws {
    let table = random.pick(tables)
    guard isTracked(table, node) else { return }
    switch random.below(6) {
    case 0...2: try add(random.pick(ScheduleTable.additions), to: table, node)
    case 3: try copy(table, node, condition: "true")
    case 4:
      let column = table.key[0]
      try copy(table, node, condition: "\(column.column) <> \(random.pick(column.values))")
    default: try copy(table, node, condition: random.chance(20) ? "false" : "true")
    }
  }

  mutating func add(_ addition: String, to table: ScheduleTable, _ node: Int) throws {
    guard nodes[node].extra[table.name]?.contains(addition) != true else { return }
    // A table without columns of its own stays one, as it tests that case.
    guard !table.columns.isEmpty else { return }
    tell("alter at \(node): \(table.name) add \(addition)")
    try nodes[node].replica.write("ALTER TABLE \(table.name) ADD COLUMN \(addition)")
    nodes[node].extra[table.name, default: []].append(addition)
    try nodes[node].witness.look(nodes[node].replica, tables)
  }

  /// Copies the rows into a new table that takes the name of the old one.
  private mutating func copy(_ table: ScheduleTable, _ node: Int, condition: String) throws {
    let replica = nodes[node].replica
    let sql =
      try replica.value("SELECT sql FROM sqlite_schema WHERE name = '\(table.name)'").string ?? ""
    let definition = sql.drop { $0 != "(" }
    let columns = try replica.application.prepareRows(
      "SELECT name FROM pragma_table_xinfo('\(table.name)') WHERE hidden = 0"
    ).joined(separator: ", ")
    tell("copy at \(node): \(table.name) where \(condition)")
    try replica.write(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE fresh\(definition);
      INSERT INTO fresh(\(columns)) SELECT \(columns) FROM \(table.name) WHERE \(condition);
      DROP TABLE \(table.name);
      ALTER TABLE fresh RENAME TO \(table.name);
      COMMIT
      """)
    try nodes[node].witness.written(replica, tables, at: now(node).wall)
  }
}
