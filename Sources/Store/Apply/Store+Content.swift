import Replication
import SQLite

/// The content of a row apart from its table: what `pending` and the conflict log keep.
extension Store {
  /// What stands of a row, whole: from its table and the columns beside it, or from the shelf.
  ///
  /// Of a deleted row the key alone; nil if the content is not here.
  func content(
    of version: Version?, _ table: ReplicaTable, _ key: Key
  ) throws -> Shelf.Entry? {
    guard let version, !version.isDeleted else { return table.keyEntry(key) }
    let shelved = try shelf.entry(table: table.id, key: key)
    if let shelved, shelved.why.isWhole { return shelved.why == .tooLarge ? nil : shelved }
    return try tableContent(table, key, beside: shelved)
  }

  /// What stands in the table, whatever its version says; nil if no row stands there.
  func tableContent(
    _ table: ReplicaTable, _ key: Key, beside shelved: Shelf.Entry? = nil
  ) throws(SQLiteError) -> Shelf.Entry? {
    guard let statements = table.statements,
      let values = try connection.row(statements.selectByKey, (key.values ?? []).map(\.sqlite))
    else { return nil }
    let shown = values.map(Replication.Value.init)
    let beside = try statements.beside(shelved, shown)
    let names = statements.shape(with: beside.extras).columns
    return Shelf.Entry(
      why: .constraint, values: zip(names, beside.said(shown)).map { (name: $0, value: $1) },
      keyCount: statements.shape.keyCount, rest: beside.rest)
  }

  /// The content of a row that came from elsewhere; nil if that was withheld.
  func entry(_ row: ShapedRow) -> Shelf.Entry? {
    if case .withheld = row.row.content { return nil }
    let named = Array(zip(row.shape.columns, row.row.values)).map { (name: $0, value: $1) }
    return Shelf.Entry(why: .constraint, values: named, keyCount: row.shape.keyCount)
  }
}
