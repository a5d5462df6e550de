import SQLite

/// One migration of an application: what it runs, and the schema that it leaves.
struct Migration {
  var statements: [String]
  let schema: ApplicationSchema
  /// Tables that did not exist before.
  var newTables: [String] = []
  /// Foreign keys are off meanwhile, as migration tools do where they make a table anew.
  var isWithoutForeignKeys = false
  /// The table that it makes anew.
  var remade: String?
  /// Two tables exchange their names.
  var exchangesTables = false
  /// The column of which it writes values: those that are there twice go, or all are copied.
  var filled: Int?
  var writesRows: Bool { statements.contains { $0.hasPrefix("UPDATE") } }

  /// A migration of a schema; nil if this draw finds nothing to change.
  static func draw(_ schema: ApplicationSchema, _ random: inout Seeded) -> Migration? {
    var next = schema
    let index = random.below(schema.tables.count)
    switch random.below(13) {
    case 0, 1: return adding(&next, index, &random)
    case 2, 3: return renaming(&next, index, &random)
    case 4: return dropping(&next, index, &random)
    case 5: return droppingIndex(&next, index, &random)
    case 6: return indexing(&next, index, &random)
    case 7: return newTable(&next, &random)
    case 8: return moving(&next, index, &random)
    case 9: return trigger(&next, index, &random)
    default: return remaking(&next, index, &random)
    }
  }

  private static func adding(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration {
    let table = next.tables[index]
    var column = next.freeColumn(table.options, &random)
    column.name = "n\(column.number)"
    if random.chance(150) {
      column = ApplicationSchema.Column(
        number: column.number, name: column.name, type: "TEXT", values: [])
      column.generated = "upper({\(table.free[0].number)})"
    }
    if column.isNotNull { column.fallback = column.values[0] }
    // Rows that are there must pass its check: "the test is run against all preexisting rows"
    // (sqlite.org/lang_altertable.html), of which each has the default.
    if column.fallback != nil || column.generated != nil { column.check = nil }
    next.tables[index].columns.append(column)
    let text = next.definition(of: column, in: table)
    return Migration(statements: ["ALTER TABLE \(table.name) ADD COLUMN \(text)"], schema: next)
  }

  private static func renaming(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    let table = next.tables[index]
    let column = random.pick(table.columns.filter { !table.key.contains($0.number) })
    let name = "v\(next.nextNumber())"
    guard let place = table.index(of: column.number) else { return nil }
    next.tables[index].columns[place].name = name
    return Migration(
      statements: ["ALTER TABLE \(table.name) RENAME COLUMN \(column.name) TO \(name)"],
      schema: next)
  }

  /// Columns get names that others had: `a, b, c` become `b, c, v7`. Nil where a table has too few.
  static func passingNames(_ schema: ApplicationSchema, _ random: inout Seeded) -> Migration? {
    var next = schema
    let index = random.below(schema.tables.count)
    let table = schema.tables[index]
    let places = table.columns.indices.filter { !table.key.contains(table.columns[$0].number) }
    guard places.count > 1 else { return nil }
    let first = random.below(places.count - 1)
    let chain = places[first...].prefix(2 + random.below(2))
    var name = "v\(next.nextNumber())"
    var statements: [String] = []
    for place in chain.reversed() {
      let old = table.columns[place].name
      statements.append("ALTER TABLE \(table.name) RENAME COLUMN \(old) TO \(name)")
      next.tables[index].columns[place].name = name
      name = old
    }
    return Migration(statements: statements, schema: next)
  }

  /// A table gets another name, or two exchange theirs.
  static func renamingTable(_ schema: ApplicationSchema, _ random: inout Seeded) -> Migration {
    var next = schema
    let index = random.below(schema.tables.count)
    let other = random.chance(200) ? random.below(schema.tables.count) : index
    let name = "w\(next.nextNumber())"
    guard other != index else {
      let sql = next.renameTable(index, to: name)
      return Migration(statements: [sql], schema: next)
    }
    let (one, two) = (schema.tables[index].name, schema.tables[other].name)
    var statements = [next.renameTable(index, to: name)]
    statements.append(next.renameTable(other, to: one))
    statements.append(next.renameTable(index, to: two))
    return Migration(statements: statements, schema: next, exchangesTables: true)
  }

  private static func dropping(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    let table = next.tables[index]
    let schema = next
    let unused = table.free.filter { !$0.isUnique && !schema.isUsed($0.number) }
    guard unused.count > 0, table.free.count > 1 else { return nil }
    let column = random.pick(unused)
    next.tables[index].columns.removeAll { $0.number == column.number }
    return Migration(
      statements: ["ALTER TABLE \(table.name) DROP COLUMN \(column.name)"], schema: next)
  }

  /// An index goes, and perhaps the column that it was for: of a unique one not at once.
  private static func droppingIndex(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    guard let old = next.tables[index].indexes.popLast() else { return nil }
    let table = next.tables[index]
    var statements = ["DROP INDEX \(old.name)"]
    let schema = next
    let column = table.free.first {
      old.terms.contains("{\($0.number)}") && !$0.isUnique && !schema.isUsed($0.number)
    }
    if let column, !old.isUnique, table.free.count > 1, random.chance(700) {
      statements.append("ALTER TABLE \(table.name) DROP COLUMN \(column.name)")
      next.tables[index].columns.removeAll { $0.number == column.number }
    }
    return Migration(statements: statements, schema: next)
  }

  private static func indexing(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    let table = next.tables[index]
    let unreferenced = Self.loose(table, next)
    guard let column = unreferenced.first, table.triggers.isEmpty, random.chance(500) else {
      let made = next.addIndex(to: index, isUnique: false, &random)
      return Migration(statements: [next.creation(of: made, on: table)], schema: next)
    }
    let made = ApplicationSchema.Index(
      name: "i\(next.nextNumber())", isUnique: true, terms: "{\(column.number)}", condition: nil)
    next.tables[index].indexes.append(made)
    return Migration(
      statements: [distinct(column, table, next), next.creation(of: made, on: table)],
      schema: next, filled: column.number)
  }

  /// Columns that may be emptied.
  static func loose(
    _ table: ApplicationSchema.Table, _ schema: ApplicationSchema
  ) -> [ApplicationSchema.Column] {
    table.free.filter { column in
      !column.isNotNull && !column.isUnique && !schema.isUsed(column.number)
        && table.checks.isEmpty
    }
  }

  /// Of rows with one value the one with the least key keeps it.
  static func distinct(
    _ column: ApplicationSchema.Column, _ table: ApplicationSchema.Table,
    _ schema: ApplicationSchema
  ) -> String {
    let (name, key) = (schema.text("{\(column.number)}"), table.key.map { schema.text("{\($0)}") })
    let others = key.map { "o.\($0)" }.joined(separator: ", ")
    let own = key.map { "\(table.name).\($0)" }.joined(separator: ", ")
    return "UPDATE \(table.name) SET \(name) = NULL WHERE EXISTS (SELECT 1 FROM \(table.name) AS o"
      + " WHERE o.\(name) = \(table.name).\(name) AND (\(others)) < (\(own)))"
  }

  private static func newTable(
    _ next: inout ApplicationSchema, _ random: inout Seeded
  ) -> Migration? {
    guard next.tables.count < 6 else { return nil }
    next.addTable(&random, hasNumbers: false)
    let index = next.tables.count - 1
    next.addReferences(to: index, &random, among: 0..<next.tables.count)
    next.addConstraints(to: index, &random)
    let table = next.tables[index]
    return Migration(
      statements: [next.creation(of: table)]
        + table.indexes.map { next.creation(of: $0, on: table) },
      schema: next, newTables: [table.name])
  }

  /// A rename by hand: another column, its values, and the old one goes.
  private static func moving(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    let table = next.tables[index]
    guard table.triggers.isEmpty, let old = loose(table, next).first,
      let place = table.index(of: old.number)
    else {
      return nil
    }
    var column = old
    column.name = "m\(next.nextNumber())"
    next.tables[index].columns.remove(at: place)
    let definition = next.definition(of: old, in: table)
      .replacing(quoted(old.name), with: quoted(column.name))
    next.tables[index].columns.append(column)
    return Migration(
      statements: [
        "ALTER TABLE \(table.name) ADD COLUMN \(next.text(definition))",
        "UPDATE \(table.name) SET \(column.name) = \(old.name)",
        "ALTER TABLE \(table.name) DROP COLUMN \(old.name)",
      ], schema: next, filled: column.number)
  }

  private static func trigger(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration {
    if let old = next.tables[index].triggers.popLast() {
      return Migration(statements: ["DROP TRIGGER \(old.name)"], schema: next)
    }
    let made = next.addTrigger(to: index, &random)
    return Migration(statements: [next.creation(of: made)], schema: next)
  }
}
