import SQLite

/// Migrations, as applications make them.
extension Application {
  /// One migration of one tracked table.
  func migrate(_ random: inout Seeded, _ story: inout Story) throws {
    let table = random.pick(tables)
    guard table.isWrittenByAll, try isCaptured(table.name) else { return }
    switch random.below(6) {
    case 0...2: try add(random.pick(ApplicationTable.additions), to: table, &story)
    case 3: try copy(table, where: "true", &story)
    case 4:
      let column = table.key[0]
      let sign = random.chance(200) ? "=" : "<>"
      try copy(table, where: "\(column.column) \(sign) \(random.pick(column.values))", &story)
    default: try copy(table, where: "true", &story)
    }
  }

  func add(_ addition: String, to table: ApplicationTable, _ story: inout Story) throws {
    guard extra[table.name]?.contains(addition) != true else { return }
    // A table without columns of its own stays one, as it tests that case.
    guard !table.columns.isEmpty else { return }
    story.tell("node-\(number) alters \(table.name): adds \(addition)")
    try connection.execute("ALTER TABLE \(table.name) ADD COLUMN \(addition)")
    extra[table.name, default: []].append(addition)
  }

  /// Copies rows into a new table that takes the name of the old one, if there are any: a table
  /// without a row of those before counts as one that was dropped.
  private func copy(
    _ table: ApplicationTable, where condition: String, _ story: inout Story
  ) throws {
    let rows = "SELECT 1 FROM \(table.name)"
    let isMeant = try connection.scalar(
      "SELECT EXISTS (\(rows) WHERE \(condition)) OR NOT EXISTS (\(rows))")
    guard isMeant.integer == 1 else { return }
    let sql = "SELECT sql FROM sqlite_schema WHERE name = '\(table.name)'"
    let definition = (try connection.scalar(sql).string ?? "").drop { $0 != "(" }
    let columns = (table.key.map(\.column) + table.columns + added(to: table))
      .joined(separator: ", ")
    story.tell("node-\(number) copies \(table.name) where \(condition)")
    try connection.execute(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE fresh\(definition);
      INSERT INTO fresh(\(columns)) SELECT \(columns) FROM \(table.name) WHERE \(condition);
      DROP TABLE \(table.name);
      ALTER TABLE fresh RENAME TO \(table.name);
      COMMIT
      """)
  }
}
