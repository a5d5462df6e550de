import Replication
import SQLite

/// A row as it stands in its table: what counts of it, and its values unless they are long.
///
/// Of a long row, which no push could carry, only the sum of its content is taken, where SQLite
/// holds it: a fold needs no second copy of it.
struct StandingRow {
  /// Every column; nil for a long row.
  let values: [Replication.Value]?
  let content: ContentHash
  private let keyCount: Int
  /// The key of a long row.
  private let keyAlone: [Replication.Value]

  var key: [Replication.Value] { values.map { Array($0.prefix(keyCount)) } ?? keyAlone }

  /// The row on which a statement stands that gives every column of the shape.
  init(_ statement: Statement, _ statements: RowStatements) {
    let count = statements.shape.columns.count
    keyCount = statements.shape.keyCount
    var (sum, values, size) = (ContentHash(), [Replication.Value](), 0)
    values.reserveCapacity(count)
    for column in 0..<count {
      let value = statement.content(column)
      size += value.byteCount + 9
      if size < Limits.wholeBytes / 2 { values.append(Replication.Value(value)) }
      if !value.isSame(as: statements.defaults[column]) {
        value.add(to: &sum, column: statements.columnHashes[column])
      }
    }
    content = sum
    let isLong = values.count < count
    self.values = isLong ? nil : values
    keyAlone = isLong ? statement.travelling(keyCount) : []
  }

  /// The row of a key; nil if there is none, or if the table has a key of other columns by now.
  static func read(
    _ key: Key, _ statements: RowStatements, on connection: Connection
  ) throws(SQLiteError) -> StandingRow? {
    let count = statements.shape.keyCount
    return try connection.with(statements.selectByKey) { (statement) throws(SQLiteError) in
      func step() throws(SQLiteError) -> StandingRow? {
        try statement.step() ? StandingRow(statement, statements) : nil
      }
      // The value of a key that has only one is bound from where it lies.
      guard count == 1, let single = key.single else {
        guard let values = key.values, values.count == count else { return nil }
        for (index, value) in values.enumerated() {
          try statement.bind(value.sqlite, at: index + 1)
        }
        return try step()
      }
      switch single {
      case .integer(let integer):
        try statement.bind(integer, at: 1)
        return try step()
      case .text(let place):
        return try statement.lending(key.bytes[place], isText: true, at: 1, step)
      case .blob(let place): return try statement.lending(key.bytes[place], at: 1, step)
      }
    }
  }

  /// The hash of the row with what is kept beside it.
  func hash(_ beside: Beside) -> UInt64 {
    var sum = content
    beside.add(to: &sum)
    return sum.value
  }

  /// The hash of all that the table shows: a column that is not here and one that is NULL are alike
  /// to whoever reads, but a default is not.
  func shownHash(_ statements: RowStatements) -> UInt64 {
    guard let values else { return content.value }
    var sum = ContentHash()
    for (column, value) in values.enumerated() where value != .null {
      sum.add(column: statements.columnHashes[column], value)
    }
    return sum.value
  }

  /// What is missing to give `hash`, beside the row and what is known beside it.
  func rest(_ beside: Beside, to hash: UInt64) -> UInt64 {
    var (sum, beside) = (content, beside)
    beside.rest = 0
    beside.add(to: &sum)
    return sum.rest(to: hash)
  }
}

extension StandingRow {
  /// One column of the row; of a long one it is read again.
  func value(
    of column: Int, _ statements: RowStatements, _ key: Key, on connection: Connection
  ) throws(SQLiteError) -> Replication.Value? {
    if let values { return values[column] }
    let row = try connection.row(
      statements.select(quoted(statements.names[column])),
      (key.values ?? []).map(\.sqlite))
    return row.map { Replication.Value($0[0]) }
  }
}

extension Replication.Value {
  fileprivate init(_ content: Statement.Content) {
    self =
      switch content {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let bytes): .text([UInt8](bytes))
      case .blob(let bytes): .blob([UInt8](bytes))
      }
  }
}

extension Statement.Content {
  fileprivate var byteCount: Int {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    default: 0
    }
  }

  /// Equal in class and bits.
  fileprivate func isSame(as value: Replication.Value?) -> Bool {
    switch (self, value) {
    case (.null, .null?): true
    case (.integer(let left), .integer(let right)?): left == right
    case (.real(let left), .real(let right)?): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)?): left.elementsEqual(right)
    case (.blob(let left), .blob(let right)?): left.elementsEqual(right)
    default: false
    }
  }

  /// Adds what a column with this value counts.
  fileprivate func add(to sum: inout ContentHash, column: UInt64) {
    switch self {
    case .null: sum.add(column: column, .null)
    case .integer(let integer): sum.add(column: column, .integer(integer))
    case .real(let real): sum.add(column: column, .real(real))
    case .text(let bytes): sum.add(column: column, bytes, isText: true)
    case .blob(let bytes): sum.add(column: column, bytes, isText: false)
    }
  }
}
