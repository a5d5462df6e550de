import SQLite

/// What rows cost on the wire between two nodes: TLS and all that is said, both ways, from the
/// commit until the receiver has them. What TCP itself adds is not counted.
enum Wire {
  static let measurement = Measurement(
    name: "wire", summary: "bytes on the wire of rows, and of one changed column", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 2_000 : 100_000
    let place = try Workplace()
    let first = try BenchReplica("a", in: place)
    // The first node learns only the proxy's address of the second, where nobody listens.
    let second = try BenchReplica("b", in: place, host: "127.0.0.2")
    try Connection(path: first.path, mode: .create).execute(Items.schema)
    try first.initialise()
    try first.run()
    let proxy = try CountingProxy(to: first.address)
    defer { proxy.close() }
    _ = try second.join(first, at: proxy.address)
    try second.run(peer: proxy.address)
    let (writer, reader) = (try first.connect(), try second.connect())

    /// Bytes of what `body` writes, per row.
    func sent(_ body: (Connection) throws(SQLiteError) -> Void) throws -> Double {
      try wait(first, writer, second, reader)
      Clock.sleep(.seconds(1))
      let before = proxy.bytes
      try writer.transaction { () throws(SQLiteError) in try body(writer) }
      try wait(first, writer, second, reader)
      return Double(proxy.bytes - before) / Double(count)
    }
    func inserted(_ row: (Int) -> [Value]) throws -> (bytes: Double, own: Double) {
      let rows = (0..<count).map(row)
      let own = rows.reduce(0) { $0 + Items.size(of: $1) }
      let bytes = try sent { (connection) throws(SQLiteError) in
        for row in rows { try connection.run(Items.insert, row) }
      }
      return (bytes, Double(own) / Double(count))
    }
    let same = try inserted(FreshPair.row)
    let random = try inserted { Items.row($0, key: Items.randomKey(), noteOf: 80) }
    let changed = try sent { (connection) throws(SQLiteError) in
      try connection.run(
        "UPDATE item SET quantity = quantity + 1 WHERE rowid > \(count)")
    }
    report.figures = figures(same, random, changed)
    report.line(
      "an inserted row on the wire", "an insert", partner: "the row as SQLite stores it",
      beside: "the row itself", ratio: "an insert, against the row itself",
      bound: "its number and time, and the records of TLS")
    report.line(
      "one column changed in many rows, each on the wire", "a changed column",
      bound: "the key of 16 bytes, number and time, and what it descends from")
    try second.stop()
    try first.stop()
  }

  private static func figures(
    _ same: (bytes: Double, own: Double), _ random: (bytes: Double, own: Double),
    _ changed: Double
  ) -> [Figure] {
    [
      Figure("the row itself", "B/row", random.own),
      Figure("an insert", "B/row", random.bytes),
      Figure("an insert, against the row itself", "×", random.bytes / random.own)
        .target(.median, atMost: 1.05),
      Figure("an insert with the same note in all rows", "B/row", same.bytes),
      Figure("a changed column", "B/row", changed).target(.median, atMost: 40),
    ]
  }

  private static func wait(
    _ first: BenchReplica, _ writer: Connection, _ second: BenchReplica, _ reader: Connection
  ) throws {
    try first.settle()
    try Clock.wait("the rows", within: .seconds(300), every: .milliseconds(20)) {
      try first.frontier(writer) == second.frontier(reader)
    }
    // What is said after the last row belongs to it.
    Clock.sleep(.milliseconds(300))
  }
}
