import Foundation

/// Two PostgreSQL servers, of which one subscribes to the tables of the other one: logical
/// replication, with what is the default there.
///
/// A transaction takes along a row of `mark`, so that to wait for it costs the servers next to
/// nothing; the rows are counted once that has come.
final class PostgresPair {
  private let place: Workplace
  private let servers: (publisher: PostgresServer, subscriber: PostgresServer)
  private let publisher: PostgresClient
  private let subscriber: PostgresClient
  private var mark = 0

  private static let schema = """
    CREATE TABLE item(
      id bytea PRIMARY KEY, name text, quantity bigint, price double precision, note text);
    CREATE TABLE mark(n bigint PRIMARY KEY)
    """

  /// Nil if PostgreSQL is not installed.
  static func ifInstalled() throws -> PostgresPair? {
    PostgresServer.programs == nil ? nil : try PostgresPair()
  }

  private init() throws {
    place = try Workplace()
    servers = (
      try PostgresServer("publisher", in: place), try PostgresServer("subscriber", in: place)
    )
    (publisher, subscriber) = (try servers.publisher.connect(), try servers.subscriber.connect())
    for client in [publisher, subscriber] { try client.run(Self.schema) }
    try publisher.run("CREATE PUBLICATION bench FOR TABLE item, mark")
    try subscriber.run(
      """
      CREATE SUBSCRIPTION bench
      CONNECTION 'host=\(servers.publisher.folder) user=postgres dbname=postgres'
      PUBLICATION bench WITH (copy_data = false)
      """)
    try arrive { _ in }
  }

  /// Before the folder goes.
  deinit {
    servers.subscriber.stop()
    servers.publisher.stop()
  }

  /// Both are as new: without rows, and without work that is left from before.
  func clear() throws {
    try arrive { try $0.run("TRUNCATE item") }
    for client in [publisher, subscriber] { try client.run("CHECKPOINT") }
    Disk.settle()
  }

  /// So many rows in one transaction: seconds from its COMMIT until the subscriber counts them.
  func insert(_ rows: Int) throws -> Double {
    try arrive { client in
      for start in stride(from: 0, to: rows, by: 1_000) {
        let values = (start..<min(start + 1_000, rows)).map { number in
          let key = Items.randomKey().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
          return "('\\x\(key.joined())', 'item \(number)', \(number % 1_000), "
            + "\(Double(number % 977) / 8), '\(Items.noteText)')"
        }
        try client.run("INSERT INTO item VALUES \(values.joined(separator: ","))")
      }
    } until: {
      try $0.run("SELECT count(*) FROM item") == "\(rows)"
    }
  }

  /// One UPDATE of all rows: seconds from its COMMIT until the subscriber has all of them.
  func update(_ rows: Int) throws -> Double {
    for client in [publisher, subscriber] { try client.run("CHECKPOINT") }
    Disk.settle()
    return try arrive {
      try $0.run("UPDATE item SET price = 1000")
    } until: {
      try $0.run("SELECT count(*) FROM item WHERE price = 1000") == "\(rows)"
    }
  }

  /// One row in a transaction: ms from before the statement until the subscriber shows it.
  func latency() throws -> Double {
    mark += 1
    let start = Clock.now
    try publisher.run("INSERT INTO mark VALUES (\(mark))")
    try Clock.wait("row \(mark)", within: .seconds(60), every: .microseconds(50)) {
      try subscriber.run("SELECT max(n) FROM mark") == "\(mark)"
    }
    return (Clock.now - start).milliseconds
  }

  @discardableResult
  private func arrive(
    _ body: (PostgresClient) throws -> Void,
    until isThere: (PostgresClient) throws -> Bool = { _ in true }
  ) throws -> Double {
    mark += 1
    try publisher.run("BEGIN")
    try body(publisher)
    try publisher.run("INSERT INTO mark VALUES (\(mark))")
    let start = Clock.now
    try publisher.run("COMMIT")
    try Clock.wait("the subscriber", within: .seconds(300)) {
      try subscriber.run("SELECT max(n) FROM mark") == "\(mark)" && isThere(subscriber)
    }
    return (Clock.now - start).seconds
  }
}
