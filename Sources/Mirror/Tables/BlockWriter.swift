import SQLite

/// Takes rows of one table from where SQLite holds them into blocks for the server.
///
/// It sends what `ColumnForm` sends. Values of the usual kinds are looked at where they lie, all
/// others go by way of that.
struct BlockWriter {
  /// How the values of a column mostly go over.
  private enum Lane {
    case integer(least: Int64, most: UInt64)
    case real
    case text(letters: Int?, bytes: Int?, trims: Bool)
    case bytes(most: Int)
    case other
  }

  private let link: TableLink
  private let lanes: [Lane]
  private let packet: Int
  /// Of each column of the link where a statement has it.
  private let places: [Int]

  /// For a server that takes packets of that size, and a statement that has the columns in this
  /// order; in that of the link if it is nil.
  init(_ link: TableLink, packet: Int, order: [Int]? = nil) {
    (self.link, self.packet) = (link, packet)
    places = link.columns.indices.map { order?.firstIndex(of: $0) ?? $0 }
    lanes = link.columns.map { column in
      switch (column.form.kind, column.form.affinity) {
      case (.integer(let least, let most), .integer): .integer(least: least, most: most)
      case (.real, .real): .real
      case (.text(let letters, let bytes, let trims), .text):
        .text(letters: letters, bytes: bytes, trims: trims)
      case (.bytes(let most), .none): .bytes(most: most)
      default: .other
      }
    }
  }

  /// How many bytes of memory a row takes without its texts and blobs.
  var rowSize: Int { 16 * lanes.count + 16 }

  private var mostBytes: Int { min(MirrorSession.mostSentBytes, packet / 2) }

  /// An empty one, where so many rows are to go.
  func block(for rows: Int) -> ParameterBlock {
    ParameterBlock(
      columns: lanes.count, room: max(1, min(rows, MirrorSession.mostRows, mostBytes / rowSize)))
  }

  func isFull(_ block: ParameterBlock) -> Bool {
    block.isFull || block.bytes + block.count * rowSize > mostBytes
  }

  /// Adds a row; false if the server would not have it as it is, or not beside the others.
  func add(_ row: Statement, to block: ParameterBlock) -> Bool {
    for column in lanes.indices {
      guard add(row.content(column), of: column, row, to: block) else { return false }
    }
    guard block.bytes + (block.count + 1) * rowSize < packet - (64 << 10) else { return false }
    block.endRow()
    return true
  }

  private func add(
    _ content: Statement.Content, of column: Int, _ row: Statement, to block: ParameterBlock
  ) -> Bool {
    let place = places[column]
    switch (lanes[column], content) {
    case (_, .null):
      guard link.columns[column].takesNull else { return false }
      block.putNull(in: place)
    case (.integer(let least, let most), .integer(let number)):
      guard number >= least, number < 0 || UInt64(number) <= most else { return false }
      block.put(number, in: place)
    case (.real, .real(let number)):
      guard number.isFinite, number != 0 || number.sign == .plus else { return false }
      block.put(number, in: place)
    case (.text(let letters, let most, let trims), .text(let text)):
      let objection = ColumnForm.objection(to: text, letters: letters, bytes: most, trims: trims)
      guard objection == nil else { return false }
      block.put(text, isText: true, in: place)
    case (.bytes(let most), .blob(let bytes)):
      guard bytes.count <= most else { return false }
      block.put(bytes, isText: false, in: place)
    default:
      guard let value = try? link.columns[column].form.encode(row.value(column)) else {
        return false
      }
      block.put(value, in: place)
    }
    return true
  }
}
