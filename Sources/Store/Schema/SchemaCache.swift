import SQLite

/// The schemas of tables by the definitions from which they were read.
///
/// To read one takes many queries and a copy of the table in memory. It follows from the stored SQL
/// of the table and its indexes alone, which is looked at each time: so whatever changes a
/// definition, by whatever program, is seen.
final class SchemaCache {
  private struct Entry {
    var definition: [[Value]]
    var schema: TableSchema
  }

  private var entries: [String: Entry] = [:]

  /// What `TableSchema.read` gives for the table as it is now.
  func read(_ name: String, on connection: Connection) throws(StoreError) -> TableSchema? {
    let definition = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT type, name, rowid, sql FROM main.sqlite_schema
        WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'index') ORDER BY rowid
        """, [.string(name)])
    }
    if let entry = entries[name], entry.definition == definition { return entry.schema }
    let schema = try TableSchema.read(name, on: connection)
    entries[name] = schema.map { Entry(definition: definition, schema: $0) }
    return schema
  }
}
