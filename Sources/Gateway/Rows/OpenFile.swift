import SQLite

/// A connection to the file of a replica, and the shapes of the tables that were asked for.
final class OpenFile {
  let connection: Connection
  /// By the bytes of their names: to Swift two spellings of a letter are one.
  private var shapes: [[UInt8]: TableShape] = [:]
  /// The schema that they are of.
  private var version: Value = .null

  init(_ connection: Connection) { self.connection = connection }

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
