import Replication
import SQLite

/// Rows that were read before they are folded, several with one statement.
///
/// Touches come in the order of keys, so to find each row alone costs SQLite most of the reading.
/// As soon as anything but versions is written, what was read counts no more.
struct RowsAhead {
  /// After rows that nobody has used, so many are read one by one.
  private static let pause = 256
  /// A result has 2,000 columns at most, and one of them tells which row it is
  /// (sqlite.org/limits.html#max_column).
  private static let mostColumns = 2_000

  private let connection: Connection
  /// So many are read at once.
  private let together: Int
  private var rows: [StandingRow?] = []
  /// Which touch the first of them belongs to.
  private var start = 0
  private var used = 0
  /// How much had been written when they were read.
  private var changes = 0
  private var rest = 0

  init(_ together: Int, on connection: Connection) {
    (self.together, self.connection) = (together, connection)
  }

  /// The row of a touch as it stands; nil if there is none.
  @_optimize(speed)
  mutating func row(
    _ index: Int, of touches: Backlog.Run, _ table: ReplicaTable, _ statements: RowStatements
  ) throws(SQLiteError) -> StandingRow? {
    if start..<start + rows.count ~= index {
      if connection.changesBesideQueues == changes {
        used += 1
        return rows[index - start]
      }
      rest = used * 2 < rows.count ? Self.pause : 0
      rows = []
    }
    if rest > 0 {
      rest -= 1
    } else if try read(index, of: touches, table, statements) {
      return rows[0]
    }
    return try StandingRow.read(touches[index].key, statements, on: connection)
  }

  /// Reads the rows of this touch and of the next ones; false if these are too few of the table.
  private mutating func read(
    _ index: Int, of touches: Backlog.Run, _ table: ReplicaTable, _ statements: RowStatements
  ) throws(SQLiteError) -> Bool {
    let end = index + together
    let number = statements.names.count
    guard end <= touches.count, number < Self.mostColumns else { return false }
    var cells = Cells()
    for index in index..<end {
      let touch = touches[index]
      guard touch.table == table.id, touch.key.add(to: &cells, count: statements.keyCount)
      else { return false }
    }
    rows = [StandingRow?](repeating: nil, count: together)
    (start, used, changes) = (index, 0, connection.changesBesideQueues)
    try connection.with(statements.select(together: together), cells) {
      (statement) throws(SQLiteError) in
      while try statement.step() {
        rows[statement.int(number)] = StandingRow(statement, statements)
      }
    }
    used = 1
    return true
  }
}

extension Key {
  /// Adds the values of a key; false if it has another number of them.
  fileprivate func add(to cells: inout Cells, count: Int) -> Bool {
    if count == 1, let single {
      switch single {
      case .integer(let integer): cells.add(integer)
      case .text(let place): cells.add(bytes[place], isText: true)
      case .blob(let place): cells.add(bytes[place], isText: false)
      }
      return true
    }
    guard let values, values.count == count else { return false }
    for value in values { value.add(to: &cells) }
    return true
  }
}
