import SQLite

extension Migration {
  /// A new table to which one of before refers, and the same under another name. Who makes both at
  /// once knows it by the later name alone.
  static func twins(_ schema: ApplicationSchema, _ random: inout Seeded) -> [Migration] {
    var next = schema
    let child = random.below(schema.tables.count)
    next.addTable(&random, hasNumbers: true)
    let index = next.tables.count - 1
    var statements = [next.creation(of: next.tables[index])]
    if let added = next.addParent(next.tables[index], to: child, &random) {
      statements.append(added)
    }
    let made = Migration(
      statements: statements, schema: next, newTables: [next.tables[index].name])
    let sql = next.renameTable(index, to: "w\(next.nextNumber())")
    return [made, Migration(statements: [sql], schema: next)]
  }
}

extension ApplicationSchema {
  /// A column by which a table that is there refers to another one; gives the statement, nil if
  /// there can be none.
  fileprivate mutating func addParent(
    _ parent: Table, to child: Int, _ random: inout Seeded
  ) -> String? {
    guard parent.key.count == 1, let target = parent.column(parent.key[0]),
      !tables[child].isAlone,
      tables[child].options != "STRICT" || Self.strict.contains(target.type)
    else { return nil }
    let number = nextNumber()
    var column = Column(
      number: number, name: "r\(number)", type: target.type, values: target.values)
    column.collation = target.collation
    let key = ForeignKey(
      columns: [number], parent: parent.number, parentColumns: [], actions: Self.actions(&random))
    tables[child].columns.append(column)
    tables[child].foreignKeys.append(key)
    return "ALTER TABLE \(quoted(tables[child].name)) ADD COLUMN "
      + "\(definition(of: column, in: tables[child])) \(reference(key, own: nil))"
  }
}
