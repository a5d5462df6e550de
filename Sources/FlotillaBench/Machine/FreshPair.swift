import SQLite

/// A pair of replicas that is new, with an application at the first and a reader at the second, and
/// a file without Flotilla: WAL and synchronous = NORMAL in all of them.
final class FreshPair {
  let pair: Pair
  let application: Connection
  let reader: Connection
  let bare: Connection

  /// `filled`: rows of `Items` that all of them have.
  init(schema: String = Items.schema, filled rows: Int = 0) throws {
    pair = try Pair(schema: schema)
    (application, reader) = (try pair.first.connect(), try pair.second.connect())
    bare = try Connection(path: "\(pair.place.folder)/bare.db", mode: .create)
    try bare.execute("PRAGMA journal_mode = WAL")
    try bare.execute(schema)
    for connection in [application, bare] {
      try connection.execute("PRAGMA synchronous = NORMAL")
      for start in stride(from: 0, to: rows, by: 10_000) {
        try Self.insert(connection, (start..<min(rows, start + 10_000)).map(Self.row))
      }
    }
    try waitUntilEqual()
  }

  static func row(_ number: Int) -> [Value] { Items.row(number, key: Items.randomKey()) }

  static func insert(_ connection: Connection, _ rows: [[Value]]) throws {
    try connection.transaction { () throws(SQLiteError) in
      for row in rows { try connection.run(Items.insert, row) }
    }
  }

  /// All that was written has a version, and both nodes have it; and it is on the disk.
  func waitUntilEqual() throws {
    try pair.first.settle()
    try pair.waitUntilEqual(within: .seconds(600))
    Disk.settle()
  }

  func facts() throws -> [ProcessFacts] {
    try [pair.first, pair.second].map { replica in
      guard let node = replica.node else { throw BenchError("the node does not run") }
      return ProcessFacts(pid: node.pid)
    }
  }
}
