import SQLite

/// A table as SQLite sees it: all that capturing, shipping and applying its rows depends on.
package struct TableSchema: Sendable, Equatable {
  /// The name as declared.
  package let name: String
  /// The CREATE TABLE statement that SQLite stores.
  package let sql: String
  package let columns: [Column]
  /// The columns of the primary key, in the order of the key; empty if there is none.
  package let key: [Int]
  /// The collation by which two keys are one, per key column.
  package let keyCollations: [String]
  /// True if the key is an alias of the rowid (INTEGER PRIMARY KEY).
  package let hasIntegerKey: Bool
  package let isWithoutRowID: Bool
  package let isStrict: Bool
  package let uniqueIndexes: [UniqueIndex]
  package let foreignKeys: [ForeignKey]
  /// True if the key names a column twice, with two collations; such a table is refused.
  package let hasRepeatedKeyColumn: Bool
  /// The name under which the rowid can be reached; nil if there is none or columns hide it.
  package let rowIDName: String?
  /// The columns whose values travel: all but the generated ones.
  package let shippedColumns: [Int]

  /// The key columns that may hold NULL: "unless the column is an INTEGER PRIMARY KEY or the table
  /// is a WITHOUT ROWID table or a STRICT table …, SQLite allows NULL values in a PRIMARY KEY
  /// column" (sqlite.org/lang_createtable.html).
  package var nullableKeyColumns: [Int] { key.filter { !columns[$0].isNotNull } }

  /// The column of a name, found as SQLite finds it.
  package func column(named name: String) -> Int? {
    columns.firstIndex { isSameName($0.name, name) }
  }

  /// The names of all tables that could be tracked: no views, virtual, shadow or internal ones.
  package static func all(on connection: Connection) throws(StoreError) -> [String] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    }
    let parts = try reporting { () throws(SQLiteError) in try shadows(on: connection) }
    let foreign = try unknownVirtualTables(on: connection)
    return rows.compactMap { $0[0].string }.filter { name in
      !isReserved(name) && !parts.contains(name) && !foreign.contains { isShadow(name, of: $0) }
    }
  }

  /// The tables of which SQLite knows that a virtual one keeps its rows there.
  ///
  /// `table_list`, which tells them, compiles every view of the file: views that each name the one
  /// before twice take it for ever. So it is asked only where there are virtual tables.
  static func shadows(on connection: Connection) throws(SQLiteError) -> Set<String> {
    let virtual = try connection.row(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0 LIMIT 1")
    guard virtual != nil else { return [] }
    let rows = try connection.rows(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'")
    return Set(rows.compactMap { $0[0].string })
  }

  /// The virtual tables whose module is not loaded here, so that SQLite does not know which tables
  /// are their shadows.
  static func unknownVirtualTables(on connection: Connection) throws(StoreError) -> [String] {
    try reporting { () throws(SQLiteError) in
      let tables = try connection.rows(
        "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0")
      guard !tables.isEmpty else { return [] }
      let modules = try connection.rows("SELECT name FROM pragma_module_list")
      return tables.compactMap { table in
        let tokens = SQLText(table[1].string ?? "").tokens
        let module = tokens.drop { !$0.isWord("USING") }.dropFirst().first?.name ?? ""
        let isKnown = modules.contains { isSameName($0[0].string ?? "", module) }
        return isKnown ? nil : table[0].string
      }
    }
  }

  /// True if the name is that of a shadow of the virtual table: its name, "_" and some more.
  static func isShadow(_ name: String, of virtual: String) -> Bool {
    let prefix = virtual + "_"
    return isSameName(
      String(decoding: name.utf8.prefix(prefix.utf8.count), as: UTF8.self), prefix)
  }

  /// True for the names that belong to SQLite or to Flotilla.
  package static func isReserved(_ name: String) -> Bool {
    ["sqlite_", "_flotilla_"].contains { prefix in
      isSameName(String(decoding: name.utf8.prefix(prefix.utf8.count), as: UTF8.self), prefix)
    }
  }
}
