import SQLite

/// What stands for everything in a server's schema by which tables are planned: one question tells
/// whether it is worth while to look at all of them again.
enum ServerLook {
  /// Another one if a column, an index, a trigger or a foreign key of these databases is another
  /// one.
  static func read(
    _ schemas: Set<String>, on server: ServerConnection
  ) throws(ServerError) -> [Value] {
    guard !schemas.isEmpty else { return [] }
    let marks = schemas.map { _ in "?" }.joined(separator: ", ")
    let parts = [
      part(
        "columns", "table_schema", marks,
        """
        table_schema, table_name, column_name, ordinal_position, column_type, is_nullable,
        IFNULL(column_default, '-'), IFNULL(collation_name, '-'), extra
        """),
      part(
        "statistics", "table_schema", marks,
        "table_schema, table_name, index_name, seq_in_index, column_name, non_unique"),
      part(
        "triggers", "trigger_schema", marks,
        """
        event_object_schema, event_object_table, trigger_name, action_timing, action_statement,
        definer
        """),
      part(
        "referential_constraints", "constraint_schema", marks,
        "constraint_schema, table_name, constraint_name, delete_rule, update_rule"),
      part("tables", "table_schema", marks, "table_schema, table_name, IFNULL(engine, '-')"),
    ]
    let values = schemas.sorted().map(Value.string)
    return try server.rows(
      of: parts.count, "SELECT " + parts.joined(separator: ", "), parts.flatMap { _ in values }
    ).first ?? []
  }

  private static func part(
    _ table: String, _ schema: String, _ marks: String, _ columns: String
  ) -> String {
    "(SELECT concat(count(*), ' ', sum(CRC32(concat_ws('|', \(columns))))) "
      + "FROM information_schema.\(table) WHERE \(schema) IN (\(marks)))"
  }
}
