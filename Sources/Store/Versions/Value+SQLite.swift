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

extension Connection {
  /// Runs one statement to its end with the values at these places, which SQLite reads where they
  /// lie; gives the number of rows changed.
  func run(
    _ sql: String, lending values: [Replication.Value], _ places: [Int]
  ) throws(SQLiteError) -> Int {
    // Each value that is lent takes some of the stack.
    if places.count > 64 { return try run(sql, places.map { values[$0] }) }
    return try with(sql) { (statement) throws(SQLiteError) in
      try statement.lending(values, places, from: 0) { () throws(SQLiteError) in
        while try statement.step() {}
        return changes
      }
    }
  }
}

extension Statement {
  /// Binds values from where they lie, the first of them to the first parameter, while `body` runs.
  fileprivate func lending(
    _ values: [Replication.Value], _ places: [Int], from first: Int,
    _ body: () throws(SQLiteError) -> Int
  ) throws(SQLiteError) -> Int {
    for index in first..<places.count {
      switch values[places[index]] {
      case .null: continue
      case .integer(let integer): try bind(integer, at: index + 1)
      case .real(let real): try bind(.real(real), at: index + 1)
      case .text(let bytes):
        return try lending(bytes, isText: true, index, values, places, body)
      case .blob(let bytes):
        return try lending(bytes, isText: false, index, values, places, body)
      }
    }
    // What is lent must be given back before its bytes may move.
    defer { reset() }
    return try body()
  }

  private func lending(
    _ bytes: [UInt8], isText: Bool, _ index: Int, _ values: [Replication.Value], _ places: [Int],
    _ body: () throws(SQLiteError) -> Int
  ) throws(SQLiteError) -> Int {
    try bytes.withUnsafeBufferPointer { (buffer) throws(SQLiteError) in
      try lend(UnsafeRawBufferPointer(buffer), isText: isText, at: index + 1)
      return try lending(values, places, from: index + 1, body)
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
