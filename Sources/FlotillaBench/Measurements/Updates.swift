import Replication
import SQLite

/// Catch-ups beside a first copy of the same rows: of updates that were made in the order of the
/// keys, of such that were made in any order, and of new rows that refer to others.
///
/// Only ratios count, so all is measured on one pair of nodes, one after the other.
enum Updates {
  static let measurement = Measurement(
    name: "updates", summary: "catch-ups of updates, and of rows that refer to others",
    body: measure)

  private static let schema = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, quantity INTEGER, price REAL, note TEXT);
    CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE loose(id INTEGER PRIMARY KEY, name TEXT, shelf INTEGER, note TEXT);
    CREATE TABLE child(
      id INTEGER PRIMARY KEY, name TEXT, shelf INTEGER REFERENCES shelf(id), note TEXT);
    CREATE INDEX loose_shelf ON loose(shelf);
    CREATE INDEX child_shelf ON child(shelf)
    """
  /// Edits in one transaction.
  private static let size = 1_000

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let sizes =
      switch extent {
      case .quick: [2_000]
      case .usual: [100_000]
      case .long: [100_000, 300_000]
      }
    for rows in sizes { try measure(rows, &report) }
  }

  private static func measure(_ rows: Int, _ report: inout Report) throws {
    let place = try Workplace()
    let first = try BenchReplica("a", in: place)
    let second = try BenchReplica("b", in: place)
    let connection = try Connection(path: first.path, mode: .create)
    try connection.execute(schema)
    try write("INSERT INTO item VALUES (?1, ?2, ?3, ?4, ?5)", 0..<rows, on: connection) {
      [.integer(Int64($0))] + Items.row($0, key: []).dropFirst()
    }
    try first.initialise()
    let node = try first.run()
    try first.settle()
    let start = Clock.now
    let joined = try second.join(first)
    let copy = Double(rows) / (Clock.now - start).seconds
    report.figures += [
      Figure("\(rows) rows: first copy", "rows/s", copy),
      Figure("\(rows) rows: peak memory of the newcomer", "MiB", joined.peakMiB),
    ]
    try second.run(peer: first.address)
    try waitUntilEqual(first, second)

    let orders: [(name: String, keys: [Int])] = [
      ("in key order", Array(0..<rows)), ("in any order", (0..<rows).shuffled()),
    ]
    for (number, order) in orders.enumerated() {
      let speed = try catchUp(first, second, rows, "updates \(order.name)", &report) {
        try write(
          "UPDATE item SET quantity = quantity + 1, note = note || ?2 WHERE id = ?1", order.keys,
          on: connection
        ) { [.integer(Int64($0)), .string(" \(number)")] }
      }
      report.figures.append(
        Figure("\(rows) updates \(order.name), against the first copy", "×", speed / copy)
          .target(.median, atLeast: 0.5))
    }
    let shelves = max(1, rows / 10)
    try write("INSERT INTO shelf VALUES (?, 'shelf')", 0..<shelves, on: connection) {
      [.integer(Int64($0))]
    }
    var speeds: [Double] = []
    for table in ["loose", "child"] {
      let speed = try catchUp(first, second, rows, "new rows of \(table)", &report) {
        try write("INSERT INTO \(table) VALUES (?1, ?2, ?3, ?4)", 0..<rows, on: connection) {
          [
            .integer(Int64($0)), .string("row \($0)"), .integer(Int64($0 % shelves)),
            .string(String(repeating: "on the shelf ", count: 6)),
          ]
        }
      }
      speeds.append(speed)
    }
    report.figures += [
      Figure("\(rows) rows with a reference, against such without", "×", speeds[1] / speeds[0])
        .target(.median, atLeast: 1 / 1.3),
      Figure("\(rows) rows: peak memory of the peer", "MiB", ProcessFacts(pid: node.pid).peakMiB),
    ]
    try first.stop()
  }

  /// Writes at the first replica while the second is away; gives the rows a second when it is back.
  private static func catchUp(
    _ first: BenchReplica, _ second: BenchReplica, _ rows: Int, _ what: String,
    _ report: inout Report, _ body: () throws -> Void
  ) throws -> Double {
    if second.node != nil { try second.stop() }
    try body()
    try first.settle()
    let start = Clock.now
    let node = try second.run(peer: first.address)
    try waitUntilEqual(first, second)
    let speed = Double(rows) / (Clock.now - start).seconds
    report.figures += [
      Figure("\(rows) \(what)", "rows/s", speed),
      Figure("\(rows) \(what): peak memory", "MiB", ProcessFacts(pid: node.pid).peakMiB)
        .target(.maximum, atMost: 64),
    ]
    try second.stop()
    return speed
  }

  private static func write(
    _ statement: String, _ numbers: some Sequence<Int>, on connection: Connection,
    _ values: (Int) -> [SQLite.Value]
  ) throws {
    connection.setBusyTimeout(milliseconds: 5_000)
    let all = Array(numbers)
    for start in stride(from: 0, to: all.count, by: size) {
      try connection.transaction { () throws(SQLiteError) in
        for number in all[start..<min(start + size, all.count)] {
          try connection.run(statement, values(number))
        }
      }
    }
  }

  private static func waitUntilEqual(_ first: BenchReplica, _ second: BenchReplica) throws {
    let (one, two) = (try first.connect(), try second.connect())
    try Clock.wait("equality", within: .seconds(900), every: .milliseconds(20)) {
      try first.frontier(one) == second.frontier(two)
    }
  }
}
