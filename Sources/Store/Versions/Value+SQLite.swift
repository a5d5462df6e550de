import Replication
import SQLite

/// A value as it travels and a value as SQLite holds it are the same five classes.
extension Replication.Value {
  package init(_ value: SQLite.Value) {
    self =
      switch value {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let bytes): .text(bytes)
      case .blob(let bytes): .blob(bytes)
      }
  }

  package var sqlite: SQLite.Value {
    switch self {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .real(let real): .real(real)
    case .text(let bytes): .text(bytes)
    case .blob(let bytes): .blob(bytes)
    }
  }
}

extension Connection {
  /// Runs one statement to its end with values as they travel; gives the number of rows changed.
  func run(
    _ sql: String, _ values: some RandomAccessCollection<Replication.Value>
  ) throws(SQLiteError) -> Int {
    // SQLite copies what is bound, and a long value is not copied without need.
    if values.contains(where: \.isLong) { return try run(sql, values.map(\.sqlite)) }
    return try with(sql) { (statement) throws(SQLiteError) in
      for (index, value) in values.enumerated() {
        if case .integer(let integer) = value {
          try statement.bind(integer, at: index + 1)
        } else {
          try statement.bind(value.sqlite, at: index + 1)
        }
      }
      while try statement.step() {}
      return changes
    }
  }
}

extension Replication.Value {
  fileprivate var isLong: Bool {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count >= SQLite.Value.longCount
    default: false
    }
  }
}

extension Statement {
  /// About how many bytes the first `count` columns take as they travel.
  func size(_ count: Int) -> Int { (0..<count).reduce(0) { $0 + byteCount($1) + 9 } }

  /// The values of the first `count` columns as they travel.
  func travelling(_ count: Int) -> [Replication.Value] {
    (0..<count).map { Replication.Value(value($0)) }
  }
}
