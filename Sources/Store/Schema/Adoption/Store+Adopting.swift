import Replication
import SQLite

extension Store {
  /// What this file lacks of the schema of another member; nothing is changed.
  package func compare(
    with objects: [SchemaObject], of node: String
  ) throws(StoreError) -> SchemaAdoption {
    try AdoptionPlan(self, objects, of: node).adoption
  }

  /// Adds it, in one transaction; what the rows here forbid is left out and named.
  ///
  /// Like `create` this is a place where SQL from another node runs: from the member whose name the
  /// operator has typed, and only what `compare` shows.
  package func adopt(
    _ objects: [SchemaObject], of node: String, at now: Instant
  ) throws(StoreError) -> SchemaAdoption {
    _ = try foldWritten(at: now)
    return try transaction {
      try renewSchema()
      var adoption = try self.compare(with: objects, of: node)
      let steps = adoption.steps
      adoption.steps = []
      for step in steps {
        do throws(SQLiteError) {
          try connection.asStored { () throws(SQLiteError) in
            _ = try connection.prepare(step.sql).step()
          }
          adoption.steps.append(step)
        } catch {
          // A full disk says nothing about the object, and may have ended the transaction.
          guard error.isRefusal else { throw error }
          adoption.differences.append(
            SchemaAdoption.Difference(
              kind: step.kind, name: step.name, table: step.table,
              what: "was not added: \(error.message)",
              remedy: "Mend the rows that are in the way, and try again."))
        }
      }
      try SchemaCopy.takeNames(objects, on: connection)
      try renewSchema()
      return adoption
    }
  }

  func hasRow(in table: String) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try connection.prepare("SELECT 1 FROM main.\(quoted(table)) LIMIT 1").step()
    }
  }
}
