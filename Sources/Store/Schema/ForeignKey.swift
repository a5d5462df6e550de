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

extension ForeignKey {
  /// Names of tables, those to which others refer first: so rows that travel in the order of their
  /// tables find their parents there.
  static func parentsFirst(
    _ names: [String], on connection: Connection
  ) throws(SQLiteError) -> [String] {
    var ordered: [String] = []
    var seen: Set<String> = []
    let reader = SchemaReader(connection: connection)
    // A table follows its parents; a ring of them ends where it is met again.
    var stack = names.reversed().map { (name: $0, isReady: false) }
    while let (name, isReady) = stack.popLast() {
      if isReady {
        ordered.append(name)
        continue
      }
      guard seen.insert(folded(name)).inserted else { continue }
      stack.append((name, true))
      for key in try reader.foreignKeys(of: name) {
        let parent = names.first { isSameName($0, key.parent) }
        if let parent, !seen.contains(folded(parent)) { stack.append((parent, false)) }
      }
    }
    return ordered
  }
}
