import Replication
import SQLite

/// Putting right what a program has taken away.
extension Store {
  /// Makes a missing journal and missing triggers anew and compares every table with its versions,
  /// so that what was written in between is captured.
  package func repair() throws(StoreError) {
    tables.damaged = [:]
    try transaction {
      if try !Journal.isPresent(on: connection) { try Journal.create(on: connection) }
      try followSchema()
      for table in tables.tracked {
        guard let schema = table.schema else { continue }
        try Capture.install(schema, id: table.id, on: connection)
        try compare(table.id)
      }
      tables.schemaVersion = try connection.schemaVersion()
    }
  }
}
