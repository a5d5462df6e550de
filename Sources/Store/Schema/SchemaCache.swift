import SQLite

/// The schemas of tables by the definitions from which they were read.
///
/// To read one takes many queries and a copy of the table in memory. It follows from the stored SQL
/// of the table and its indexes alone, which is looked at each time: so whatever changes a
/// definition, by whatever program, is seen, and stores of one process may share what was read.
/// The same goes for what was found about triggers and views.
package final class SchemaCache {
  /// A table as it is now.
  struct Known {
    var schema: TableSchema
    /// What follows from the schema alone.
    var statements: RowStatements
    /// Whether the triggers and the view are there as they should be.
    var isIntact: Bool

    /// What the site calls the table and its columns; it does not follow from the schema.
    mutating func take(_ first: String, _ columns: Renames.Columns?) {
      if let columns, columns.addToSchema {
        statements = RowStatements(schema, columns.names(of: schema))
      }
      statements = statements.travelling(as: first)
    }
  }

  private struct Entry {
    var definition: [[Value]]
    let schema: TableSchema
    let statements: RowStatements
    /// Triggers and views that were found to be as they should be.
    var intact: [StoredObjects.Surroundings] = []
  }

  /// Definitions that are remembered of one name, and triggers and views of one definition, at
  /// most.
  private static let limit = 8

  private var entries: [String: [Entry]] = [:]

  package init() {}

  /// What `TableSchema.read` gives for the table, and whether it is captured under this local id.
  func read(
    _ name: String, id: Int64, among objects: StoredObjects, on connection: Connection
  ) throws(StoreError) -> Known? {
    guard let number = try entry(name, objects.definition(of: name), on: connection) else {
      return nil
    }
    let entry = entries[name]![number]
    var known = Known(schema: entry.schema, statements: entry.statements, isIntact: false)
    let present = objects.surroundings(of: name, id: id)
    if present.isEmpty { return known }
    known.isIntact = entry.intact.contains(present)
    if known.isIntact { return known }
    known.isIntact = present.isIntact(for: entry.schema)
    if known.isIntact {
      entries[name]![number].intact = entry.intact.suffix(Self.limit - 1) + [present]
    }
    return known
  }

  /// Where a definition is among those of its name; nil if there is no such table.
  private func entry(
    _ name: String, _ definition: [[Value]], on connection: Connection
  ) throws(StoreError) -> Int? {
    if let number = entries[name]?.firstIndex(where: { $0.definition == definition }) {
      return number
    }
    guard let schema = try TableSchema.read(name, on: connection) else { return nil }
    let others = (entries[name] ?? []).suffix(Self.limit - 1)
    entries[name] =
      others + [
        Entry(definition: definition, schema: schema, statements: RowStatements(schema))
      ]
    return others.count
  }
}
