import Replication
import SQLite

/// Rows that do not fit at present: kept whole, relayed like any other, tried again later.
extension Settlement {
  func shelve(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, why: Shelf.Why,
    _ application: inout Application
  ) throws {
    switch row.row.content {
    case .ruling: break
    case .deleted:
      try shelf.remove(table: table.id, key: key)
    case .withheld(let values):
      // What stands in the table stays there: an older content is better than none.
      try put(row.shape, values, table, key, why: .tooLarge)
      application.shelved += 1
    case .values(let values):
      try put(row.shape, values, table, key, why: why)
      application.shelved += 1
    }
  }

  func put(
    _ shape: TableShape, _ values: [Replication.Value], _ table: ReplicaTable, _ key: Key,
    why: Shelf.Why
  ) throws {
    let named = Array(zip(shape.columns, values)).map { (name: $0, value: $1) }
    try shelf.put(
      Shelf.Entry(why: why, values: named, keyCount: shape.keyCount), table: table.id, key: key)
  }

  /// Takes a row that met a constraint out of its table, so that others find its value free. What
  /// it is to be is on the shelf: a later version of it may come before it is tried again.
  func postpone(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    _ application: inout Application
  ) throws {
    try takeOut(placement, statements, table, key)
    try put(placement.shape, placement.values, table, key, why: .constraint)
    changed(table, key)
    application.postponed.insert(Export.RowID(table: table.id, key: key))
    application.changed.insert(table.id)
  }

  /// Places what met a constraint on the way: rows that exchange unique values were deleted first
  /// and are inserted now. What still does not fit stays parked.
  func settle(_ application: inout Application) throws {
    guard !application.changed.isEmpty else { return }
    parking.freed.subtract(application.changed)
    if try shelf.isEmpty && !parking.concernsReferences {
      application.postponed = []
      return
    }
    _ = try settleTables(application.changed)
    for row in application.postponed
    where try shelf.why(table: row.table, key: row.key)?.isParked == true {
      application.shelved += 1
    }
    application.postponed = []
  }

  /// Keeps what others referred to in a row; false if they still do.
  func noteReplaced(
    _ before: [Int: [SQLite.Value]], in table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Bool {
    guard !before.isEmpty, try referred(in: table, key) != before else { return false }
    parking.note(before, before: Export.RowID(table: table.id, key: key))
    changed(table, key)
    return true
  }

  func takeOut(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws {
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, placement.keyValues)
    }
  }

  func isWritten(_ key: Key, _ statements: RowStatements) throws(SQLiteError) -> Bool {
    try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
  }
}
