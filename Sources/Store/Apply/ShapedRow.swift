import Replication

/// One row with the shape of its table.
final class ShapedRow {
  let shape: TableShape
  let row: WireRow

  init(shape: TableShape, row: WireRow) { (self.shape, self.row) = (shape, row) }

  var origin: Origin { row.version.dot.origin }

  /// The content of a row that came from elsewhere; nil if that was withheld.
  var entry: Shelf.Entry? {
    if case .withheld = row.content { return nil }
    let named = Array(zip(shape.columns, row.values)).map { (name: $0, value: $1) }
    return Shelf.Entry(why: .constraint, values: named, keyCount: shape.keyCount)
  }
}
