import SQLite

/// The schema of an application, as it is before or after some of its migrations.
///
/// Columns are called by numbers that stay when they are renamed: `{7}` in a piece of SQL is the
/// column of number 7, by the name that it has at present.
struct ApplicationSchema {
  struct Column {
    let number: Int
    var name: String
    var type: String
    var isNotNull = false
    /// The literal after DEFAULT.
    var fallback: String?
    var isUnique = false
    var collation: String?
    var check: String?
    var generated: String?
    var isStored = false
    /// The literals that programs write.
    var values: [String]

    /// What tells it from other columns beside its name.
    var declaration: [String?] { [type, isNotNull ? "NOT NULL" : nil, fallback, collation] }
  }

  struct ForeignKey {
    var columns: [Int]
    var parent: Int
    /// Empty for the key of the parent, which is not named then.
    var parentColumns: [Int]
    var actions: String
  }

  struct Index {
    let name: String
    var isUnique: Bool
    var terms: String
    var condition: String?
  }

  struct Trigger {
    let name: String
    /// From the event on: `AFTER INSERT ON …`.
    var text: String
  }

  struct Table {
    let number: Int
    var name: String
    /// The name that it had first.
    let first: String
    var columns: [Column]
    var key: [Int]
    /// `WITHOUT ROWID`, `STRICT`, or nothing.
    var options: String
    var uniques: [[Int]] = []
    var checks: [String] = []
    var foreignKeys: [ForeignKey] = []
    var indexes: [Index] = []
    var triggers: [Trigger] = []
    /// The column of the texts by which edits are known.
    var mark: Int
    /// Nothing refers to it, nor it to anything: its numbers stay with their rows.
    var isAlone = false

    func index(of number: Int) -> Int? { columns.firstIndex { $0.number == number } }
    func column(_ number: Int) -> Column? { columns.first { $0.number == number } }
    /// Columns that programs write beside the key and the mark.
    var free: [Column] {
      columns.filter { $0.generated == nil && $0.number != mark && !key.contains($0.number) }
    }
  }

  var tables: [Table]
  /// Given to columns, tables, indexes and triggers in turn.
  var lastNumber = 0

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Gives a table another name, also in the triggers that name it; gives the statement that does.
  mutating func renameTable(_ index: Int, to name: String) -> String {
    let old = tables[index].name
    tables[index].name = name
    for table in tables.indices {
      for trigger in tables[table].triggers.indices {
        let words = tables[table].triggers[trigger].text.split(
          separator: " ", omittingEmptySubsequences: false
        ).map { word in
          guard word.prefix(while: { $0 != "(" && $0 != ";" }) == old else { return String(word) }
          return name + word.dropFirst(old.count)
        }
        tables[table].triggers[trigger].text = words.joined(separator: " ")
      }
    }
    return "ALTER TABLE \(old) RENAME TO \(name)"
  }

  /// A piece of SQL with the present names of its columns.
  func text(_ template: String) -> String {
    guard template.utf8.contains(UInt8(ascii: "{")) else { return template }
    var text = ""
    for (place, part) in template.split(separator: "{", omittingEmptySubsequences: false)
      .enumerated()
    {
      let end = part.utf8.firstIndex(of: UInt8(ascii: "}"))
      guard place > 0, let end, let number = Int(part[..<end]), let name = name(of: number) else {
        text += place > 0 ? "{" + part : part
        continue
      }
      text += name + part[part.utf8.index(after: end)...]
    }
    return text
  }

  private func name(of number: Int) -> String? {
    for table in tables {
      for column in table.columns where column.number == number { return quoted(column.name) }
    }
    return nil
  }

  func names(_ columns: [Int]) -> String {
    columns.map { text("{\($0)}") }.joined(separator: ", ")
  }

  /// What a constraint says of a row that breaks it, by the number of its columns: four in ten say
  /// something. Not ROLLBACK, which ends the program's own transaction.
  private static func clause(_ number: Int) -> String {
    let clauses = ["REPLACE", "IGNORE", "FAIL", "ABORT"]
    let place = number * 7 % 10
    return clauses.indices.contains(place) ? " ON CONFLICT \(clauses[place])" : ""
  }

  func definition(of column: Column, in table: Table) -> String {
    var words = [quoted(column.name), column.type]
    if let collation = column.collation { words.append("COLLATE \(collation)") }
    if table.key == [column.number], table.options != "WITHOUT ROWID" || column.type != "TEXT" {
      words.append("PRIMARY KEY")
    }
    if column.isNotNull { words.append("NOT NULL") }
    if let fallback = column.fallback { words.append("DEFAULT \(fallback)") }
    if column.isUnique { words.append("UNIQUE" + Self.clause(column.number)) }
    if let check = column.check { words.append("CHECK (\(text(check)))") }
    if let generated = column.generated {
      words.append(
        "GENERATED ALWAYS AS (\(text(generated))) \(column.isStored ? "STORED" : "VIRTUAL")")
    }
    return words.filter { !$0.isEmpty }.joined(separator: " ")
  }

  func reference(_ key: ForeignKey, own: String?) -> String {
    let parent = tables.first { $0.number == key.parent }
    let columns = key.parentColumns.isEmpty ? "" : "(\(names(key.parentColumns)))"
    return "REFERENCES \(quoted(own ?? parent?.name ?? ""))\(columns) \(key.actions)"
  }

  /// The statement that makes a table, by its name or another one.
  func creation(of table: Table, as name: String? = nil) -> String {
    var parts = table.columns.map { definition(of: $0, in: table) }
    let isInline = parts.contains { $0.contains("PRIMARY KEY") }
    if !isInline { parts.append("PRIMARY KEY (\(names(table.key)))") }
    parts += table.uniques.map { "UNIQUE (\(names($0)))" + Self.clause($0.reduce(1, +)) }
    parts += table.checks.map { "CHECK (\(text($0)))" }
    parts += table.foreignKeys.map { key in
      let own = key.parent == table.number ? name : nil
      return "FOREIGN KEY (\(names(key.columns))) \(reference(key, own: own))"
    }
    return "CREATE TABLE \(quoted(name ?? table.name))(\(parts.joined(separator: ", ")))"
      + " \(table.options)"
  }

  func creation(of index: Index, on table: Table) -> String {
    let condition = index.condition.map { " WHERE \(text($0))" } ?? ""
    return "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(index.name) ON \(quoted(table.name))"
      + "(\(text(index.terms)))\(condition)"
  }

  func creation(of trigger: Trigger) -> String {
    "CREATE TRIGGER \(trigger.name) \(text(trigger.text))"
  }

  /// All statements: tables first, for triggers may write any of them.
  var statements: [String] {
    tables.map { creation(of: $0) }
      + tables.flatMap { table in table.indexes.map { creation(of: $0, on: table) } }
      + tables.flatMap { $0.triggers.map(creation(of:)) }
  }

  /// Whether anything but the column itself names it.
  func isUsed(_ number: Int) -> Bool {
    let name = "{\(number)}"
    return tables.contains { table in
      table.key.contains(number) || table.mark == number
        || table.uniques.contains { $0.contains(number) }
        || table.checks.contains { $0.contains(name) }
        || table.foreignKeys.contains {
          $0.columns.contains(number) || $0.parentColumns.contains(number)
        }
        || table.indexes.contains {
          $0.terms.contains(name) || $0.condition?.contains(name) ?? false
        }
        || table.columns.contains {
          ($0.number != number && $0.check?.contains(name) ?? false)
            || $0.generated?.contains(name) ?? false
        }
    }
      || tables.contains { $0.triggers.contains { $0.text.contains(name) } }
  }

  /// Whether a foreign key leads to it: a table made anew by itself keeps its name.
  func isReferredTo(_ number: Int) -> Bool {
    tables.contains { $0.foreignKeys.contains { $0.parentColumns.contains(number) } }
  }

  /// SQL that counts the rows of a table which break one of its CHECKs, or NOT NULL.
  func broken(_ table: Table) -> [String] {
    let checks = table.checks + table.columns.compactMap(\.check)
    let conditions =
      checks.map { "NOT (\(text($0)))" }
      + table.columns.filter(\.isNotNull).map { "\(quoted($0.name)) IS NULL" }
    return conditions.map { "SELECT count(*) FROM \(quoted(table.name)) WHERE \($0)" }
  }
}
