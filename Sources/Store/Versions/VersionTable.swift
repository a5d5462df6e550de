import Replication
import SQLite

/// The newest version of each row, by table and key.
final class VersionTable: FilePart {
  /// The columns that a version is made of, in every table that holds versions.
  ///
  /// `author` is the origin of the edit that a version certifies, if that is another than its own.
  /// It is in `extra` as well, but the view of a table's rows can read this one (`RowsView`).
  static let columnNames = [
    "origin", "seq", "stamp", "hash", "corigin", "cseq", "cstamp", "at", "extra", "author",
  ]
  static let columns = columns(of: nil)
  static let columnCount = columnNames.count

  /// The same of a table that a statement calls by another name.
  static func columns(of alias: String?) -> String {
    columnNames.map { (alias.map { $0 + "." } ?? "") + $0 }.joined(separator: ", ")
  }

  let connection: Connection
  let origins: Origins
  let terms: Terms
  /// Nil where a snapshot is read.
  private let ahead: VersionsAhead?
  /// New versions on their way into the table; nil where a snapshot is read.
  private let queue: RowQueue?

  init(connection: Connection, origins: Origins, terms: Terms) {
    (self.connection, self.origins, self.terms) = (connection, origins, terms)
    ahead = VersionsAhead()
    queue = connection.queue(
      RowQueue(
        "INSERT OR REPLACE INTO _flotilla_version(tbl, key, \(Self.columns))",
        into: "_flotilla_version", columns: 2 + Self.columnCount))
  }

  private init(snapshot connection: Connection, of other: VersionTable) {
    (self.connection, origins, terms) = (connection, other.origins, other.terms)
    (ahead, queue) = (nil, nil)
  }

  /// The same as another connection sees it.
  func on(_ reader: Connection) -> VersionTable { VersionTable(snapshot: reader, of: self) }

  func begin() { forgetAhead() }

  func rolledBack() { forgetAhead() }

  func reload() throws(SQLiteError) { try terms.reload() }

  /// Others than this have written versions, or may have.
  func forgetAhead() { ahead?.forget() }

  func version(table: Int64, key: Key) throws(SQLiteError) -> Version? {
    if let ahead, !connection.isAutocommit {
      switch ahead.answer(table, key) {
      case .absent: return nil
      case .columns(let columns): return version(of: columns)
      case .unknown where ahead.isToRead(table, key):
        try ahead.read(table, key, on: connection)
        return try version(table: table, key: key)
      case .unknown: break
      }
    }
    return try connection.with(Self.select) { (statement) throws(SQLiteError) in
      try statement.bind(table, at: 1)
      return try statement.lending(key.bytes, at: 2) { () throws(SQLiteError) in
        try statement.step() ? version(from: statement, at: 0) : nil
      }
    }
  }

  private static let select =
    "SELECT \(columns) FROM _flotilla_version WHERE tbl = ? AND key = ?"

  /// Rows that an origin made above a seq, and in which others have written.
  func written(byOthersThan origin: Origin, above seq: UInt64) throws(SQLiteError) -> Set<Dot> {
    guard let number = origins.knownNumber(of: origin) else { return [] }
    let found = try connection.rows(
      """
      SELECT cseq FROM _flotilla_version WHERE corigin = ?1 AND cseq > ?2 AND origin <> ?1
      UNION SELECT cseq FROM _flotilla_pending WHERE corigin = ?1 AND cseq > ?2 AND origin <> ?1
      """, [.integer(number), .integer(Int64(clamping: seq))])
    return Set(found.compactMap { $0[0].integer.map { Dot(origin, UInt64($0)) } })
  }

  /// Where a walk through all versions has come to.
  typealias Place = (table: Int64, key: Key)

  /// The next versions of a walk, in the order of table and key, and where it goes on; nowhere if
  /// these were the last ones. What cannot be read is left out.
  func slice(
    after place: Place?, limit: Int
  ) throws(SQLiteError) -> (items: [PendingTable.Item], next: Place?) {
    try connection.with(
      Self.walk,
      [
        .integer(place?.table ?? -1), .blob(place?.key.bytes ?? []), .integer(Int64(limit)),
      ]
    ) { (statement) throws(SQLiteError) in
      var items: [PendingTable.Item] = []
      var (last, seen): (Place?, Int) = (nil, 0)
      while try statement.step() {
        let place = (
          table: statement.integer(Self.columnCount),
          key: Key(bytes: statement.bytes(Self.columnCount + 1))
        )
        (last, seen) = (place, seen + 1)
        guard let version = version(from: statement, at: 0) else { continue }
        items.append(PendingTable.Item(table: place.table, key: place.key, version: version))
      }
      return (items, seen < limit ? nil : last)
    }
  }

  private static let walk = """
    SELECT \(columns), tbl, key FROM _flotilla_version
    WHERE (tbl, key) > (?, ?) ORDER BY tbl, key LIMIT ?
    """

  /// Reads a version from its columns.
  func version(from statement: Statement, at first: Int) -> Version? {
    version(of: VersionColumns(statement, at: first))
  }

  private func version(of columns: VersionColumns) -> Version? {
    guard let origin = origins.origin(of: columns.origin),
      let seq = UInt64(exactly: columns.seq), seq > 0
    else { return nil }
    let dot = Dot(origin, seq)
    let stamp = Stamp(clamping: columns.stamp)
    var created = dot
    if let (origin, seq) = columns.created, let origin = origins.origin(of: origin) {
      created = Dot(origin, max(1, UInt64(clamping: seq)))
    }
    var version = Version(
      dot: dot, created: created, createdAt: columns.createdAt.map(Stamp.init(clamping:)),
      stamp: stamp, hash: UInt64(bitPattern: columns.hash ?? 0), isDeleted: columns.hash == nil)
    if let extra = columns.extra {
      VersionExtra(origins: origins, terms: terms)
        .decode(extra, at: columns.at.map(Stamp.init(clamping:)), into: &version)
    }
    return version
  }

  func put(_ version: Version, table: Int64, key: Key) throws(SQLiteError) {
    guard let queue else { preconditionFailure("a snapshot is not written") }
    let columns = try columns(of: version)
    ahead?.wrote(table, key)
    queue.add(table)
    queue.add(key.bytes)
    columns.add(to: queue)
    try queue.endRow(on: connection)
  }

  /// Runs a statement that puts a version into a table of versions: its parameters are the number
  /// of the table, the key, the columns, and what else there is. Gives the number of rows changed.
  @discardableResult
  func insert(
    _ sql: String, _ version: Version, table: Int64, key: Key, _ rest: SQLite.Value? = nil
  ) throws(SQLiteError) -> Int {
    let columns = try columns(of: version)
    return try connection.with(sql) { (statement) throws(SQLiteError) in
      try statement.bind(table, at: 1)
      try columns.bind(to: statement, at: 3)
      if let rest { try statement.bind(rest, at: 3 + Self.columnCount) }
      return try statement.lending(key.bytes, at: 2) { () throws(SQLiteError) in
        while try statement.step() {}
        return connection.changes
      }
    }
  }

  /// A version as it is stored. Origins that are new get their numbers.
  private func columns(of version: Version) throws(SQLiteError) -> VersionColumns {
    let (dot, created, author) = (version.dot, version.created, version.edit.origin)
    return VersionColumns(
      origin: try origins.number(of: dot.origin), seq: Int64(dot.seq),
      stamp: version.stamp.rawValue,
      hash: version.isDeleted ? nil : Int64(bitPattern: version.hash),
      created: created == dot
        ? nil : (try origins.number(of: created.origin), Int64(created.seq)),
      createdAt: version.createdAt == version.stamp ? nil : version.createdAt.rawValue,
      at: version.certificate?.at.rawValue,
      extra: try VersionExtra(origins: origins, terms: terms).encode(version),
      author: author == dot.origin ? nil : try origins.number(of: author))
  }

  func remove(table: Int64, key: Key) throws(SQLiteError) {
    forgetAhead()
    try connection.run(
      "DELETE FROM _flotilla_version WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)])
  }
}
