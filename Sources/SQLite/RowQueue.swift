/// Rows on their way into one table, several with one statement.
///
/// To begin and end a statement, and to go down a tree from its root, takes SQLite longer than to
/// insert one more row beside the last. So rows wait until there are sixteen. Nobody sees that they
/// wait: a statement of the connection that names the table comes after them, and so does a commit.
package final class RowQueue {
  private enum Cell {
    case null
    case integer(Int64)
    case bytes(Range<Int>)
  }

  private static let rows = 16

  package let table: String
  private let columns: Int
  private let one: String
  private let several: String
  private var cells: [Cell] = []
  /// The bytes of all cells, one after another.
  private var bytes: [UInt8] = []
  /// What has kept rows from their table: without them the transaction must not be committed.
  private var failure: SQLiteError?

  /// `insert` is the statement up to its values, as "INSERT INTO t(a, b)".
  package init(_ insert: String, into table: String, columns: Int) {
    (self.table, self.columns) = (table, columns)
    let row = "(" + [String](repeating: "?", count: columns).joined(separator: ", ") + ")"
    one = "\(insert) VALUES \(row)"
    several =
      "\(insert) VALUES " + [String](repeating: row, count: Self.rows).joined(separator: ", ")
    cells.reserveCapacity(columns * Self.rows)
  }

  package var isEmpty: Bool { cells.isEmpty && failure == nil }

  package func addNull() { cells.append(.null) }

  package func add(_ integer: Int64) { cells.append(.integer(integer)) }

  package func add(_ integer: Int64?) {
    cells.append(integer.map { .integer($0) } ?? .null)
  }

  /// Adds a blob.
  package func add(_ blob: [UInt8]) {
    let start = bytes.count
    bytes.append(contentsOf: blob)
    cells.append(.bytes(start..<bytes.count))
  }

  /// A row is complete; the rows go into their table if there are enough, or no transaction is
  /// open.
  package func endRow(on connection: Connection) throws(SQLiteError) {
    precondition(cells.count.isMultiple(of: columns), "a row has \(columns) columns")
    guard cells.count == columns * Self.rows || connection.isAutocommit else { return }
    try flush(on: connection)
  }

  /// Puts the rows that wait into their table.
  package func flush(on connection: Connection) throws(SQLiteError) {
    if let failure { throw failure }
    guard !cells.isEmpty else { return }
    let waiting = cells
    cells.removeAll(keepingCapacity: true)
    defer { bytes.removeAll(keepingCapacity: true) }
    do throws(SQLiteError) {
      if waiting.count == columns * Self.rows {
        try insert(several, waiting[...], on: connection)
      } else {
        for start in stride(from: 0, to: waiting.count, by: columns) {
          try insert(one, waiting[start..<start + columns], on: connection)
        }
      }
    } catch {
      failure = error
      throw error
    }
  }

  /// The transaction ends without them, or begins.
  package func forget() {
    cells.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    failure = nil
  }

  private func insert(
    _ sql: String, _ cells: ArraySlice<Cell>, on connection: Connection
  ) throws(SQLiteError) {
    try connection.with(sql) { (statement) throws(SQLiteError) in
      try bytes.withUnsafeBufferPointer { (bytes) throws(SQLiteError) in
        let bytes = UnsafeRawBufferPointer(bytes)
        // What is lent must be given back before the bytes may move.
        defer { statement.reset() }
        for (index, cell) in cells.enumerated() {
          switch cell {
          case .null: break
          case .integer(let integer): try statement.bind(integer, at: index + 1)
          case .bytes(let range):
            try statement.lend(
              UnsafeRawBufferPointer(rebasing: bytes[range]), isText: false, at: index + 1)
          }
        }
        while try statement.step() {}
      }
    }
  }
}
