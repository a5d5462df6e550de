import SQLite

/// The schemas of tables by the definitions from which they were read.
///
/// To read one takes many queries and a copy of the table in memory. It follows from the stored SQL
/// of the table and its indexes alone, which is looked at each time: so whatever changes a
/// definition, by whatever program, is seen, and stores of one process may share what was read.
package final class SchemaCache {
  private struct Entry {
    var definition: [[Value]]
    var schema: TableSchema
  }

  /// Definitions that are remembered of one name, at most.
  private static let limit = 8

  private var entries: [String: [Entry]] = [:]

  package init() {}

  /// What `TableSchema.read` gives for the table as it is now.
  func read(_ name: String, on connection: Connection) throws(StoreError) -> TableSchema? {
    let definition = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT type, name, rowid, sql FROM main.sqlite_schema
        WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'index') ORDER BY rowid
        """, [.string(name)])
    }
    if let entry = entries[name]?.first(where: { $0.definition == definition }) {
      return entry.schema
    }
    guard let schema = try TableSchema.read(name, on: connection) else { return nil }
    let others = (entries[name] ?? []).suffix(Self.limit - 1)
    entries[name] = others + [Entry(definition: definition, schema: schema)]
    return schema
  }
}
