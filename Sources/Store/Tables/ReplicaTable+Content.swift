import Replication

/// Rows apart from their table: keys alone, and rows that are made again from what was kept.
extension ReplicaTable {
  /// The key alone, of a row that is deleted or whose content is not here.
  func keyEntry(_ key: Key) -> Shelf.Entry {
    let values = key.values ?? []
    return Shelf.Entry(
      why: .constraint,
      values: Array(zip(keyNames(values.count), values)).map { (name: $0, value: $1) },
      keyCount: values.count)
  }

  /// A row that came from elsewhere, made again from what was kept.
  func shaped(_ version: Version, _ kept: Shelf.Entry?, _ key: Key) -> ShapedRow {
    let entry = kept ?? keyEntry(key)
    let values = entry.values.map(\.value)
    let keyValues = Array(values.prefix(entry.keyCount))
    let content: WireRow.Content =
      version.isDeleted
      ? .deleted(key: keyValues) : kept == nil ? .withheld(key: keyValues) : .values(values)
    let shape = shape(entry.values.map(\.name), keyCount: entry.keyCount)
    return ShapedRow(
      shape: shape, row: WireRow(table: 0, version: version, content: content))
  }
}
