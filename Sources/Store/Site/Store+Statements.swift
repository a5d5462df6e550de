import Replication
import SQLite

/// The signed statements about the members, as they were signed.
extension Store {
  /// The public key of the site's root, which every statement comes down to.
  package func rootKey() throws(StoreError) -> [UInt8] {
    try reporting { () throws(SQLiteError) in try meta.blob(.rootKey) ?? [] }
  }

  package func statements() throws(StoreError) -> [SignedStatement] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT bytes FROM _flotilla_statement ORDER BY id").compactMap {
        // Who reads them checks the signatures; what is none any more counts for nothing.
        try? SignedStatement($0[0].blob ?? [])
      }
    }
  }

  /// Keeps statements, all in one commit.
  package func add(_ statements: [SignedStatement]) throws(StoreError) {
    guard !statements.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        try Self.insert(statements, on: connection)
      }
    }
  }

  static func insert(
    _ statements: [SignedStatement], on connection: Connection
  ) throws(SQLiteError) {
    for statement in statements {
      try connection.run(
        "INSERT OR IGNORE INTO _flotilla_statement(bytes) VALUES (?)", [.blob(statement.bytes)])
    }
  }
}
