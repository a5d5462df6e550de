import Replication
import SQLite

/// Numbers that no row of a table has, or has had.
struct FreshKeys {
  /// Keys of whole numbers come before all others (`Key`).
  private static let beyondNumbers: [UInt8] = [0x1D]

  private let store: Store
  /// The last that was given in each table.
  private var given: [Int64: Int64] = [:]

  init(_ store: Store) { self.store = store }

  /// The next one; nil if there is none.
  ///
  /// A row that has moved before leaves room, four times as much with each move: else a program
  /// that goes on inserting elsewhere gives the same number again before it hears of it.
  mutating func next(of table: ReplicaTable, moves: Int) throws -> Key? {
    guard let schema = table.schema, let column = schema.key.first else { return nil }
    var last =
      try store.connection.scalar(
        "SELECT max(key) FROM _flotilla_version WHERE tbl = ? AND key < ?",
        [.integer(table.id), .blob(Self.beyondNumbers)]
      ).blob.flatMap { Self.number(Key(bytes: $0)) } ?? 0
    let name = quoted(schema.columns[column].name)
    let present = schema.hasIntegerKey ? "" : " WHERE typeof(\(name)) = 'integer'"
    let standing = try store.connection.scalar(
      "SELECT max(\(name)) FROM main.\(quoted(schema.name))\(present)"
    ).integer
    last = max(last, standing ?? 0)
    last = max(last, given[table.id] ?? 0)
    if schema.isAutoincrement {
      last = max(last, try Sequence(schema.name, on: store.connection).last ?? 0)
      if let blocks = try Numbers(store.connection).blocks {
        last = blocks.start(after: last) ?? last
      }
    }
    let (next, isBeyond) = last.addingReportingOverflow(Self.step(moves))
    guard !isBeyond else { return nil }
    given[table.id] = next
    return table.key([.integer(next)])
  }

  private static func step(_ moves: Int) -> Int64 { 1 << (2 * Int64(min(max(moves, 0), 8))) }

  private static func number(_ key: Key) -> Int64? {
    guard case .integer(let number)? = key.values?.first else { return nil }
    return number
  }
}

/// The last number that AUTOINCREMENT has given in a table, as SQLite keeps it.
struct Sequence {
  let name: String
  let connection: Connection

  init(_ name: String, on connection: Connection) {
    (self.name, self.connection) = (name, connection)
  }

  /// Nil if none was given yet: the row comes with the first INSERT.
  var last: Int64? {
    get throws(SQLiteError) {
      try connection.scalar(
        "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?", [.string(name)]
      ).integer
    }
  }
}

extension TableSchema {
  /// Whether numbers of rows that are gone are not given again.
  package var isAutoincrement: Bool {
    hasIntegerKey && SQLText(sql).tokens.contains { $0.isWord("AUTOINCREMENT") }
  }
}
