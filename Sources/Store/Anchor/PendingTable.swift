import Replication
import SQLite

/// Versions that were outranked before an anchor has judged them: one per row and origin, whole.
final class PendingTable: FilePart {
  struct Item {
    var table: Int64
    var key: Key
    var version: Version
  }

  private let connection: Connection
  private let versions: VersionTable
  private(set) var count = 0
  /// What came because two nodes have compared what they hold: an anchor judges it, though nobody
  /// may ever say that all before it is here. Its author is gone, or sends nothing any more.
  private var compared: Set<Dot> = []

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

  func noteCompared(_ dot: Dot) { compared.insert(dot) }

  /// Keeps a version, unless a later one of its origin waits already; false in that case. Without
  /// an entry its content is not here; it may come later.
  func put(
    _ version: Version, _ entry: Shelf.Entry?, table: Int64, key: Key
  ) throws(SQLiteError) -> Bool {
    let old = try self.version(table: table, key: key, origin: version.dot.origin)
    let changed = try versions.insert(
      Self.insert, version, table: table, key: key, entry.map { .blob(Shelf.encode($0)) })
    if old == nil { count += 1 }
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
      Self.select, [.integer(table), .blob(key.bytes), .integer(number)]
    ) { (statement) throws(SQLiteError) in
      try statement.step() ? versions.version(from: statement, at: 0) : nil
    }
  }

  private static let select =
    "SELECT \(VersionTable.columns) FROM _flotilla_pending WHERE tbl = ? AND key = ? AND origin = ?"

  /// The content of one that waits, as another connection may see it; nil if it is not here.
  func entry(
    _ item: Item, on reader: Connection? = nil
  ) throws(SQLiteError) -> Shelf.Entry? {
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
      "FROM _flotilla_pending AS p WHERE p.tbl = ? AND p.key = ?",
      [.integer(table), .blob(key.bytes)])
  }

  /// All that wait of a table.
  func all(in table: Int64) throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try items("FROM _flotilla_pending AS p WHERE p.tbl = ?", [.integer(table)])
  }

  /// All that wait, in no order.
  func all() throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    return try items("FROM _flotilla_pending AS p", [])
  }

  /// The next of a walk, in the order of table and key, and where it goes on; nowhere if these were
  /// the last ones. What waits of one row is not torn.
  func slice(
    after place: VersionTable.Place?, limit: Int
  ) throws(SQLiteError) -> (items: [Item], next: VersionTable.Place?) {
    guard count > 0 else { return ([], nil) }
    let items = try items(
      "FROM _flotilla_pending AS p WHERE (p.tbl, p.key) > (?, ?) ORDER BY p.tbl, p.key LIMIT ?",
      [
        .integer(place?.table ?? -1), .blob(place?.key.bytes ?? []), .integer(Int64(limit)),
      ])
    guard items.count == limit, let last = items.last else { return (items, nil) }
    let rest = items.prefix { ($0.table, $0.key) != (last.table, last.key) }
    return (rest + (try all(table: last.table, key: last.key)), (last.table, last.key))
  }

  /// What came whole, in the order in which an anchor judges; of one table if that is named.
  ///
  /// A catch-up that is still under way has brought dots that the frontier does not cover yet.
  /// Edits without their content come last: somebody has written over them, and what became of
  /// that decides about them.
  func due(in table: Int64? = nil, limit: Int) throws(SQLiteError) -> [Item] {
    guard count > 0 else { return [] }
    let few = table == nil ? try authorsOfFew(limit) : nil
    var whole = try due(in: table, "p.row IS NOT NULL", of: few, limit: limit)
    if !compared.isEmpty {
      whole += try early().filter { table == nil || $0.table == table }
      whole = Array(whole.sorted(by: Self.precedes).prefix(limit))
    }
    return whole.count == limit
      ? whole : whole + (try due(in: table, "p.row IS NULL", of: few, limit: limit - whole.count))
  }

  /// What was compared, and came before all that its number covers.
  private func early() throws(SQLiteError) -> [Item] {
    try items(
      """
      FROM _flotilla_origin AS o CROSS JOIN _flotilla_pending AS p ON p.origin = o.id
      WHERE p.seq > o.seq
      """, []
    ).filter { compared.contains($0.version.dot) }
  }

  private func due(
    in table: Int64?, _ condition: String, of few: [Author]?, limit: Int
  ) throws(SQLiteError) -> [Item] {
    if let table {
      return try due(
        "p.tbl = ? AND \(condition)", [.integer(table), .integer(Int64(limit))],
        "p.stamp, o.origin < 0, o.origin, p.seq LIMIT ?")
    }
    guard let few else { return try due(condition, limit: limit) }
    var found: [Item] = []
    for author in few {
      found += try items(
        "\(Self.covered) AND \(condition)",
        [.integer(author.number), .integer(author.seq)])
    }
    return Array(found.sorted(by: Self.precedes).prefix(limit))
  }

  private static let covered = "FROM _flotilla_pending AS p WHERE p.origin = ? AND p.seq <= ?"

  /// An origin by its number in the file, and the last of its edits that came whole.
  private typealias Author = (number: Int64, seq: Int64)

  /// Whose edits are due, if they are no more than a slice: then what has yet to come whole is not
  /// looked through for them.
  private func authorsOfFew(_ limit: Int) throws(SQLiteError) -> [Author]? {
    let authors = try authorsDue()
    var count = 0
    for author in authors {
      let found = try connection.scalar(
        "SELECT count(*) FROM (SELECT 1 \(Self.covered) LIMIT ?)",
        [.integer(author.number), .integer(author.seq), .integer(Int64(limit + 1 - count))])
      count += Int(found.integer ?? 0)
      guard count <= limit else { return nil }
    }
    return authors
  }

  /// The same of all tables, without a sort of all that waits: one transaction of a program may
  /// have a million rows of one stamp.
  private func due(_ condition: String, limit: Int) throws(SQLiteError) -> [Item] {
    var found = try due(condition, [.integer(Int64(limit))], "p.stamp, p.origin, p.seq LIMIT ?")
    if found.count == limit, let last = found.last?.version.stamp {
      // The index has the numbers of origins: of one moment others may come before these.
      found.removeAll { $0.version.stamp == last }
      for author in try authors(at: last) where found.count < limit {
        found += try due(
          "p.stamp = ? AND p.origin = ? AND \(condition)",
          [.integer(last.rawValue), .integer(author), .integer(Int64(limit - found.count))],
          "p.seq LIMIT ?")
      }
    }
    return found.sorted(by: Self.precedes)
  }

  private static func precedes(_ one: Item, _ other: Item) -> Bool {
    (one.version.stamp, one.version.dot) < (other.version.stamp, other.version.dot)
  }

  private func due(
    _ condition: String, _ arguments: [SQLite.Value], _ order: String
  ) throws(SQLiteError) -> [Item] {
    // "The CROSS JOIN operator ... prevents the query planner from reordering tables"
    // (sqlite.org/optoverview.html): the index is in the order of what waits.
    try items(
      """
      FROM _flotilla_pending AS p CROSS JOIN _flotilla_origin AS o ON o.id = p.origin
      WHERE p.seq <= o.seq AND \(condition) ORDER BY \(order)
      """, arguments)
  }

  /// Whose edits of one moment wait, by the numbers of the origins, in the order of the origins.
  private func authors(at stamp: Stamp) throws(SQLiteError) -> [Int64] {
    var found: [(number: Int64, origin: Origin)] = []
    while let next = try connection.scalar(
      "SELECT min(origin) FROM _flotilla_pending WHERE stamp = ? AND origin > ?",
      [.integer(stamp.rawValue), .integer(found.last?.number ?? .min)]
    ).integer {
      guard let origin = versions.origins.origin(of: next) else { break }
      found.append((next, origin))
    }
    return found.sorted { $0.origin < $1.origin }.map(\.number)
  }

  /// Whether there is anything of that.
  func hasDue() throws(SQLiteError) -> Bool {
    guard count > 0 else { return false }
    if try !authorsDue().isEmpty { return true }
    return compared.isEmpty ? false : try !early().isEmpty
  }

  /// Whose edits wait that came whole, and to which of them. Each commit of a long exchange asks
  /// for it, so what is here of that is not looked through.
  private func authorsDue() throws(SQLiteError) -> [Author] {
    var (found, last): ([Author], Int64) = ([], .min)
    while let next = try connection.row(
      """
      SELECT o.id, o.seq, p.seq FROM _flotilla_pending AS p
      CROSS JOIN _flotilla_origin AS o ON o.id = p.origin
      WHERE p.origin > ? ORDER BY p.origin, p.seq LIMIT 1
      """, [.integer(last)]
    ), let number = next[0].integer, let seq = next[1].integer, let first = next[2].integer {
      if first <= seq { found.append((number, seq)) }
      last = number
    }
    return found
  }

  /// Those whose dots a frontier covers.
  func covered(by frontier: Frontier, limit: Int) throws(SQLiteError) -> [Item] {
    var found: [Item] = []
    for (origin, seq) in frontier.sorted {
      guard count > 0, found.count < limit else { break }
      guard let number = versions.origins.knownNumber(of: origin) else { continue }
      found += try items(
        "\(Self.covered) LIMIT ?",
        [.integer(number), .integer(Int64(seq)), .integer(Int64(limit - found.count))])
    }
    return found
  }

  private func items(
    _ rest: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [Item] {
    try connection.with(
      "SELECT \(VersionTable.columns(of: "p")), p.tbl, p.key \(rest)", arguments
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
