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

  func add(to cells: inout Cells) {
    switch self {
    case .null: cells.addNull()
    case .integer(let integer): cells.add(integer)
    case .real(let real): cells.add(real)
    case .text(let bytes): cells.add(bytes, isText: true)
    case .blob(let bytes): cells.add(bytes, isText: false)
    }
  }
}

extension Connection {
  /// Runs one statement to its end with the values at these places, which SQLite reads where they
  /// lie; gives the number of rows changed.
  @discardableResult
  func run(
    _ sql: String, lending values: [Replication.Value],
    _ places: some RandomAccessCollection<Int>
  ) throws(SQLiteError) -> Int {
    // Each value that is lent takes some of the stack.
    if places.count > 64 { return try run(sql, places.map { values[$0].sqlite }) }
    return try with(sql) { (statement) throws(SQLiteError) in
      try statement.lending(values, places[...], at: 1) { () throws(SQLiteError) in
        while try statement.step() {}
        return changes
      }
    }
  }
}

extension Statement {
  /// Binds values from where they lie, the first of them to that parameter, while `body` runs.
  fileprivate func lending<Places: RandomAccessCollection<Int>>(
    _ values: [Replication.Value], _ places: Places, at first: Int,
    _ body: () throws(SQLiteError) -> Int
  ) throws(SQLiteError) -> Int where Places.SubSequence == Places {
    var (rest, index) = (places, first)
    while let place = rest.popFirst() {
      defer { index += 1 }
      switch values[place] {
      case .null: continue
      case .integer(let integer): try bind(integer, at: index)
      case .real(let real): try bind(.real(real), at: index)
      case .text(let bytes), .blob(let bytes):
        let isText = if case .text = values[place] { true } else { false }
        return try bytes.withUnsafeBufferPointer { (buffer) throws(SQLiteError) in
          try lend(UnsafeRawBufferPointer(buffer), isText: isText, at: index)
          return try lending(values, rest, at: index + 1, body)
        }
      }
    }
    // What is lent must be given back before its bytes may move.
    defer { reset() }
    return try body()
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
