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
  /// For each column that was asked about the value that most rows have, and whether two have it.
  private var commonest: [Int: (value: SQLite.Value, isShared: Bool)] = [:]
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
    if commonest[column] == nil { commonest[column] = try read(column) }
    guard let (value, isShared) = commonest[column], value == standing else { return false }
    if isShared { return true }
    if written == nil { written = try Journal.writtenKeys(of: table, on: connection) }
    return written?.contains(key) == false
  }

  private func read(_ column: Int) throws(SQLiteError) -> (SQLite.Value, Bool)? {
    try statements.commonest(column, on: connection).map { ($0.value, $0.count > 1) }
  }
}
