import SQLite

@testable import Store

/// A random schema whose rows refer to each other by numbers. Each row has a label that no other
/// has, and says of each row that it refers to which label that had when its author wrote it.
struct KeySchema {
  struct Reference {
    let column: String
    let parent: Int
    /// Whether the column is the key, or a part of it.
    let isOfKey: Bool
  }

  struct Table {
    let name: String
    let sql: String
    let references: [Reference]
    /// The key columns that are no references.
    let ownKey: [String]
  }

  let tables: [Table]

  init(_ random: inout Seeded) {
    let count = 2 + random.below(3)
    var tables: [Table] = []
    for number in 0..<count {
      let single = tables.indices.filter { tables[$0].ownKey != ["line"] }
      tables.append(Self.table(number, of: count, single, &random))
    }
    self.tables = tables
  }

  var sql: String { tables.map(\.sql).joined(separator: ";\n") }

  /// `single`: the tables before it whose key is one column.
  private static func table(
    _ number: Int, of count: Int, _ single: [Int], _ random: inout Seeded
  ) -> Table {
    let name = "t\(number)"
    // Lines of an order, or a page of details: the key holds that of another row.
    let holdsKey = number > 0 && random.below(4) == 0
    var references: [Reference] = []
    var columns: [String] = []
    var ownKey: [String] = []
    var constraint = ""
    if holdsKey {
      let parent = random.pick(single)
      references.append(Reference(column: "k", parent: parent, isOfKey: true))
      columns.append("k INTEGER NOT NULL REFERENCES t\(parent)")
      if random.below(3) == 0 {
        constraint = ", PRIMARY KEY(k)"
      } else {
        columns.append("line INTEGER NOT NULL")
        ownKey = ["line"]
        constraint = ", PRIMARY KEY(k, line)"
      }
    } else {
      ownKey = ["id"]
      columns.append(
        random.pick(["id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT"]))
    }
    for place in 0..<random.below(number == 0 ? 2 : 3) {
      // Only tables that have a number of their own; also this one, and later ones.
      let parent = random.below(count)
      references.append(Reference(column: "r\(place)", parent: parent, isOfKey: false))
      columns.append("r\(place) INTEGER")
    }
    columns += references.map { "means_\($0.column) TEXT" } + ["label TEXT", "v INTEGER DEFAULT 0"]
    let sql = "CREATE TABLE \(name)(\(columns.joined(separator: ", "))\(constraint)"
    return Table(name: name, sql: sql, references: references, ownKey: ownKey)
  }
}

extension KeySchema {
  /// The same with the foreign keys of columns beside the key declared, where the table that they
  /// mean has a key of one column.
  ///
  /// `isLoose`: columns hold the numbers as text, with a type or without, and some foreign keys are
  /// to `(site, id)`.
  func declared(isLoose: Bool = false) -> (sql: String, tables: [Table]) {
    var statements: [String] = []
    var result: [Table] = []
    for table in tables {
      let references = table.references.filter { $0.isOfKey || hasOneKey($0.parent) }
      let keys = references.filter { !$0.isOfKey }.map { reference in
        let isPair =
          isLoose && reference.column == "r1" && tables[reference.parent].ownKey == ["id"]
        return ", FOREIGN KEY(\(isPair ? "site, " : "")\(reference.column)) "
          + "REFERENCES t\(reference.parent)\(isPair ? "(site, id)" : "") "
          + "DEFERRABLE INITIALLY DEFERRED"
      }
      statements.append((isLoose ? Self.loose(table) : table.sql) + keys.joined() + ")")
      result.append(
        Table(name: table.name, sql: table.sql, references: references, ownKey: table.ownKey))
    }
    return (statements.joined(separator: ";\n"), result)
  }

  private static func loose(_ table: Table) -> String {
    table.sql.replacing("r0 INTEGER", with: "r0 TEXT").replacing("r1 INTEGER", with: "r1")
      .replacing("label TEXT", with: "label TEXT, site INTEGER NOT NULL DEFAULT 1")
      + (table.ownKey == ["id"] ? ", UNIQUE(site, id)" : "")
  }

  private func hasOneKey(_ number: Int) -> Bool {
    tables[number].ownKey == ["id"]
      || tables[number].ownKey.isEmpty && hasOneKey(tables[number].references[0].parent)
  }

  /// The key column of a table with one.
  static func keyColumn(_ table: Table) -> String { table.ownKey.first == "id" ? "id" : "k" }
}
