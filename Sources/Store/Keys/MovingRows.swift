import Replication
import SQLite

/// Rows that lost their key, whole, until they are made again under a fresh one, or it is known
/// that somebody else has done so.
final class MovingRows {
  struct Item {
    var table: Int64
    var key: Key
    var version: Version
    var entry: Shelf.Entry
  }

  private let connection: Connection
  private let versions: VersionTable
  private(set) var count = 0
  /// Whether one has come since rows were made again last.
  var hasNew = false

  init(_ connection: Connection, versions: VersionTable) throws(SQLiteError) {
    (self.connection, self.versions) = (connection, versions)
    try reload()
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_moving", on: connection) else { return count = 0 }
    count = Int(try connection.scalar("SELECT count(*) FROM _flotilla_moving").integer ?? 0)
  }

  /// Keeps a row; of one row the latest of each author.
  func put(_ item: Item) throws(SQLiteError) {
    hasNew = true
    try remove(table: item.table, item.key, item.version.dot.origin)
    count += try connection.run(
      Self.insert,
      [.integer(item.table), .blob(item.key.bytes)] + (try versions.values(item.version))
        + [.blob(Shelf.encode(item.entry))])
  }

  private static let insert: String = {
    let marks = Array(repeating: "?", count: VersionTable.columnCount + 3).joined(separator: ", ")
    return """
      INSERT INTO _flotilla_moving(tbl, key, \(VersionTable.columns), row) VALUES (\(marks))
      """
  }()

  func remove(_ item: Item) throws(SQLiteError) {
    try remove(table: item.table, item.key, item.version.dot.origin)
  }

  private func remove(table: Int64, _ key: Key, _ origin: Origin) throws(SQLiteError) {
    guard count > 0, let number = versions.origins.knownNumber(of: origin) else { return }
    count -= try connection.run(
      "DELETE FROM _flotilla_moving WHERE tbl = ? AND key = ? AND origin = ?",
      [.integer(table), .blob(key.bytes), .integer(number)])
  }

  func forget(table: Int64) throws(SQLiteError) {
    guard count > 0 else { return }
    count -= try connection.run(
      "DELETE FROM _flotilla_moving WHERE tbl = ?", [.integer(table)])
  }

  /// All of them, in the order of table and key.
  func all() throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try connection.with(
      "SELECT \(VersionTable.columns), tbl, key, row FROM _flotilla_moving ORDER BY tbl, key", []
    ) { (statement) throws(SQLiteError) in
      var items: [Item] = []
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0),
          let entry = Shelf.decode(statement.bytes(VersionTable.columnCount + 2), .constraint)
        else { continue }
        items.append(
          Item(
            table: statement.integer(VersionTable.columnCount),
            key: Key(bytes: statement.bytes(VersionTable.columnCount + 1)), version: version,
            entry: entry))
      }
      return items
    }
  }
}
