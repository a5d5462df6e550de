import Replication
import SQLite

/// Rows by the names of their key columns, as people and programs write them.
extension Store {
  /// The canonical key of a row; nil if the table is not here or a key column is missing.
  package func key(
    of table: String, _ values: [String: Replication.Value]
  ) throws(StoreError) -> Key? {
    guard let table = tables.table(table), let shape = table.statements?.shape else { return nil }
    var key: [Replication.Value] = []
    for column in shape.columns.prefix(shape.keyCount) {
      guard let value = values.first(where: { isSameName($0.key, column) })?.value else {
        return nil
      }
      key.append(value)
    }
    return table.key(key)
  }

  /// Tracked tables whose rule nobody has ever set.
  package func tablesWithoutRule() throws(StoreError) -> [String] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT name FROM _flotilla_table WHERE rule = '' ORDER BY name")
        .compactMap { $0[0].string }
    }
  }
}
