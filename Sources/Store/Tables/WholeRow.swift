import Replication
import SQLite

/// How rows go into their table that bring a value for each of its columns, and none for others.
///
/// So are nearly all: columns differ only while a migration is on its way. Of such a row nothing
/// has to be found out but whether its table shows what it says.
final class WholeRow {
  /// For each value the column that it is for.
  let columns: [Int]
  private static let mostValues = 256
  private let inserting: String
  /// The same for so many rows.
  private var insertingAll: (rows: Int, text: String)?
  private let updating: String
  /// The values that an update sets, and then those of the key.
  private let updated: [Int]
  /// How many new rows may go in with one statement.
  let most: Int
  private unowned let statements: RowStatements

  /// Nil if a column here has no value in rows of that shape, or a value has no column.
  init?(_ shape: TableShape, _ statements: RowStatements) {
    let columns = statements.columns(for: shape.columns).compactMap(\.self)
    guard columns.count == shape.columns.count, Set(columns).count == columns.count,
      columns.count == statements.shape.columns.count
    else { return nil }
    self.columns = columns
    // A row of nothing but a key is updated in its key.
    let updated = columns.indices.filter { statements.isUpdated(columns[$0]) }
    inserting = statements.insert(columns)
    most = max(1, Self.mostValues / columns.count)
    self.statements = statements
    updating = statements.update(updated.map { columns[$0] })
    self.updated = updated + (0..<shape.keyCount)
  }

  func insert(_ values: [Replication.Value], on connection: Connection) throws(SQLiteError) {
    try connection.run(inserting, lending: values, values.indices)
  }

  /// Inserts several rows. If that fails, some may be in their table.
  func insert(_ rows: [Placement], on connection: Connection) throws(SQLiteError) {
    var cells = Cells()
    for row in rows { for value in row.values { value.add(to: &cells) } }
    try connection.run(inserting(rows.count), cells, 0..<cells.count)
  }

  private func inserting(_ rows: Int) -> String {
    if let insertingAll, insertingAll.rows == rows { return insertingAll.text }
    let text = statements.insert(columns, rows: rows)
    insertingAll = (rows, text)
    return text
  }

  /// Updates the row of that key; false if it is not there.
  func update(
    _ values: [Replication.Value], on connection: Connection
  ) throws(SQLiteError) -> Bool {
    try connection.run(updating, lending: values, updated) > 0
  }
}

extension RowStatements {
  /// Whether the table shows these values as they came, and they are what its author has counted.
  func shows(_ values: [Replication.Value], _ whole: WholeRow, _ hash: UInt64) -> Bool {
    var sum = ContentHash()
    for (place, column) in whole.columns.enumerated() {
      guard takes(values[place], in: column) else { return false }
      if !isDefault(values[place], in: column) {
        sum.add(column: columnHashes[column], values[place])
      }
    }
    return sum.value == hash
  }

  /// Whether a value counts for nothing.
  private func isDefault(_ value: Replication.Value, in column: Int) -> Bool {
    guard let uncounted = defaults[column] else { return false }
    return uncounted == value
  }
}
