import Replication
import SQLite

/// Finds the rows that hold a unique value which another row claims.
///
/// SQLite knows best what an index makes of a row: its expressions, condition and collations. "When
/// the REPLACE conflict resolution strategy deletes rows …, delete triggers fire if and only if
/// recursive triggers are enabled" (sqlite.org/lang_conflict.html): so the row is put in with
/// REPLACE, a trigger notes what that deletes, and all of it is undone.
final class Rivals {
  private let connection: Connection
  private let statements: RowStatements
  private var isInstalled = false

  private static let names = "_flotilla_rival"

  init(_ connection: Connection, _ statements: RowStatements) {
    self.connection = connection
    self.statements = statements
  }

  private var keyNames: [String] {
    statements.names.prefix(statements.shape.keyCount).map(quoted)
  }

  /// The keys of the rows in the way, while `write` puts the row in with REPLACE.
  func find(
    _ write: () throws -> Void
  ) throws -> [[SQLite.Value]] {
    try install()
    var found: [[SQLite.Value]] = []
    _ = try connection.attempt {
      try connection.run("DELETE FROM temp.\(Self.names)")
      try write()
      found = try connection.rows("SELECT * FROM temp.\(Self.names)")
      return false
    }
    return found
  }

  private func install() throws(SQLiteError) {
    guard !isInstalled else { return }
    isInstalled = true
    let columns = keyNames.indices.map { "k\($0)" }.joined(separator: ", ")
    let old = keyNames.map { "OLD.\($0)" }.joined(separator: ", ")
    try connection.execute(
      """
      CREATE TEMP TABLE \(Self.names)(\(columns));
      CREATE TEMP TRIGGER \(Self.names)_noted
      AFTER DELETE ON main.\(quoted(statements.tableName))
      BEGIN INSERT INTO \(Self.names) VALUES (\(old)); END;
      PRAGMA recursive_triggers = ON;
      """)
  }

  /// To be called when nothing more is to be found.
  func remove() throws(SQLiteError) {
    guard isInstalled else { return }
    isInstalled = false
    try connection.execute(
      """
      PRAGMA recursive_triggers = OFF;
      DROP TRIGGER temp.\(Self.names)_noted;
      DROP TABLE temp.\(Self.names);
      """)
  }
}
