/// Rows on their way into one table, several with one statement.
///
/// To begin and end a statement, and to go down a tree from its root, takes SQLite longer than to
/// insert one more row beside the last. So rows wait until there are sixteen. Nobody sees that they
/// wait: a statement of the connection that names the table comes after them, and so does a commit.
package final class RowQueue {
  private static let rows = 16

  package let table: String
  private let columns: Int
  private let one: String
  private let several: String
  private var cells = Cells()
  /// What has kept rows from their table: without them the transaction must not be committed.
  private var failure: SQLiteError?

  /// `insert` is the statement up to its values, as "INSERT INTO t(a, b)".
  package init(_ insert: String, into table: String, columns: Int) {
    (self.table, self.columns) = (table, columns)
    one = insert + Self.values(rows: 1, columns)
    several = insert + Self.values(rows: Self.rows, columns)
  }

  /// The end of a statement that inserts so many rows.
  package static func values(rows: Int, _ columns: Int) -> String {
    let row = "(" + [String](repeating: "?", count: columns).joined(separator: ", ") + ")"
    return " VALUES " + [String](repeating: row, count: rows).joined(separator: ", ")
  }

  package var isEmpty: Bool { cells.count == 0 && failure == nil }

  package func add(_ integer: Int64?) {
    if let integer { cells.add(integer) } else { cells.addNull() }
  }

  package func add(_ blob: [UInt8]?) {
    if let blob { cells.add(blob, isText: false) } else { cells.addNull() }
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
    guard cells.count > 0 else { return }
    // What inserts them names the table, too.
    var waiting = Cells()
    swap(&cells, &waiting)
    let before = connection.totalChanges
    defer { connection.queued += connection.totalChanges - before }
    do throws(SQLiteError) {
      if waiting.count == columns * Self.rows {
        try connection.run(several, waiting, 0..<waiting.count)
      } else {
        for start in stride(from: 0, to: waiting.count, by: columns) {
          try connection.run(one, waiting, start..<start + columns)
        }
      }
    } catch {
      failure = error
      throw error
    }
    waiting.removeAll()
    swap(&cells, &waiting)
  }

  /// The transaction ends without them.
  func forget() {
    cells.removeAll()
    failure = nil
  }
}

/// Values for the parameters of a statement, their bytes one after another in one place.
package struct Cells {
  private enum Cell {
    case null
    case integer(Int64)
    case real(Double)
    case text(Range<Int>)
    case blob(Range<Int>)
  }

  private var cells: [Cell] = []
  private var bytes: [UInt8] = []

  package init() {}

  package var count: Int { cells.count }

  package mutating func removeAll() {
    cells.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func addNull() { cells.append(.null) }

  package mutating func add(_ integer: Int64) { cells.append(.integer(integer)) }

  package mutating func add(_ real: Double) { cells.append(.real(real)) }

  package mutating func add(_ bytes: [UInt8], isText: Bool) { add(bytes[...], isText: isText) }

  package mutating func add(_ bytes: ArraySlice<UInt8>, isText: Bool) {
    let start = self.bytes.count
    bytes.withUnsafeBufferPointer { self.bytes.append(contentsOf: $0) }
    let range = start..<self.bytes.count
    cells.append(isText ? .text(range) : .blob(range))
  }

  /// Lends some of them to a statement while `body` runs.
  func lending<Result>(
    _ range: Range<Int>, to statement: Statement, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try bytes.withUnsafeBufferPointer { (bytes) throws(SQLiteError) in
      // What is lent must be given back before the bytes may move.
      defer { statement.reset() }
      for (index, cell) in cells[range].enumerated() {
        switch cell {
        case .null: break
        case .integer(let integer): try statement.bind(integer, at: index + 1)
        case .real(let real): try statement.bind(.real(real), at: index + 1)
        case .text(let place):
          try statement.lend(bytes[raw: place], isText: true, at: index + 1)
        case .blob(let place):
          try statement.lend(bytes[raw: place], isText: false, at: index + 1)
        }
      }
      return try body()
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate subscript(raw range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(self)[range])
  }
}

extension Connection {
  /// The same as `with`, with all of these values.
  package func with<Result>(
    _ sql: String, _ cells: Cells, _ body: (Statement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try with(sql) { (statement) throws(SQLiteError) in
      try cells.lending(0..<cells.count, to: statement) { () throws(SQLiteError) in
        try body(statement)
      }
    }
  }

  /// Runs one statement to its end with some of the values; gives the number of rows changed.
  @discardableResult
  package func run(
    _ sql: String, _ cells: Cells, _ range: Range<Int>
  ) throws(SQLiteError) -> Int {
    try with(sql) { (statement) throws(SQLiteError) in
      try cells.lending(range, to: statement) { () throws(SQLiteError) in
        while try statement.step() {}
        return changes
      }
    }
  }
}
