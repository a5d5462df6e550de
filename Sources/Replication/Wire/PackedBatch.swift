/// A batch of rows that was checked and stays as it came: a tenth of the memory that its rows take.
///
/// Rows that wait to be merged in the order of their keys are read one at a time.
package final class PackedBatch: Sendable {
  private let bytes: [UInt8]
  private let header: RowBatch.Header
  /// Where each row begins; a batch is no longer than 65 MiB.
  private let starts: [UInt32]

  /// Reads a batch and shows its rows as far as their keys, one after another; everything is
  /// checked.
  ///
  /// What fills more than a frame has one row. Small values, or names, of many would take much more
  /// memory and time than their bytes.
  package init(
    bytes: [UInt8], _ show: (TableShape, RowHead) throws(WireError) -> Void
  ) throws(WireError) {
    var reader = ByteReader(bytes)
    let isLong = bytes.count > Limits.frame
    let header = try RowBatch.Header(from: &reader, isLong: isLong)
    let count = try reader.count("Rows", limit: isLong ? 1 : Limits.rowsPerBatch)
    var starts: [UInt32] = []
    starts.reserveCapacity(count)
    for _ in 0..<count {
      starts.append(UInt32(reader.position))
      let head = try header.head(from: &reader)
      try show(header.tables[head.table], head)
    }
    try reader.finish("Rows")
    self.bytes = bytes
    self.header = header
    self.starts = starts
  }

  package var tables: [TableShape] { header.tables }

  /// All of its rows.
  var rows: [WireRow] {
    get throws(WireError) {
      var rows: [WireRow] = []
      rows.reserveCapacity(starts.count)
      for index in starts.indices { rows.append(try row(index)) }
      return rows
    }
  }

  /// The row at that place in the batch.
  package func row(_ index: Int) throws(WireError) -> WireRow {
    var reader = ByteReader(bytes, from: Int(starts[index]))
    return try header.row(from: &reader)
  }

  /// How many bytes a row takes.
  package func size(of index: Int) -> Int {
    (index + 1 < starts.count ? Int(starts[index + 1]) : bytes.count) - Int(starts[index])
  }
}
