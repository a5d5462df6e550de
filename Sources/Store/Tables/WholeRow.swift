import Replication
import SQLite

/// How rows go into their table that bring a value for each of its columns, and none for others.
///
/// So are nearly all: columns differ only while a migration is on its way. Of such a row nothing
/// has to be found out but whether its table shows what it says.
struct WholeRow {
  /// For each value the column that it is for.
  let columns: [Int]
  fileprivate let insert: String
  /// Nil if nothing is updated but the key.
  fileprivate let update: (sql: String, places: [Int])?

  /// Nil if a column here has no value in rows of that shape, or a value has no column.
  init?(_ shape: TableShape, _ statements: RowStatements) {
    let columns = statements.columns(for: shape.columns).compactMap(\.self)
    guard columns.count == shape.columns.count, Set(columns).count == columns.count,
      columns.count == statements.shape.columns.count
    else { return nil }
    self.columns = columns
    insert = statements.insert(columns)
    let updated = columns.indices.filter { statements.isUpdated(columns[$0]) }
    update =
      updated.isEmpty
      ? nil
      : (statements.update(updated.map { columns[$0] }), updated + (0..<shape.keyCount))
  }

  /// Inserts the row; gives the number of rows changed.
  func insert(_ values: [Replication.Value], on connection: Connection) throws(SQLiteError) -> Int {
    try connection.run(insert, lending: values, Array(values.indices))
  }

  /// Updates the row of that key, nil if there is nothing to update.
  func update(
    _ values: [Replication.Value], on connection: Connection
  ) throws(SQLiteError) -> Int? {
    guard let update else { return nil }
    return try connection.run(update.sql, lending: values, update.places)
  }
}

extension RowStatements {
  /// Whether the table shows these values as they came, and they are what its author has counted.
  func shows(_ values: [Replication.Value], _ whole: WholeRow, _ hash: UInt64) -> Bool {
    var sum = ContentHash()
    for (place, column) in whole.columns.enumerated() {
      let value = values[place]
      guard takes(value, in: column) else { return false }
      if defaults[column] != value { sum.add(column: columnHashes[column], value) }
    }
    return sum.value == hash
  }
}
