import Store

/// What a person says of tables and columns that no row can tell.
extension SchemaRun {
  /// A person says which table of the site one is that has another name, as `schema --map` does;
  /// gives whether there are any. Only where a migration has made it anew as well, so that nothing
  /// but its rows can tell.
  mutating func nameTables() throws -> Bool {
    var hasNamed = false
    for node in nodes {
      // Where another machine says so, and the rows do not, `status` asks.
      for name in try node.store.tableSurvey.askedTables() {
        tale.tell("\(node.name) says that its \(name) is the site's")
        try node.store.admit([name], at: node.now)
        hasNamed = true
      }
      for table in node.schema.tables where table.first != table.name {
        let isKnown = try node.store.trackedTables().contains { $0.name == table.first }
        guard isKnown, node.store.tables.nameHere(table.first) != table.name,
          plan.makesTwins || isRemade(table.number)
        else { continue }
        tale.tell("\(node.name) hears that \(table.first) is \(table.name)")
        do {
          try node.store.nameTable(table.first, table.name, at: node.now)
        } catch {
          guard error.remedy?.contains("flotilla untrack") == true else { throw error }
          tale.tell("\(node.name) does what that says: untracks \(table.name)")
          try node.store.untrack([table.name], at: node.now)
          // Its rows may tell now.
          guard node.store.tables.nameHere(table.first) != table.name else { continue }
          try node.store.nameTable(table.first, table.name, at: node.now)
        }
        hasNamed = true
      }
    }
    return hasNamed
  }

  /// Whether a migration makes a table anew.
  private func isRemade(_ table: Int) -> Bool {
    zip([first] + migrations.map(\.schema), migrations).contains { before, migration in
      before.tables.first { $0.number == table }
        .map { migration.statements.contains("DROP TABLE \($0.name)") } ?? false
    }
  }

  /// A person says what columns are called whose values wait, as `schema --map` does; gives
  /// whether there are any. Only where rows alone can tell, for there may be none that do. All
  /// others are to be recognised.
  mutating func nameColumns() throws -> Bool {
    var hasNamed = false
    for node in nodes {
      for kept in try node.store.columns.kept()
      where kept.fate != .shownOtherwise && kept.fate != .inItsForm {
        let own = node.schema.tables.first { $0.name == kept.table }?.number
        let stages = ([first] + migrations.map(\.schema)).map { schema in
          schema.tables.first { $0.number == own }
        }
        let columns = stages.compactMap(\.self).flatMap(\.columns)
        for old in kept.columns {
          let present = node.schema.tables.flatMap(\.columns)
          guard let number = columns.first(where: { $0.name == old })?.number,
            let now = present.first(where: { $0.number == number }), mayBeUntold(now, in: stages)
          else { continue }
          tale.tell("\(node.name) hears that \(old) of \(kept.table) is \(now.name)")
          try node.store.map(kept.table, old, to: now.name, at: node.now)
          hasNamed = true
        }
      }
      if hasNamed { return true }
    }
    return false
  }

  /// Whether a column may have got its name unseen: it is declared otherwise, too, or another one
  /// came or went that is declared like it. Or a table was made anew with other names for columns,
  /// and perhaps other values. `stages` are the table before and after each migration.
  private func mayBeUntold(
    _ now: ApplicationSchema.Column, in stages: [ApplicationSchema.Table?]
  ) -> Bool {
    let tables = stages.compactMap(\.self)
    let others = tables.flatMap(\.columns)
    let same = others.filter { $0.number == now.number }
    if same.contains(where: { $0.declaration != now.declaration }) { return true }
    for (migration, (before, after)) in zip(migrations, zip(stages, stages.dropFirst()))
    where migration.isWithoutForeignKeys {
      if before?.column(now.number)?.name != after?.column(now.number)?.name { return true }
    }
    return others.contains { other in
      other.number != now.number && other.declaration == now.declaration
        && !tables.allSatisfy { $0.column(other.number)?.name == other.name }
    }
  }
}
