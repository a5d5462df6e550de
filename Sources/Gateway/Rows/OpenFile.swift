import SQLite

/// A connection to the file of a replica, and the shapes of the tables that were asked for.
final class OpenFile {
  let connection: Connection
  /// By the bytes of their names: to Swift two spellings of a letter are one.
  private var shapes: [[UInt8]: TableShape] = [:]
  /// The schema that they are of.
  private var version: Value = .null

  /// Since when it has the write lock.
  private(set) var lockedSince: ContinuousClock.Instant?

  init(_ connection: Connection) { self.connection = connection }

  /// Begins a transaction that writes.
  func beginWriting() throws(Problem) {
    try reporting { () throws(SQLiteError) in _ = try connection.run("BEGIN IMMEDIATE") }
    lockedSince = .now
  }

  /// Begins to read, and goes on so for as long: all is of one moment.
  func beginReading() throws(Problem) {
    try reporting { () throws(SQLiteError) in _ = try connection.run("BEGIN") }
  }

  /// Throws `.renamed` if tables may have other names than in that schema.
  func require(schema: Int64) throws(Problem) {
    let now = try reporting { () throws(SQLiteError) in
      try connection.schemaVersion()
    }
    if now != schema { throw .renamed }
  }

  /// Ends what was not committed; for how long the write lock was held.
  func end(at now: ContinuousClock.Instant) -> Duration {
    connection.rollBack()
    defer { lockedSince = nil }
    return lockedSince.map { now - $0 } ?? .zero
  }

  /// A replicated table; it may have come, gone or changed since the last request.
  func shape(of table: String) throws(Problem) -> TableShape {
    let found = try reporting { () throws(SQLiteError) -> TableShape? in
      let now = try connection.scalar("PRAGMA main.schema_version")
      if now != version { (shapes, version) = ([:], now) }
      let name = Array(table.utf8)
      if let known = shapes[name] { return known }
      let shape = try TableShape.read(table, on: connection)
      if let shape { shapes[name] = shape }
      return shape
    }
    guard let found else {
      throw Problem(404, "table", "there is no replicated table \(table)")
    }
    return found
  }
}
