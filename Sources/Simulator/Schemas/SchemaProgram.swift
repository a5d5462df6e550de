import SQLite

/// What a program writes into tables of which it knows the schema.
///
/// Each edit leaves a text in its row that no other edit has, its mark.
struct SchemaProgram {
  let schema: ApplicationSchema
  /// Counts the edits of all programs.
  var edits: Int

  init(_ schema: ApplicationSchema, edits: Int) { (self.schema, self.edits) = (schema, edits) }

  private mutating func mark() -> String {
    edits += 1
    return "m\(edits)"
  }

  /// A statement on one of the tables.
  mutating func statement(_ random: inout Seeded) -> String {
    let table = random.pick(schema.tables)
    switch random.below(12) {
    case 0...3: return insert(table, random.pick(["", "", "OR REPLACE ", "OR IGNORE "]), &random)
    case 4: return insert(table, "", &random) + upsert(table, &random)
    case 5...7: return update(table, where: key(table, &random), &random)
    case 8: return update(table, where: condition(table, &random), &random)
    case 9: return updateKey(table, &random)
    case 10: return "DELETE FROM \(table.name) WHERE \(key(table, &random))"
    default:
      let whole = random.chance(150)
      return "DELETE FROM \(table.name)" + (whole ? "" : " WHERE \(condition(table, &random))")
    }
  }

  private func name(_ number: Int) -> String { schema.text("{\(number)}") }

  private func value(_ column: ApplicationSchema.Column, _ random: inout Seeded) -> String {
    random.chance(150) ? "NULL" : random.pick(column.values)
  }

  /// The condition for one row.
  private func key(_ table: ApplicationSchema.Table, _ random: inout Seeded) -> String {
    table.key.compactMap { number in
      table.column(number).map { "\(name(number)) = \(random.pick($0.values))" }
    }.joined(separator: " AND ")
  }

  /// One for several rows.
  private func condition(_ table: ApplicationSchema.Table, _ random: inout Seeded) -> String {
    let column = random.pick(table.free)
    return random.chance(300)
      ? "\(name(column.number)) IS NULL"
      : "\(name(column.number)) = \(random.pick(column.values))"
  }

  private mutating func insert(
    _ table: ApplicationSchema.Table, _ resolution: String, _ random: inout Seeded
  ) -> String {
    let free = table.free.filter { _ in random.chance(800) }
    let numbers = table.key + free.map(\.number) + [table.mark]
    var rows: [String] = []
    for _ in 0..<(random.chance(200) ? 3 : 1) {
      let key = table.key.compactMap { table.column($0).map { random.pick($0.values) } }
      let values = free.map { value($0, &random) }
      rows.append("(\((key + values + ["'\(mark())'"]).joined(separator: ", ")))")
    }
    return "INSERT \(resolution)INTO \(table.name)(\(schema.names(numbers)))"
      + " VALUES \(rows.joined(separator: ", "))"
  }

  private func upsert(_ table: ApplicationSchema.Table, _ random: inout Seeded) -> String {
    let column = name(random.pick(table.free).number)
    let mark = name(table.mark)
    return " ON CONFLICT(\(schema.names(table.key))) DO UPDATE SET \(mark) = excluded.\(mark)"
      + ", \(column) = excluded.\(column)"
  }

  private mutating func update(
    _ table: ApplicationSchema.Table, where condition: String, _ random: inout Seeded
  ) -> String {
    var sets = ["\(name(table.mark)) = \(mark(of: table))"]
    for column in table.free where random.chance(450) {
      sets.append("\(name(column.number)) = \(value(column, &random))")
    }
    let resolution = random.pick(["", "", "", "OR IGNORE ", "OR REPLACE "])
    return "UPDATE \(resolution)\(table.name) SET \(sets.joined(separator: ", "))"
      + " WHERE \(condition)"
  }

  /// A mark for each row of a statement.
  private mutating func mark(of table: ApplicationSchema.Table) -> String {
    (["'\(mark())'"] + table.key.map { "quote(\(name($0)))" }).joined(separator: " || '/' || ")
  }

  private mutating func updateKey(
    _ table: ApplicationSchema.Table, _ random: inout Seeded
  ) -> String {
    let number = random.pick(table.key)
    let values = table.column(number)?.values ?? []
    let resolution = random.pick(["", "", "OR IGNORE ", "OR REPLACE "])
    return "UPDATE \(resolution)\(table.name) SET \(name(number)) = \(random.pick(values))"
      + ", \(name(table.mark)) = \(mark(of: table)) WHERE \(key(table, &random))"
  }
}
