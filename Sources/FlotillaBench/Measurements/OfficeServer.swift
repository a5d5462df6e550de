import Foundation
import Glibc
import Mirror
import SQLite

/// Rows between a site and a MariaDB server, both ways.
enum OfficeServer {
  static let measurement = Measurement(
    name: "mirror", summary: "rows out to a MariaDB server and in from it", body: measure)

  private static let schema = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, quantity INTEGER, price REAL, note TEXT)
    """
  private static let note = String(repeating: "from the shelf at the door, second row ", count: 2)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let place = try Workplace()
    let server = try PrivateServer(in: place)
    let own = try BenchReplica("a", in: place)
    let other = try BenchReplica("b", in: place)
    try Connection(path: own.path, mode: .create).execute(schema)
    try own.initialise()
    try place.flotilla([
      "mirror", own.path, "add", server.url, "--password-file", server.passwordFile, "--create",
      "--yes",
    ])
    let node = try own.run()
    // It takes a processor of its own to take rows, and what goes out is measured without.
    _ = try other.join(own)
    let office = try server.connect()
    try Clock.wait("the mirror", within: .seconds(60)) {
      try office.rows(of: 1, "SELECT count(*) FROM information_schema.triggers").first?[0].integer
        == 3
    }
    let rows = extent.isQuick ? 10_000 : 100_000
    let rounds = extent.isQuick ? 1 : 3
    report.figures += try out(rows, own, office, rounds: rounds)
    report.figures += try changed(rows, own, office, rounds: rounds)
    try other.run(peer: own.address)
    let reader = try other.connect()
    try Clock.wait("the other node", within: .seconds(300)) {
      try reader.scalar("SELECT sum(quantity = \(-rounds)) FROM item").integer == Int64(rows)
    }
    report.figures += try latency(extent.isQuick ? 20 : 100, other, office)
    report.figures += try arriving(extent.isQuick ? 2_000 : 20_000, own, office)
    report.figures += try capture(extent.isQuick ? 500 : 5_000, office)
    Clock.sleep(.seconds(8))
    let before = try questions(office)
    Clock.sleep(.seconds(10))
    let asked = Double(try questions(office) - before - 1) / 10
    report.figures += [
      Figure("idle, questions to the server", "1/s", asked).target(.median, atMost: 2),
      Figure("peak memory of the node", "MiB", ProcessFacts(pid: node.pid).peakMiB),
    ]
    try own.stop()
    try other.stop()
    try server.stop()
  }

  private static func questions(_ office: ServerConnection) throws -> Int64 {
    let row = try office.rows(
      of: 1,
      """
      SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status
      WHERE variable_name = 'QUESTIONS'
      """)
    return row.first?[0].integer ?? 0
  }

  private static func values(_ number: Int) -> [Value] {
    [
      .integer(Int64(number)), .string("item \(number)"), .integer(Int64(number % 1_000)),
      .real(Double(number) / 8), .string(note),
    ]
  }

  private static func count(_ office: ServerConnection, _ table: String) throws -> Int64 {
    try office.rows(of: 1, "SELECT count(*) FROM \(table)").first?[0].integer ?? 0
  }

  /// A transaction of a program, and as many rows by array binding in one transaction, in turn.
  private static func out(
    _ rows: Int, _ own: BenchReplica, _ office: ServerConnection, rounds: Int
  ) throws -> [Figure] {
    let site = try own.connect()
    // Else a long commit ends with a checkpoint, while others see its rows already.
    try site.execute("PRAGMA wal_autocheckpoint = 0")
    try office.execute("CREATE TABLE bare LIKE item")
    var (mirrored, bare) = ([Double](), [Double]())
    for round in 0..<rounds {
      let first = round * rows + 1
      var start = Clock.now
      try office.execute("START TRANSACTION")
      for part in stride(from: first, to: first + rows, by: 1_000) {
        try office.run(
          "INSERT INTO bare(id, name, quantity, price, note) VALUES (?, ?, ?, ?, ?)",
          each: (part..<(part + 1_000)).map(values))
      }
      try office.execute("COMMIT")
      bare.append(Double(rows) / (Clock.now - start).seconds)
      try site.transaction { () throws(SQLiteError) in
        for number in first..<(first + rows) {
          try site.run("INSERT INTO item VALUES (?, ?, ?, ?, ?)", values(number))
        }
      }
      start = Clock.now
      try waitForRows((round + 1) * rows, "TRUE", office)
      mirrored.append(Double(rows) / (Clock.now - start).seconds)
    }
    return [
      Figure("out, from the commit of \(rows) rows", "rows/s", mirrored),
      Figure("the same rows by array binding, bare", "rows/s", bare),
      Figure("ratio", "", zip(mirrored, bare).map { $0 / $1 }).target(.median, atLeast: 0.5),
    ]
  }

  /// The same of rows that both sides have, and that a program of the site changes: each gets what
  /// no other column of it has.
  private static func changed(
    _ rows: Int, _ own: BenchReplica, _ office: ServerConnection, rounds: Int
  ) throws -> [Figure] {
    let site = try own.connect()
    try site.execute("PRAGMA wal_autocheckpoint = 0")
    let settings = "SET name = ?, quantity = ?, price = ?, note = ? WHERE id = ?"
    var (mirrored, bare) = ([Double](), [Double]())
    for round in 0..<rounds {
      func change(_ number: Int) -> [Value] {
        [.string("item \(number)"), .integer(Int64(-round - 1)), .real(0.5), .string(note)]
          + [.integer(Int64(number))]
      }
      let first = round * rows + 1
      var start = Clock.now
      try office.execute("START TRANSACTION")
      for part in stride(from: first, to: first + rows, by: 1_000) {
        try office.run("UPDATE bare \(settings)", each: (part..<(part + 1_000)).map(change))
      }
      try office.execute("COMMIT")
      bare.append(Double(rows) / (Clock.now - start).seconds)
      try site.transaction { () throws(SQLiteError) in
        for number in first..<(first + rows) {
          try site.run("UPDATE item \(settings)", change(number))
        }
      }
      start = Clock.now
      try waitForRows(rows, "quantity = \(-round - 1)", office)
      mirrored.append(Double(rows) / (Clock.now - start).seconds)
    }
    return [
      Figure("out, from the commit of \(rows) updates", "rows/s", mirrored),
      Figure("the same updates by array binding, bare", "rows/s", bare),
      Figure("ratio", "", zip(mirrored, bare).map { $0 / $1 }),
    ]
  }

  /// Waits until so many rows are there. They are counted at most every 50 ms, and only after a
  /// transaction of the mirror: the server counts about as long as it writes them.
  private static func waitForRows(
    _ rows: Int, _ condition: String, _ office: ServerConnection
  ) throws {
    var (known, counted): (Int64?, Int64) = (nil, 0)
    try Clock.wait("\(rows) rows on the server", within: .seconds(300)) {
      let number = try office.rows(of: 1, "SELECT number FROM flotilla_state").first?[0].integer
      guard number != known, Clock.now - counted > 50_000_000 else { return false }
      known = number
      let isAll = try count(office, "item WHERE \(condition)") >= Int64(rows)
      counted = Clock.now
      return isAll
    }
  }

  /// From before the statement on the server until a program at another node sees the row.
  private static func latency(
    _ rows: Int, _ other: BenchReplica, _ office: ServerConnection
  ) throws -> [Figure] {
    let reader = try other.connect()
    var milliseconds: [Double] = []
    for number in 0..<rows {
      let id = 10_000_000 + number
      let start = Clock.now
      try office.run("INSERT INTO item(id, name) VALUES (?, 'in')", [.integer(Int64(id))])
      try Clock.wait("row \(id) at the other node", within: .seconds(60), every: .milliseconds(1)) {
        try reader.row("SELECT 1 FROM item WHERE id = ?", [.integer(Int64(id))]) != nil
      }
      milliseconds.append((Clock.now - start).milliseconds)
      Clock.sleep(.milliseconds(100))
    }
    return [
      Figure("in, until another node shows it", "ms", milliseconds).target(.median, atMost: 60)
    ]
  }

  private static func arriving(
    _ rows: Int, _ own: BenchReplica, _ office: ServerConnection
  ) throws -> [Figure] {
    let reader = try own.connect()
    // One program that waits for the disk at each commit makes fewer than are wanted.
    try office.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
    let start = Clock.now
    for number in 0..<rows {
      try office.run(
        "INSERT INTO item(id, name) VALUES (?, 'in')", [.integer(Int64(20_000_000 + number))])
    }
    try office.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    let written = Clock.now
    try Clock.wait("\(rows) rows of the server", within: .seconds(300)) {
      let count = try reader.scalar("SELECT count(*) FROM item WHERE id >= 20000000").integer
      return count == Int64(rows)
    }
    return [
      Figure(
        "one-row transactions on the server", "1/s", Double(rows) / (written - start).seconds),
      Figure("until all are here", "1/s", Double(rows) / (Clock.now - start).seconds)
        .target(.median, atLeast: 2_000),
    ]
  }

  /// What the triggers cost who writes: transactions of one row, in turn.
  private static func capture(_ rows: Int, _ office: ServerConnection) throws -> [Figure] {
    var (with, without) = ([Double](), [Double]())
    for round in 0..<4 {
      let table = round % 2 == 0 ? "bare" : "item"
      let start = Clock.now
      for number in 0..<rows {
        let id = 30_000_000 + round * rows + number
        try office.run(
          "INSERT INTO \(table)(id, name, quantity, price, note) VALUES (?, ?, ?, ?, ?)",
          values(id))
      }
      let each = (Clock.now - start).milliseconds * 1_000 / Double(rows)
      if round % 2 == 0 { without.append(each) } else { with.append(each) }
    }
    return [
      Figure("a row of a writer on the server, bare", "µs", without),
      Figure("the same, noted by the mirror", "µs", with),
      Figure("ratio", "", zip(with, without).map { $0 / $1 }).target(.median, atMost: 1.6),
    ]
  }
}
