import Replication
import SQLite

/// A row as it stands in its table: what counts of it, and its values unless they are long.
///
/// Of a long row, which no push could carry, only the sum of its content is taken, where SQLite
/// holds it: a fold needs no second copy of it.
struct StandingRow {
  let key: [Replication.Value]
  /// Every column; nil for a long row.
  let values: [Replication.Value]?
  let content: ContentHash

  /// The row on which a statement stands that gives every column of the shape.
  init(_ statement: Statement, _ statements: RowStatements) {
    let count = statements.shape.columns.count
    key = statement.travelling(statements.shape.keyCount)
    if statement.size(count) < Limits.wholeBytes / 2 {
      let all = statement.travelling(count)
      values = all
      content = statements.sum(all)
      return
    }
    values = nil
    var sum = ContentHash()
    for column in 0..<count {
      let preset = statements.defaults[column]
      let length = statement.byteCount(column)
      guard let isText = statement.isText(column), preset?.byteCount != length else {
        let value = Replication.Value(statement.value(column))
        if value != preset { sum.add(column: statements.columnHashes[column], value) }
        continue
      }
      statement.withBytes(column) {
        sum.add(column: statements.columnHashes[column], $0, isText: isText)
      }
    }
    content = sum
  }

  /// The row of a key; nil if there is none, or if the table has a key of other columns by now.
  static func read(
    _ key: [SQLite.Value], _ statements: RowStatements, on connection: Connection
  ) throws(SQLiteError) -> StandingRow? {
    guard key.count == statements.shape.keyCount else { return nil }
    return try connection.with(statements.selectByKey, key) { (statement) throws(SQLiteError) in
      try statement.step() ? StandingRow(statement, statements) : nil
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
  /// The length of a text or blob, else nil.
  fileprivate var byteCount: Int? {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    default: nil
    }
  }
}
