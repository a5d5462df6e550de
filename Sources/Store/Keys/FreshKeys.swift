import Replication
import SQLite

/// Numbers that no row of a table has, or has had.
struct FreshKeys {
  private let store: Store
  /// The last that was given in each table.
  private var given: [Int64: Int64] = [:]

  init(_ store: Store) { self.store = store }

  /// The next one for the row that an edit made; nil if none is found.
  ///
  /// A row that has moved before leaves room, four times as much with each move: else a program
  /// that goes on inserting elsewhere gives the same number again before it hears of it.
  mutating func next(of table: ReplicaTable, for created: Dot, moves: Int) throws -> Key? {
    guard let schema = table.schema, let column = schema.key.first else { return nil }
    let numbers = Numbers(store.connection)
    var last = try numbers.highest(of: table)
    let name = quoted(schema.columns[column].name)
    let standing = try store.connection.scalar(
      """
      SELECT max(\(name)) FROM main.\(quoted(schema.name))
      WHERE \(name) < ?\(schema.hasIntegerKey ? "" : " AND typeof(\(name)) = 'integer'")
      """, [.integer(NumberBlocks.limit)]
    ).integer
    last = max(last, standing ?? 0)
    last = max(last, given[table.id] ?? 0)
    if schema.isAutoincrement {
      let sequence = try Sequence(schema.name, on: store.connection).last ?? 0
      if sequence < NumberBlocks.limit { last = max(last, sequence) }
      if let blocks = try numbers.blocks { last = blocks.start(after: last) ?? last }
    }
    let next = last + Self.step(moves)
    guard next < NumberBlocks.limit else { return try drawn(of: table, for: created) }
    given[table.id] = next
    return table.key([.integer(next)])
  }

  /// Somebody has used the last number that all programs can read: one is drawn, as SQLite does
  /// where "the largest ROWID is equal to the largest possible integer" (sqlite.org/autoinc.html).
  private func drawn(of table: ReplicaTable, for created: Dot) throws -> Key? {
    var seed = created.origin.rawValue ^ mix(created.seq)
    for _ in 0..<100 {
      seed = mix(seed)
      let number = 1 + Int64(seed >> 12)
      guard let key = table.key([.integer(number)]),
        try store.versions.version(table: table.id, key: key) == nil,
        let statements = table.statements,
        try store.connection.row(statements.selectByKey, [.integer(number)]) == nil
      else { continue }
      return key
    }
    return nil
  }

  private static func step(_ moves: Int) -> Int64 { 1 << (2 * Int64(min(max(moves, 0), 8))) }
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
