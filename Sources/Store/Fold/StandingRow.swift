import Replication
import SQLite

/// A row as it stands in its table: what counts of it, and its values unless they are long.
///
/// Of a long row, which no push could carry, only the sum of its content is taken, where SQLite
/// holds it: a fold needs no second copy of it.
struct StandingRow {
  /// Every column, as it travels; nothing of a long row.
  let encoded: [UInt8]
  let content: ContentHash
  let isLong: Bool
  private let columnCount: Int
  private let keyCount: Int
  /// The key of a long row.
  private let keyAlone: [Replication.Value]

  /// Every column; nil for a long row.
  var values: [Replication.Value]? { isLong ? nil : decoded(columnCount) }

  var key: [Replication.Value] { isLong ? keyAlone : decoded(keyCount) }

  /// The row on which a statement stands that gives every column of the shape.
  @_optimize(speed)
  init(_ statement: Statement, _ statements: RowStatements) {
    (columnCount, keyCount) = (statements.columnHashes.count, statements.keyCount)
    var (sum, writer, size) = (ContentHash(), ByteWriter(capacity: 240), 0)
    for column in 0..<columnCount {
      let value = statement.content(column)
      size += value.byteCount + 9
      if size < Limits.wholeBytes / 2 { value.write(to: &writer) }
      if !value.isSame(as: statements.defaults[column]) {
        value.add(to: &sum, column: statements.columnHashes[column])
      }
    }
    content = sum
    isLong = size >= Limits.wholeBytes / 2
    encoded = isLong ? [] : writer.bytes
    keyAlone = isLong ? statement.travelling(keyCount) : []
  }

  private func decoded(_ count: Int) -> [Replication.Value] {
    var reader = ByteReader(encoded)
    do {
      return try (0..<count).map { _ throws(WireError) in try reader.value("StandingRow") }
    } catch {
      preconditionFailure("a row that was just written cannot be read: \(error)")
    }
  }

  /// The row of a key; nil if there is none, or if the table has a key of other columns by now.
  static func read(
    _ key: Key, _ statements: RowStatements, on connection: Connection
  ) throws(SQLiteError) -> StandingRow? {
    let count = statements.keyCount
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

extension Statement.Content {
  fileprivate var byteCount: Int {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    default: 0
    }
  }

  /// Writes it as it travels.
  fileprivate func write(to writer: inout ByteWriter) {
    switch self {
    case .null: writer.null()
    case .integer(let integer): writer.value(integer)
    case .real(let real): writer.value(real)
    case .text(let bytes): writer.value(bytes, isText: true)
    case .blob(let bytes): writer.value(bytes, isText: false)
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
