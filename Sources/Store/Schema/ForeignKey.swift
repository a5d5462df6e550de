import SQLite

/// A foreign key as a table declares it.
package struct ForeignKey: Sendable, Equatable {
  /// The columns of the child, the table that declares it.
  package var columns: [String]
  package var parent: String
  /// The columns of the parent; empty where its primary key is meant.
  package var parentColumns: [String]
}

extension SchemaReader {
  /// The foreign keys of a table, in the order in which SQLite numbers them.
  ///
  /// A parent's column that is not named is NULL in the list: its primary key is meant.
  func foreignKeys(of name: String) throws(SQLiteError) -> [ForeignKey] {
    var found: [Int64: ForeignKey] = [:]
    for row in try connection.rows(
      """
      SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
      """, [.string(name)])
    {
      guard let id = row[0].integer, let parent = row[1].string, let column = row[2].string
      else { continue }
      var key = found[id] ?? ForeignKey(columns: [], parent: parent, parentColumns: [])
      key.columns.append(column)
      if let to = row[3].string { key.parentColumns.append(to) }
      found[id] = key
    }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }
}
