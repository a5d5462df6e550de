import Replication
import SQLite

/// Rows by the names of their key columns, as people and programs write them.
extension Tables {
  /// Whether the site tracks a table of this name.
  package func isTracked(_ name: String) -> Bool { tracked(called: name) != nil }

  /// The number, in this file, of the tracked table that people mean by a name; nil if it is none.
  package func tracked(called name: String) -> Int64? {
    table(called: name).flatMap { $0.isTracked ? $0.id : nil }
  }

  /// What a table of the site is called in this file; nil if it is not here.
  package func nameHere(of table: String) -> String? {
    self.table(table).flatMap { $0.schema?.name }
  }

  /// The name in this file of a table of the site.
  package func nameHere(_ name: String) -> String { table(name)?.nameHere ?? name }

  /// The name under which the site knows what this file, or the site, calls so.
  package func siteName(_ name: String) -> String { table(called: name)?.name ?? name }

  /// The canonical key of a row; nil if the table is not here or a key column is missing.
  package func key(
    of table: String, _ values: [String: Replication.Value]
  ) throws(StoreError) -> Key? {
    guard let table = self.table(called: table), let statements = table.statements else {
      return nil
    }
    var key: [Replication.Value] = []
    for column in statements.keyNames {
      guard let value = values.first(where: { isSameName($0.key, column) })?.value else {
        return nil
      }
      key.append(value)
    }
    return table.key(key)
  }

  /// A canonical key by the names of its columns, as the table has them or as others have said; by
  /// their numbers if nobody has.
  package func named(_ key: Key, of table: String) -> [String: Replication.Value] {
    named(key, of: self.table(called: table))
  }

  /// These names in the order of the key.
  package func keyNames(of key: Key, of table: String) -> [String] {
    keyNames(key.values?.count ?? 0, of: self.table(called: table))
  }

  /// Whether rows of a table have gone by another key than they do here.
  func hasHadAnotherKey(_ table: String) -> Bool {
    guard let table = self.table(called: table) else { return false }
    return table.generation > 0 || !held(of: table.name).isEmpty
  }

  private func named(_ key: Key, of table: ReplicaTable?) -> [String: Replication.Value] {
    let values = key.values ?? []
    return Dictionary(zip(keyNames(values.count, of: table), values)) { first, _ in first }
  }

  private func keyNames(_ count: Int, of table: ReplicaTable?) -> [String] {
    let shapes = table.map { [$0] + held(of: $0.name) } ?? []
    return shapes.first { $0.keyShape?.count == count }?.keyNames(count)
      ?? RowStatements.placeholders(count)
  }

  /// Tracked tables whose rule nobody has ever set.
  package func tablesWithoutRule() throws(StoreError) -> [String] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT name FROM \(Tables.listing) AND rule = '' ORDER BY name")
        .compactMap { $0[0].string }
    }
  }
}

/// The settings of the site, which are rows as well.
extension Tables {
  func settingsTable(_ name: String = Tables.settings) throws(StoreError) -> ReplicaTable {
    guard let table = table(name) else {
      throw StoreError(.notInitialised, "the table of settings is missing")
    }
    return table
  }

  /// Whether a row was in its table before that became the site's, and may be an older state of one
  /// of theirs. One that is new since the site stopped tracking the table (`ended`) is its own row.
  func isOld(in table: ReplicaTable, _ ended: Version?) -> Bool {
    table.isBaseline && (ended != nil || !again.contains(table.id))
  }

  func settingsKey(
    _ name: String, in settings: String = Tables.settings
  ) throws(StoreError) -> Key {
    guard let key = try settingsTable(settings).key([.text(Array(name.utf8))]) else {
      throw StoreError(.table, "a table has no name")
    }
    return key
  }
}

/// Columns as this file calls them.
extension Tables {
  /// Whether of a row its key alone is known. Of a table that has no other columns that is all.
  package func isKeyAlone(_ side: ConflictSide, of name: String) -> Bool {
    guard !side.isDeleted, side.values.count <= side.keyCount else { return false }
    guard let shape = (table(called: name) ?? table(name))?.statements?.shape else { return true }
    return shape.columns.count > shape.keyCount
  }

  /// Values by the names that their columns have in this file, where they have one. Of two values
  /// for one column the one that would go in has it, and the other one the name that it came with.
  func namedHere(
    _ values: [(name: String, value: Replication.Value)], in table: String
  ) -> [(name: String, value: Replication.Value)] {
    guard let statements = self.table(table)?.statements else { return values }
    let columns = statements.columns(for: values.map(\.name), values.map(\.value))
    let named = columns.map { index, column in
      (column.map { statements.names[$0] } ?? values[index].name, values[index].value)
    }
    let others = values.indices.filter { index in
      !columns.contains { $0.index == index }
        && !named.contains { isSameName($0.0, values[index].name) }
    }
    return named + others.map { values[$0] }
  }

  /// The names of the columns of a table that travel, those of the key first, as far as it is here.
  package func columns(of table: String) -> [String] {
    self.table(called: table)?.statements?.names ?? []
  }

  /// The names of the key columns of a table, as far as the table is here.
  package func keyColumns(of table: String) -> [String] {
    self.table(called: table)?.statements?.keyNames ?? []
  }
}
