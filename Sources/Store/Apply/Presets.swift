import Replication
import SQLite

/// What a migration has put into the new columns of a table, apart from what programs wrote there.
///
/// A table that was made anew may have '' in all rows of a column that declares no default: so
/// Django adds one. Values that waited for the column enter there.
final class Presets {
  private let table: ReplicaTable
  private let statements: RowStatements
  private let connection: Connection
  /// For each column that was asked about the value that is there most often, and how often.
  private var commonest: [Int: (value: SQLite.Value, count: Int64, of: Int64)] = [:]
  private var written: Set<Key>?

  init(_ table: ReplicaTable, _ statements: RowStatements, _ connection: Connection) {
    self.table = table
    self.statements = statements
    self.connection = connection
  }

  /// Whether nobody has written the value that stands in a column of a row: it is the default, or
  /// what most rows have. Of a row that a program is known to have written one other row must have
  /// it as well.
  func holds(
    _ standing: SQLite.Value, _ column: Int, of key: Key
  ) throws(SQLiteError) -> Bool {
    if statements.defaults[column] == Replication.Value(standing) { return true }
    guard let most = try commonest(column), most.value == standing, try !hasComputed(column)
    else { return false }
    if most.count > 1 { return true }
    return try !isWritten(key)
  }

  /// Whether a program is known to have written a row since.
  func isWritten(_ key: Key) throws(SQLiteError) -> Bool {
    if written == nil { written = try Journal.writtenKeys(of: table, on: connection) }
    return written?.contains(key) == true
  }

  /// Whether the migration has computed a column, row by row: no value is that of most.
  func hasComputed(_ column: Int) throws(SQLiteError) -> Bool {
    try commonest(column).map { $0.count <= $0.of / 2 } ?? false
  }

  private func commonest(
    _ column: Int
  ) throws(SQLiteError) -> (value: SQLite.Value, count: Int64, of: Int64)? {
    if commonest[column] == nil {
      commonest[column] = try statements.commonest(column, on: connection)
    }
    return commonest[column]
  }
}
