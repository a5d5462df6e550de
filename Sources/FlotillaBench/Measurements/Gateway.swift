import Foundation
import Glibc
import SQLite

/// Rows over HTTP: read one by one beside Datasette, and added in bulk beside `sqlite3`.
enum Gateway {
  static let measurement = Measurement(
    name: "gateway", summary: "rows over HTTP, beside Datasette and sqlite3", body: measure)

  private static let rows = 20_000
  private static let schema = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, quantity INTEGER, price REAL, note TEXT)
    """
  private static let note = String(repeating: "from the shelf at the door, second row ", count: 2)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let served = try ServedReplica(schema: schema, followed: false)
    let connection = try served.replica.connect()
    try connection.execute("INSERT INTO item \(select(from: 1, count: rows))")
    try served.replica.settle()
    let rounds = extent.isQuick ? 1 : 5
    var (own, theirs, latencies) = ([Double](), [Double](), [Double]())
    let partner = try Datasette(of: served)
    for _ in 0..<rounds {
      if let partner {
        let client = try HTTPClient(partner.address)
        theirs.append(
          try readings(client, 300) { "/\(served.name)/item/\($0).json" }.rate)
      }
      let client = try HTTPClient(served.address, token: served.token)
      let mine = try readings(client, extent.isQuick ? 500 : 5_000) {
        "/v1/\(served.name)/rows/item/\($0)"
      }
      own.append(mine.rate)
      latencies += mine.milliseconds
    }
    partner?.stop()
    report.figures = [
      Figure("one row by key, requests a second", "1/s", own),
      Figure("the same, each", "ms", latencies).target(.median, atMost: 1),
    ]
    if partner != nil {
      report.figures += [
        Figure("Datasette, the same file", "1/s", theirs),
        Figure("ratio", "", zip(own, theirs).map { $0 / $1 }).target(.median, atLeast: 8),
      ]
    } else {
      report.notes.append("Datasette is not in PATH (pip install datasette): read by nobody else")
    }
    report.figures += try added(served, rounds: rounds)
    try served.replica.stop()
  }

  /// SQL that makes rows from nothing.
  private static func select(from first: Int, count: Int) -> String {
    """
    WITH RECURSIVE n(i) AS (VALUES(\(first)) UNION ALL SELECT i + 1 FROM n WHERE i < \
    \(first + count - 1)) SELECT i, 'item ' || i, i % 1000, i / 8.0, '\(note)' FROM n
    """
  }

  /// Asks for rows at random, one after the other.
  private static func readings(
    _ client: HTTPClient, _ count: Int, _ target: (Int) -> String
  ) throws -> (rate: Double, milliseconds: [Double]) {
    var milliseconds: [Double] = []
    let start = Clock.now
    for _ in 0..<count {
      let before = Clock.now
      _ = try client.ask("GET", target(.random(in: 1...rows)))
      milliseconds.append((Clock.now - before).milliseconds)
    }
    return (Double(count) / (Clock.now - start).seconds, milliseconds)
  }

  /// Arrays of 1,000 rows, and transactions of as many INSERTs of `sqlite3`, in turn.
  private static func added(_ served: ServedReplica, rounds: Int) throws -> [Figure] {
    let (size, count) = (1_000, rounds == 1 ? 2 : 10)
    let shell = try program("sqlite3")
    let client = try HTTPClient(served.address, token: served.token)
    var (own, theirs, next) = ([Double](), [Double](), rows + 1)
    for _ in 0..<rounds {
      var statements = ["PRAGMA busy_timeout=5000;"]
      for _ in 0..<count {
        statements.append("BEGIN IMMEDIATE;")
        for number in next..<(next + size) {
          statements.append(
            "INSERT INTO item VALUES(\(number),'item \(number)',\(number % 1_000),"
              + "\(Double(number) / 8),'\(note)');")
        }
        statements.append("COMMIT;")
        next += size
      }
      let file = "\(served.place.folder)/rows.sql"
      try statements.joined(separator: "\n").write(
        toFile: file, atomically: false, encoding: .utf8)
      var start = Clock.now
      try Child([shell, "-batch", served.replica.path, ".read '\(file)'"], in: served.place.folder)
        .wait(within: .seconds(120))
      theirs.append(Double(size * count) / (Clock.now - start).seconds)
      try served.replica.settle()
      let bodies = (0..<count).map { body(from: next + $0 * size, count: size) }
      next += count * size
      start = Clock.now
      for body in bodies {
        _ = try client.ask("POST", "/v1/\(served.name)/rows/item", body: body)
      }
      own.append(Double(size * count) / (Clock.now - start).seconds)
      try served.replica.settle()
    }
    return [
      Figure("arrays of 1,000 rows, added", "rows/s", own),
      Figure("sqlite3, transactions of 1,000 INSERTs", "rows/s", theirs),
      Figure("ratio", "", zip(own, theirs).map { $0 / $1 }).target(.median, atLeast: 0.6),
    ]
  }

  private static func body(from first: Int, count: Int) -> [UInt8] {
    let objects = (first..<(first + count)).map { number in
      "{\"id\":\(number),\"name\":\"item \(number)\",\"quantity\":\(number % 1_000),"
        + "\"price\":\(Double(number) / 8),\"note\":\"\(note)\"}"
    }
    return Array("[\(objects.joined(separator: ","))]".utf8)
  }
}

/// Datasette, which shows a file of SQLite over HTTP.
private final class Datasette {
  let address: String
  private let child: Child

  /// Nil if it is not installed.
  init?(of served: ServedReplica) throws {
    guard let path = try? program("datasette") else { return nil }
    let port = try freePort(on: "127.0.0.1")
    let address = "127.0.0.1:\(port)"
    let child = try Child(
      [path, "serve", served.replica.path, "--host", "127.0.0.1", "--port", "\(port)"],
      in: served.place.folder)
    try Clock.wait("Datasette", within: .seconds(60)) {
      if let ended = child.poll() { throw BenchError("Datasette ended: \(ended.error)") }
      return isReachable(address)
    }
    (self.address, self.child) = (address, child)
  }

  func stop() { child.send(SIGTERM) }
}
