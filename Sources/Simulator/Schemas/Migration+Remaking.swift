import SQLite

/// A table that is made anew, as migration tools do for what ALTER TABLE cannot.
extension Migration {
  static func remaking(
    _ next: inout ApplicationSchema, _ index: Int, _ random: inout Seeded
  ) -> Migration? {
    let old = next
    let table = old.tables[index]
    /// What each column of the new table is filled with.
    var sources: [Int: String] = [:]
    for column in table.columns where column.generated == nil {
      sources[column.number] = quoted(column.name)
    }
    var before: [String] = []
    for _ in 0...random.below(3) { change(&next, index, &sources, &before, old, &random) }
    let made = next.tables[index]
    let filled = made.columns.filter { $0.generated == nil }
    let values = filled.map { sources[$0.number] ?? "NULL" }.joined(separator: ", ")
    let fresh = "new__\(made.name)"
    // Triggers of other tables that name this one stand in the way of the rename at the end.
    let triggers = old.tables.flatMap(\.triggers)
    var statements = before + triggers.map { "DROP TRIGGER \($0.name)" }
    statements += [
      next.creation(of: made, as: fresh),
      "INSERT INTO \(fresh)(\(next.names(filled.map(\.number)))) SELECT \(values)"
        + " FROM \(table.name)",
      "DROP TABLE \(table.name)", "ALTER TABLE \(fresh) RENAME TO \(table.name)",
    ]
    statements += made.indexes.map { next.creation(of: $0, on: made) }
    statements += next.tables.flatMap { $0.triggers.map(next.creation(of:)) }
    return Migration(
      statements: statements, schema: next, isWithoutForeignKeys: true, remade: table.name)
  }

  /// The same with the table of before renamed first, and the new one made under its name.
  var settingAside: [String] {
    guard let remade else { return statements }
    let (fresh, old) = ("new__\(remade)", "old_\(remade)")
    return statements.flatMap { sql -> [String] in
      if sql.hasPrefix("CREATE TABLE \(quoted(fresh))") {
        // It may refer to itself.
        return [
          "ALTER TABLE \(remade) RENAME TO \(old)",
          sql.replacing(quoted(fresh), with: quoted(remade)),
        ]
      }
      if sql.hasPrefix("INSERT INTO \(fresh)("), sql.hasSuffix(" FROM \(remade)") {
        let rest = sql.dropFirst("INSERT INTO \(fresh)".count).dropLast(remade.count)
        return ["INSERT INTO \(remade)\(rest)\(old)"]
      }
      if sql == "DROP TABLE \(remade)" { return ["DROP TABLE \(old)"] }
      return sql.hasPrefix("ALTER TABLE \(fresh) RENAME") ? [] : [sql]
    }
  }

  /// One thing that is different in the new table.
  private static func change(
    _ next: inout ApplicationSchema, _ index: Int, _ sources: inout [Int: String],
    _ before: inout [String], _ old: ApplicationSchema, _ random: inout Seeded
  ) {
    let table = next.tables[index]
    let schema = next
    let places = table.columns.indices.filter {
      table.columns[$0].generated == nil && !table.key.contains(table.columns[$0].number)
        && old.tables[index].column(table.columns[$0].number) != nil
    }
    let place = random.pick(places)
    let column = table.columns[place]
    let isFree = column.number != table.mark && !schema.isUsed(column.number) && !column.isUnique
    let name = sources[column.number] ?? "NULL"
    switch random.below(9) {
    case 0 where !schema.isReferredTo(column.number):
      next.tables[index].columns[place].name = "v\(next.nextNumber())"
    case 1: next.tables[index].columns.shuffle(using: &random)
    case 2 where isFree && table.free.count > 1: next.tables[index].columns.remove(at: place)
    case 3 where isFree && column.check == nil:
      next.tables[index].columns[place].type = random.pick(["TEXT", "INTEGER", "REAL"])
      if table.options == "STRICT" { next.tables[index].columns[place].type = column.type }
    case 4 where isFree && !column.isNotNull && !column.values.isEmpty:
      next.tables[index].columns[place].isNotNull = true
      if random.chance(500) { next.tables[index].columns[place].fallback = column.values[0] }
      sources[column.number] = "coalesce(\(name), \(column.values[0]))"
    case 5 where column.isNotNull: next.tables[index].columns[place].isNotNull = false
    case 6 where isFree && column.check == nil:
      // A value of another type may compare otherwise before it is copied.
      guard let check = ApplicationSchema.check(on: column, &random),
        old.tables[index].column(column.number)?.type == column.type
      else { return }
      let standIn = ["'x'", "2", "0"].first { passes($0, check) } ?? "NULL"
      next.tables[index].columns[place].check = check
      next.tables[index].columns[place].fallback = standIn
      let test = old.text(check)
      sources[column.number] = "CASE WHEN \(test) THEN \(name) ELSE \(standIn) END"
    case 7 where column.check != nil: next.tables[index].columns[place].check = nil
    default: changeReferences(&next, index, &sources, old, &random)
    }
  }

  /// Whether a value that stands in for others fits: the checks are few.
  private static func passes(_ literal: String, _ check: String) -> Bool {
    switch literal {
    case "'x'": check.contains("length") || check.contains("'z'")
    case "2": check.hasSuffix(">= 0") || check.hasSuffix("<> 1") || check.hasSuffix("< 3")
    default: false
    }
  }

  /// A foreign key that goes, or one that comes: what leads nowhere is emptied.
  private static func changeReferences(
    _ next: inout ApplicationSchema, _ index: Int, _ sources: inout [Int: String],
    _ old: ApplicationSchema, _ random: inout Seeded
  ) {
    let table = next.tables[index]
    guard table.foreignKeys.isEmpty else {
      next.tables[index].foreignKeys.removeLast()
      return
    }
    let parent = random.pick(next.tables)
    let loose = Migration.loose(table, next).filter { $0.check == nil && $0.type == "TEXT" }
    guard !table.isAlone, !parent.isAlone, parent.key.count == 1, parent.number != table.number,
      let key = parent.column(parent.key[0]), key.type == "TEXT", let column = loose.first,
      let place = table.index(of: column.number), let name = sources[column.number],
      column.collation == key.collation, old.tables[index].column(column.number) != nil
    else { return }
    next.tables[index].columns[place].values = key.values
    next.tables[index].columns[place].fallback = nil
    next.tables[index].foreignKeys.append(
      ApplicationSchema.ForeignKey(
        columns: [column.number], parent: parent.number, parentColumns: [],
        actions: ApplicationSchema.actions(&random)))
    sources[column.number] =
      "CASE WHEN \(name) IN (SELECT \(quoted(key.name)) FROM \(parent.name)) THEN \(name) END"
  }
}
