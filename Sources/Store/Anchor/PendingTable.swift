import Replication
import SQLite

/// Versions that were outranked before an anchor has judged them: one per row and origin, whole.
final class PendingTable: FilePart {
  struct Item {
    var table: Int64
    var key: Key
    var version: Version
    /// Its content as it is kept, if that was read with it.
    fileprivate(set) var row: SQLite.Value?
  }

  private let connection: Connection
  private let versions: VersionTable
  private(set) var count = 0
  /// What came because two nodes have compared what they hold: an anchor judges it, though nobody
  /// may ever say that all before it is here. Its author is gone, or sends nothing any more.
  private(set) var compared: Set<Dot> = []
  /// How many times something has come to wait.
  private(set) var comings = 0

  init(_ connection: Connection, versions: VersionTable) throws(SQLiteError) {
    self.connection = connection
    self.versions = versions
    try reload()
  }

  func reload() throws(SQLiteError) {
    compared = []
    guard try Layout.hasTable("_flotilla_pending", on: connection) else { return count = 0 }
    count = Int(try connection.scalar("SELECT count(*) FROM _flotilla_pending").integer ?? 0)
  }

  func noteCompared(_ dot: Dot) {
    compared.insert(dot)
    comings += 1
  }

  /// Keeps a version, unless a later one of its origin waits already; false in that case. Without
  /// an entry its content is not here; it may come later.
  func put(
    _ version: Version, _ entry: Shelf.Entry?, table: Int64, key: Key
  ) throws(SQLiteError) -> Bool {
    let old = try self.version(table: table, key: key, origin: version.dot.origin)
    let changed = try versions.insert(
      Self.insert, version, table: table, key: key, entry.map { .blob(Shelf.encode($0)) })
    if old == nil { count += 1 }
    if changed > 0 { comings += 1 }
    return changed > 0
  }

  private static let insert: String = {
    let marks = Array(repeating: "?", count: VersionTable.columnCount + 3).joined(separator: ", ")
    let news = VersionTable.columnNames.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return """
      INSERT INTO _flotilla_pending(tbl, key, \(VersionTable.columns), row)
      VALUES (\(marks))
      ON CONFLICT(tbl, key, origin) DO UPDATE SET \(news), row = excluded.row
      WHERE excluded.seq > seq OR excluded.seq = seq AND row IS NULL
      """
  }()

  func version(
    table: Int64, key: Key, origin: Origin
  ) throws(SQLiteError) -> Version? {
    guard count > 0, let number = versions.origins.knownNumber(of: origin) else { return nil }
    return try connection.with(
      Self.selectVersion, [.integer(table), .blob(key.bytes), .integer(number)]
    ) { (statement) throws(SQLiteError) in
      try statement.step() ? versions.version(from: statement, at: 0) : nil
    }
  }

  private static let selectVersion =
    "SELECT \(VersionTable.columns) FROM _flotilla_pending WHERE tbl = ? AND key = ? AND origin = ?"

  /// The content of one that waits, as another connection may see it; nil if it is not here.
  func entry(
    _ item: Item, on reader: Connection? = nil
  ) throws(SQLiteError) -> Shelf.Entry? {
    if let row = item.row { return row.blob.flatMap { Shelf.decode($0, .constraint) } }
    guard let number = versions.origins.knownNumber(of: item.version.dot.origin) else { return nil }
    let bytes = try (reader ?? connection).scalar(
      "SELECT row FROM _flotilla_pending WHERE tbl = ? AND key = ? AND origin = ? AND seq = ?",
      [
        .integer(item.table), .blob(item.key.bytes), .integer(number),
        .integer(Int64(item.version.dot.seq)),
      ]
    ).blob
    return bytes.flatMap { Shelf.decode($0, .constraint) }
  }

  func remove(_ item: Item) throws(SQLiteError) {
    guard count > 0, let number = versions.origins.knownNumber(of: item.version.dot.origin) else {
      return
    }
    compared.remove(item.version.dot)
    count -= try connection.run(
      "DELETE FROM _flotilla_pending WHERE tbl = ? AND key = ? AND origin = ?",
      [.integer(item.table), .blob(item.key.bytes), .integer(number)])
  }

  /// All that wait of a row.
  func all(table: Int64, key: Key) throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try items(
      Self.all + " WHERE p.tbl = ? AND p.key = ?",
      [.integer(table), .blob(key.bytes)])
  }

  /// All that wait of a table.
  func all(in table: Int64) throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try items(
      Self.all + " WHERE p.tbl = ?", [.integer(table)])
  }

  /// All that wait, in no order.
  func all() throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try items(Self.all, [])
  }

  /// The next of a walk, in the order of table and key, and where it goes on; nowhere if these were
  /// the last ones. What waits of one row is not torn.
  func slice(
    after place: VersionTable.Place?, limit: Int
  ) throws(SQLiteError) -> (items: [Item], next: VersionTable.Place?) {
    guard count > 0 else { return ([], nil) }
    let items = try items(
      Self.all + " WHERE (p.tbl, p.key) > (?, ?) ORDER BY p.tbl, p.key LIMIT ?",
      [
        .integer(place?.table ?? -1), .blob(place?.key.bytes ?? []), .integer(Int64(limit)),
      ])
    guard items.count == limit, let last = items.last else { return (items, nil) }
    let rest = items.prefix { ($0.table, $0.key) != (last.table, last.key) }
    return (rest + (try all(table: last.table, key: last.key)), (last.table, last.key))
  }

  /// What waits under a number: a member that lies may have given it to several rows. `withRows`:
  /// what they say is looked at next, and read with them.
  func items(_ dot: Dot, withRows: Bool = false) throws(SQLiteError) -> [Item] {
    guard count > 0, let number = versions.origins.knownNumber(of: dot.origin) else { return [] }
    return try items(
      withRows ? Self.selectWithRow : Self.selectByDot,
      [.integer(number), .integer(Int64(dot.seq))])
  }

  private static let select = "SELECT \(VersionTable.columns(of: "p")), p.tbl, p.key"
  private static let all = select + " FROM _flotilla_pending AS p"
  private static let byDot = " FROM _flotilla_pending AS p WHERE p.origin = ? AND p.seq = ?"
  private static let selectByDot = select + byDot
  private static let selectWithRow = select + ", p.row" + byDot

  /// Those whose dots a frontier covers.
  func covered(by frontier: Frontier, limit: Int) throws(SQLiteError) -> [Item] {
    var found: [Item] = []
    for (origin, seq) in frontier.sorted {
      guard count > 0, found.count < limit else { break }
      guard let number = versions.origins.knownNumber(of: origin) else { continue }
      found += try items(
        Self.all + " WHERE p.origin = ? AND p.seq <= ? LIMIT ?",
        [.integer(number), .integer(Int64(seq)), .integer(Int64(limit - found.count))])
    }
    return found
  }

  private func items(
    _ text: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [Item] {
    let first = VersionTable.columnCount
    return try connection.with(text, arguments) { (statement) throws(SQLiteError) in
      var items: [Item] = []
      let hasRow = statement.columnCount > first + 2
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        items.append(
          Item(
            table: statement.integer(first), key: Key(bytes: statement.bytes(first + 1)),
            version: version, row: hasRow ? statement.value(first + 2) : nil))
      }
      return items
    }
  }
}
