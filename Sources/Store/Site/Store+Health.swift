import Replication
import SQLite

/// What `doctor` looks at inside the file.
extension Store {
  package struct Health: Sendable, Equatable {
    /// What is wrong with the pages of the file.
    package var damage: String?
    /// What a row breaks that a program has written with checks off.
    package var breach: String?
    /// False if somebody dropped the journal: then writes of applications fail.
    package var hasJournal: Bool
    /// Tracked tables whose triggers are missing or not the expected ones.
    package var uncaptured: [String]
    package var journalMode: String
    /// Bytes of the database and of its write-ahead log.
    package var bytes: Int
    package var walBytes: Int
  }

  package func health() throws(StoreError) -> Health {
    try reporting { () throws(SQLiteError) in
      var uncaptured: [String] = []
      for table in tables.tracked {
        guard let schema = table.schema else { continue }
        if try !Capture.isIntact(schema, id: table.id, on: connection) {
          uncaptured.append(schema.name)
        }
      }
      let look = try QuickCheck(connection)
      return Health(
        damage: look.damage, breach: look.breach,
        hasJournal: try hasJournal(), uncaptured: uncaptured,
        journalMode: try connection.scalar("PRAGMA journal_mode").string ?? "?",
        bytes: FileSize.of(path), walBytes: FileSize.of(path + "-wal"))
    }
  }

  private func hasJournal() throws(SQLiteError) -> Bool {
    try Layout.hasTable(Journal.table, on: connection)
  }

  /// Makes a missing journal and missing triggers anew and compares every table with its versions,
  /// so that what was written in between is captured.
  package func repair() throws(StoreError) {
    try transaction {
      if try !hasJournal() { try Journal.create(on: connection) }
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
