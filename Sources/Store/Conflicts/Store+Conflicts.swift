import Replication
import SQLite

/// The conflict log and parked rows, for people.
extension Store {
  /// A row that is held but does not stand in its table.
  package struct ParkedRow: Sendable {
    package var table: String
    package var key: Key
    /// `table`, `constraint` or `too-large`.
    package var why: String
    package var values: [(name: String, value: Replication.Value)]
  }

  /// Conflicts, the latest first; those that were restored or dismissed only if asked for.
  package func conflictList(all: Bool) throws(StoreError) -> [Conflict] {
    try reporting { () throws(SQLiteError) in
      try conflicts.list("\(all ? "" : "WHERE state = 'open'") ORDER BY id DESC", [])
    }
  }

  package func conflict(_ id: Int64) throws(StoreError) -> Conflict? {
    try reporting { () throws(SQLiteError) in
      try conflicts.list("WHERE id = ?", [.integer(id)]).first
    }
  }

  /// Nobody wants to restore it.
  package func dismiss(_ id: Int64) throws(StoreError) {
    try reporting { () throws(SQLiteError) in try conflicts.set(.dismissed, of: id) }
  }

  package func parkedRows() throws(StoreError) -> [ParkedRow] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT tbl, key, why, row FROM _flotilla_shelf WHERE why <> 'columns' ORDER BY tbl, key"
      ).compactMap { row in
        guard let table = row[0].integer.flatMap({ tables.byID[$0] }),
          let why = row[2].string.flatMap(Shelf.Why.init)
        else { return nil }
        let entry = Shelf.decode(row[3].blob ?? [], why)
        return ParkedRow(
          table: table.name, key: Key(bytes: row[1].blob ?? []), why: why.rawValue,
          values: entry?.values ?? [])
      }
    }
  }

  /// The names of the key columns of a table, as far as the table is here.
  package func keyColumns(of table: String) -> [String] {
    guard let shape = tables.table(table)?.statements?.shape else { return [] }
    return Array(shape.columns.prefix(shape.keyCount))
  }
}
