import Replication
import SQLite

/// Rows that lost their key, whole, until they are made again under a fresh one, or it is known
/// that somebody else has done so.
final class MovingRows {
  struct Item {
    var table: Int64
    var key: Key
    var version: Version
  }

  private let connection: Connection
  private let versions: VersionTable
  /// So many rows, and bytes of them, are kept at most for members that may leave for good.
  private static let room = (rows: 2_000, bytes: 64 << 20)

  private(set) var count = 0
  private var bytes = 0
  /// Whether one has come since rows were made again last.
  var hasNew = false

  init(_ connection: Connection, versions: VersionTable) throws(SQLiteError) {
    (self.connection, self.versions) = (connection, versions)
    try reload()
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_moving", on: connection) else {
      return (count, bytes) = (0, 0)
    }
    let sums = try connection.row(
      "SELECT count(*), sum(length(row)) FROM _flotilla_moving")
    (count, bytes) = (Int(sums?[0].integer ?? 0), Int(sums?[1].integer ?? 0))
  }

  /// Whether one more may be kept for somebody else: whoever may write a table can lose as many
  /// rows as it likes to those that were made here.
  func hasRoom(for row: Shelf.Entry) -> Bool {
    count < Self.room.rows && bytes + Shelf.encode(row).count <= Self.room.bytes
  }

  /// Keeps a row; of one row the latest of each author.
  func put(_ item: Item, _ entry: Shelf.Entry) throws(SQLiteError) {
    hasNew = true
    try remove(table: item.table, item.key, item.version.dot.origin)
    let row = Shelf.encode(entry)
    count += try versions.insert(
      Self.insert, item.version, table: item.table, key: item.key, .blob(row))
    bytes += row.count
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
    let gone = try connection.rows(
      """
      DELETE FROM _flotilla_moving WHERE tbl = ? AND key = ? AND origin = ? RETURNING length(row)
      """, [.integer(table), .blob(key.bytes), .integer(number)])
    count -= gone.count
    bytes -= gone.reduce(0) { $0 + Int($1[0].integer ?? 0) }
  }

  /// Rows of a life have other names in the next one, and so has what they refer to.
  func rename(_ names: inout Reissue, _ numbers: inout Edits) throws(SQLiteError) {
    for item in try all() {
      var renamed = item
      let made = Creation(at: item.version.createdAt, dot: item.version.created)
      let row = names.row(made, &numbers)
      renamed.version.dot = names.edit(item.version.dot, &numbers)
      (renamed.version.created, renamed.version.createdAt) = (row.dot, row.at)
      renamed.version.numbering = names.rename(item.version.numbering, &numbers)
      guard renamed.version != item.version, let entry = try entry(item) else { continue }
      try remove(item)
      try put(renamed, entry)
    }
  }

  func forget(table: Int64) throws(SQLiteError) {
    guard count > 0 else { return }
    try connection.run("DELETE FROM _flotilla_moving WHERE tbl = ?", [.integer(table)])
    try reload()
  }

  /// What such a row says.
  func entry(_ item: Item) throws(SQLiteError) -> Shelf.Entry? {
    guard let number = versions.origins.knownNumber(of: item.version.dot.origin) else { return nil }
    let row = try connection.row(
      "SELECT row FROM _flotilla_moving WHERE tbl = ? AND key = ? AND origin = ?",
      [.integer(item.table), .blob(item.key.bytes), .integer(number)])
    return row?[0].blob.flatMap { Shelf.decode($0, .constraint) }
  }

  /// All of them, in the order of table and key. What they say may be long, and is read of those
  /// alone that are made again.
  func all() throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try connection.with(
      "SELECT \(VersionTable.columns), tbl, key FROM _flotilla_moving ORDER BY tbl, key", []
    ) { (statement) throws(SQLiteError) in
      var items: [Item] = []
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        items.append(
          Item(
            table: statement.integer(VersionTable.columnCount),
            key: Key(bytes: statement.bytes(VersionTable.columnCount + 1)), version: version))
      }
      return items
    }
  }
}
