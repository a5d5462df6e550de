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
  package var rowIDName: String? { rowIDNames.first }
  /// All such names.
  package let rowIDNames: [String]
  /// The columns whose values travel: all but the generated ones.
  package let shippedColumns: [Int]
  /// Whether the texts of the file are UTF-16, which cannot hold all that UTF-8 can.
  package let isWide: Bool

  /// The key columns that may hold NULL: "unless the column is an INTEGER PRIMARY KEY or the table
  /// is a WITHOUT ROWID table or a STRICT table …, SQLite allows NULL values in a PRIMARY KEY
  /// column" (sqlite.org/lang_createtable.html).
  package var nullableKeyColumns: [Int] { key.filter { !columns[$0].isNotNull } }

  /// Whether a constraint says itself what becomes of a row that breaks it: another row goes
  /// (ON CONFLICT REPLACE), the row is left out (IGNORE), or the transaction ends (ROLLBACK).
  package var resolvesConflicts: Bool {
    guard sql.lowercased().contains("conflict") else { return false }
    let tokens = SQLText(sql).tokens
    return tokens.indices.dropFirst(2).contains { index in
      tokens[index - 2].isWord("ON") && tokens[index - 1].isWord("CONFLICT")
        && !tokens[index].isWord("ABORT")
    }
  }

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
    let virtual = try reporting { () throws(SQLiteError) in try VirtualTable.all(on: connection) }
    return rows.compactMap { $0[0].string }.filter { name in
      !isReserved(name) && !virtual.contains { $0.keeps(name) }
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
