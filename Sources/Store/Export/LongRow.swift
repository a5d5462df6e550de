import Replication
import SQLite

/// One row that is longer than a frame may be, encoded piece by piece.
///
/// SQLite holds its values once, as long as the statement stands on the row; nothing here copies
/// more than a piece of them.
final class LongRow {
  let version: Version
  private let check: UInt64
  private let statement: Statement?
  /// How many values the statement has; `values` follow them.
  private let columns: Int
  /// Of these the ones that travel instead of what the statement has, by their places.
  private let instead: [Int: Replication.Value]
  private let values: [Replication.Value]
  private var writer: ByteWriter
  private var next = 0
  /// How much of the next value was taken.
  private var taken = 0

  /// A row on which a statement stands, and the values that travel after its columns.
  init(
    _ shape: TableShape, _ version: Version, _ statement: Statement?, columns: Int,
    instead: [Int: Replication.Value] = [:], values: [Replication.Value]
  ) {
    // A batch with this row, up to where its values begin.
    var head = RowBatchWriter()
    head.add(shape, version, .values([]))
    self.version = version
    self.check = head.check
    self.statement = statement
    self.columns = columns
    self.instead = instead
    self.values = values
    self.writer = ByteWriter()
    writer.raw(head.bytes)
  }

  /// The next piece, of about that many bytes; the last one is a batch.
  func read(_ limit: Int) -> ExportStep {
    while next < columns + values.count {
      let room = limit - writer.bytes.count
      guard room > 0 else {
        defer { writer.removeAll() }
        return .part(writer.bytes)
      }
      if let value = instead[next] {
        write(value, room)
      } else if let statement, next < columns {
        write(statement, next, room)
      } else {
        write(values[next - columns], room)
      }
    }
    return .batch(ExportBatch(bytes: writer.bytes, rows: 1, check: check))
  }

  private func write(_ statement: Statement, _ column: Int, _ room: Int) {
    guard let isText = statement.isText(column) else {
      return write(Replication.Value(statement.value(column)), room)
    }
    statement.withBytes(column) { write($0, isText: isText, room) }
  }

  private func write(_ value: Replication.Value, _ room: Int) {
    switch value {
    case .text(let bytes): bytes.withUnsafeBytes { write($0, isText: true, room) }
    case .blob(let bytes): bytes.withUnsafeBytes { write($0, isText: false, room) }
    default:
      writer.value(value)
      next += 1
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer, isText: Bool, _ room: Int) {
    if taken == 0 { writer.head(isText: isText, count: bytes.count) }
    let end = min(bytes.count, taken + room)
    writer.raw(UnsafeRawBufferPointer(rebasing: bytes[taken..<end]))
    taken = end
    guard end == bytes.count else { return }
    taken = 0
    next += 1
  }
}
