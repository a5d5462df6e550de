import Replication
import SQLite

/// Which row of another shape of key a row is, told from its columns.
///
/// A migration makes rows anew and notes nowhere what each was before. Its columns mostly tell: the
/// key columns of before are still there, perhaps with another affinity, or they have new names in
/// their old places.
struct KeyMapping {
  let former: KeyShape
  /// For each key column of before: where it is among the columns of the row now.
  let places: [Int]
  /// False if a column was found by its place alone: a key that was not there before may be one
  /// that the migration has computed.
  private(set) var isByName = true
  private let shape: TableShape

  /// Nil if the columns do not tell.
  init?(_ former: KeyShape, in shape: TableShape) {
    let key = shape.columns.prefix(shape.keyCount)
    var places: [Int] = []
    for (index, column) in former.columns.enumerated() {
      if let place = shape.columns.firstIndex(where: column.isNamed) {
        places.append(place)
      } else if former.count == shape.keyCount,
        !former.columns.contains(where: { $0.isNamed(key[index]) })
      {
        places.append(index)
        isByName = false
      } else {
        return nil
      }
    }
    (self.former, self.places, self.shape) = (former, places, shape)
  }

  /// The key values of before; nil if one of them is not known.
  func values(of row: [Replication.Value]) -> [Replication.Value]? {
    var values: [Replication.Value] = []
    for (column, place) in zip(former.columns, places) {
      guard place < row.count, let value = column.affinity.holding(row[place]) else { return nil }
      values.append(value)
    }
    return values
  }

  func key(of row: [Replication.Value]) -> Key? {
    values(of: row).flatMap { Key($0, collations: former.collations) }
  }

  /// The hash that the row would have had before, if only its key was made anew.
  func hash(
    of row: StandingRow, _ values: [Replication.Value], _ statements: RowStatements,
    _ beside: Beside
  ) -> UInt64? {
    guard let before = self.values(of: values) else { return nil }
    var change: UInt64 = 0
    for (index, place) in places.enumerated() {
      let (column, now) = (former.columns[index].name, values[place])
      let isSame = before[index] == now && isSameName(column, shape.columns[place])
      if isSame || statements.defaults[place] == now { continue }
      change &-= ContentHash.share(column: statements.columnHashes[place], now)
      change &+= ContentHash.share(column: ContentHash.column(column), before[index])
    }
    var beside = beside
    beside.rest &+= change
    return row.hash(beside)
  }
}
