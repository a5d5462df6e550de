import SQLite

/// One transaction: in a file without Flotilla, directly after that at a node, and from its COMMIT
/// on until a reader at the other node sees all of it.
struct Transfer {
  /// Seconds of the whole transaction, without and with Flotilla.
  let bare, captured: Double
  /// Seconds from before the COMMIT until the first row is there, and all are.
  let first, all: Double
  /// What the nodes used for it, the author's and the receiver's.
  let cpuSeconds, writtenBytes: [Double]

  /// New rows behind those that are there.
  static func inserts(_ files: FreshPair, _ rows: [[Value]]) throws -> Transfer {
    let reader = files.reader
    func last() throws -> Int64 {
      // To count the rows again and again would take a core from the nodes.
      try reader.scalar("SELECT max(rowid) FROM item").integer ?? 0
    }
    let (before, count) = (try last(), Int64(rows.count))
    let known = try reader.scalar("SELECT count(*) FROM item").integer ?? 0
    return try Transfer(files) { connection in
      for row in rows { try connection.run(Items.insert, row) }
    } begun: {
      try last() > before
    } arrived: {
      try last() >= before + count
        && reader.scalar("SELECT count(*) FROM item").integer == known + count
    }
  }

  /// One UPDATE of the last rows; a price that nothing had before tells which of them have come.
  static func update(_ files: FreshPair, last count: Int, price: Int) throws -> Transfer {
    let reader = files.reader
    let end = try reader.scalar("SELECT max(rowid) FROM item").integer ?? 0
    let (rows, mark) = ("rowid > \(end - Int64(count))", "price = \(price)")
    let change = """
      UPDATE item SET price = \(price)
      WHERE rowid > (SELECT max(rowid) FROM item) - \(count)
      """
    // To look at all rows again and again would take a core from the nodes: a few are looked at,
    // and among them the first and the last key.
    let ends = try reader.row("SELECT min(id), max(id) FROM item WHERE \(rows)") ?? []
    let keys =
      try ends
      + reader.rows("SELECT id FROM item WHERE \(rows) ORDER BY random() LIMIT 98").map {
        $0[0]
      }
    let places = Array(repeating: "?", count: keys.count).joined(separator: ",")
    let have = "SELECT count(*) FROM item WHERE \(mark) AND id IN (\(places))"
    return try Transfer(files) { connection in
      try connection.run(change)
    } begun: {
      try reader.scalar(have, keys).integer ?? 0 > 0
    } arrived: {
      // Of many that are missing the second look finds one at once.
      try reader.row("SELECT 1 FROM item WHERE id = ? AND NOT \(mark)", [ends[1]]) == nil
        && reader.row("SELECT 1 FROM item WHERE \(rows) AND NOT \(mark) LIMIT 1") == nil
    }
  }

  private init(
    _ files: FreshPair, _ body: (Connection) throws -> Void, begun: () throws -> Bool,
    arrived: () throws -> Bool
  ) throws {
    let facts = try files.facts()
    func whole(_ connection: Connection) throws -> (seconds: Double, commit: Int64) {
      Disk.settle()
      let start = Clock.now
      try connection.execute("BEGIN IMMEDIATE")
      try body(connection)
      let commit = Clock.now
      try connection.execute("COMMIT")
      return ((Clock.now - start).seconds, commit)
    }
    bare = try whole(files.bare).seconds
    // What the nodes do beside the other file is not counted.
    let before = facts.map { ($0.cpuSeconds, $0.writtenBytes) }
    let (seconds, commit) = try whole(files.application)
    captured = seconds
    try Clock.wait("the first row", within: .seconds(300), every: .milliseconds(5), begun)
    first = (Clock.now - commit).seconds
    try Clock.wait("all rows", within: .seconds(600), every: .milliseconds(5), arrived)
    all = (Clock.now - commit).seconds
    // What is there for a reader may wait for its own last commit still.
    try files.waitUntilEqual()
    cpuSeconds = zip(facts, before).map { $0.cpuSeconds - $1.0 }
    writtenBytes = zip(facts, before).map { $0.writtenBytes - $1.1 }
  }
}
