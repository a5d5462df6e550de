import Replication
import SQLite

/// What a copy by pages says of rows beside their content: looked at as if a peer had sent it.
///
/// Whoever holds a row tells others of it. So nothing is taken that this node would leave out or
/// refuse if it came row by row, nor anything that no peer could read.
struct CopiedClaims {
  private let sealed: Sealed
  /// No epoch can have been counted beyond what is possible by then.
  private let latest: Stamp
  private let tables: Tables
  private let versions: VersionTable
  /// What was said since the last look, as it would travel.
  private var batch = RowBatchWriter()
  /// How far an origin can have come, by its number here.
  private var most: [Int64: UInt64] = [:]
  /// The same of the origin of the version before.
  private var last: (number: Int64, most: UInt64) = (0, 0)

  init(
    _ sealed: Sealed, at moment: Int64, _ connection: Connection
  ) throws(StoreError) {
    self.sealed = sealed
    latest = Stamp(millisecondsSince1970: moment + SiteClock.farthest)
    tables = try Tables(connection, SchemaCache())
    versions = try orRows { () throws(SQLiteError) in
      VersionTable(
        connection: connection, origins: try Origins(connection), terms: try Terms(connection))
    }
  }

  /// How long what is looked at together may be; longer batches hold one row.
  private static let batchBytes = 256 << 10

  /// Looks at one version, whose columns begin there; its table and its key stand before them.
  mutating func check(_ statement: Statement, at first: Int = 2) throws(SQLiteError) {
    let origin = statement.integer(first)
    guard statement.integer(first + 1) <= limit(of: origin) else {
      throw .rows("it has an edit that nobody has signed")
    }
    let isDeleted = statement.isNull(first + 3)
    guard isDeleted || statement.integer(first + 3) != 0 else {
      throw .rows("a version in it is none")
    }
    // Nearly every version has nothing of this.
    let isPlain =
      statement.isNull(first + 4) && statement.isNull(first + 6) && statement.isNull(first + 7)
      && statement.isNull(first + 8) && statement.isNull(first + 9)
    if isPlain { return }
    guard let version = versions.version(from: statement, at: first) else {
      throw .rows("a version in it is none")
    }
    let author = versions.origins.knownNumber(of: version.edit.origin)
    guard statement.isNull(first + 7) == (version.certificate == nil),
      statement.isNull(first + 9) || statement.integer(first + 9) == author
    else { throw .rows("a version in it says of its author what is not so") }
    let content: WireRow.Content =
      isDeleted ? .deleted(key: Self.number) : .withheld(key: Self.number)
    try add(version, content)
  }

  private static let number: [Replication.Value] = [.integer(0)]
  private static let plain = TableShape(
    name: "t", keyCount: 1, columns: ["k"], affinities: [.integer])

  private mutating func limit(of number: Int64) -> UInt64 {
    if number == last.number { return last.most }
    let most = most(of: number)
    last = (number, most)
    return most
  }

  private mutating func most(of number: Int64) -> UInt64 {
    if let known = most[number] { return known }
    let origin = versions.origins.origin(of: number)
    let limit = origin.map { sealed.most(of: $0) ?? .max } ?? 0
    most[number] = limit
    return limit
  }

  /// Whether such a row may come and can be read; what is too much for one look is looked at.
  private mutating func add(
    _ version: Version, _ content: WireRow.Content, _ shape: TableShape = plain
  ) throws(SQLiteError) {
    let row = WireRow(table: 0, version: version, content: content)
    guard sealed.holds(version.dot) else { throw .rows("it has an edit that nobody has signed") }
    guard sealed.allows(row) else {
      throw .rows("it says of the anchor what its author was not appointed to say")
    }
    guard version.isReached(by: latest) else { throw .rows("it has an epoch that cannot be") }
    batch.add(shape, version, content)
    if batch.size > Self.batchBytes || batch.rowCount >= 4_096 { try look() }
  }

  /// Throws if no peer could read what was added.
  private mutating func look() throws(SQLiteError) {
    guard !batch.isEmpty else { return }
    defer { batch = RowBatchWriter() }
    do throws(WireError) {
      _ = try PackedBatch(bytes: batch.bytes) { _, _ throws(WireError) in }
    } catch {
      throw .rows("it says what no peer could read: \(error)")
    }
  }

  /// Whether rows of a table can have such a key; of one with a row the table tells.
  func check(_ key: Key, of id: Int64) throws(SQLiteError) {
    guard let table = tables.byID[id], let shape = table.keyShape, let values = key.values,
      values.count == shape.count, table.key(values) == key, shape.holds(values[...])
    else { throw .rows("a key is none") }
  }

  /// Looks at all but what stands: rulings, what waits to be judged, and what is kept beside rows.
  mutating func checkRest(_ connection: Connection) throws(SQLiteError) {
    try checkRulings(connection)
    try checkPending(connection)
    try checkShelf(connection)
    try look()
  }

  private mutating func checkRulings(_ connection: Connection) throws(SQLiteError) {
    let rulings = RulingTable(versions: versions, limit: .max)
    let statement = try connection.prepare(
      """
      SELECT eorigin, eseq, origin, seq, stamp, extra, kind, rule, tbl, key
      FROM _flotilla_ruling
      """)
    while try statement.step() {
      guard let item = rulings.item(from: statement, at: 0), 1...(1 << 62) ~= item.version.dot.seq
      else { throw .rows("a ruling in it is none") }
      try check(item.key, of: item.table)
      try add(item.version, .ruling(item.ruling, key: Self.number))
    }
  }

  private mutating func checkPending(_ connection: Connection) throws(SQLiteError) {
    let statement = try connection.prepare(
      """
      SELECT tbl, key, \(VersionTable.columns), rowid, row IS NULL FROM _flotilla_pending
      """)
    let rowID = 2 + VersionTable.columnCount
    while try statement.step() {
      try check(statement)
      let place = (statement.integer(0), Key(bytes: statement.bytes(1)))
      try check(place.1, of: place.0)
      if statement.integer(rowID + 1) != 0 { continue }
      let hash = statement.isNull(5) ? nil : UInt64(bitPattern: statement.integer(5))
      let blob = try BlobReader(
        table: "_flotilla_pending", column: "row", row: statement.integer(rowID), on: connection)
      try check(blob, of: place, hash)
    }
  }

  private mutating func checkShelf(_ connection: Connection) throws(SQLiteError) {
    let statement = try connection.prepare(
      """
      SELECT s.tbl, s.key, s.why, s.rowid, v.hash FROM _flotilla_shelf AS s
      LEFT JOIN _flotilla_version AS v ON v.tbl = s.tbl AND v.key = s.key
      """)
    while try statement.step() {
      guard let why = statement.value(2).string.flatMap(Shelf.Why.init) else {
        throw .rows("what it keeps beside rows cannot be read")
      }
      let place = (statement.integer(0), Key(bytes: statement.bytes(1)))
      try check(place.1, of: place.0)
      let blob = try BlobReader(
        table: "_flotilla_shelf", column: "row", row: statement.integer(3), on: connection)
      guard why.isWhole else {
        try checkBeside(blob, place.0)
        continue
      }
      guard !statement.isNull(4) else { throw .rows("a row waits that was never written") }
      try check(
        blob, of: place, why == .tooLarge ? nil : UInt64(bitPattern: statement.integer(4)))
    }
  }

  /// Whether what is kept beside a row that stands can travel.
  private mutating func checkBeside(_ blob: BlobReader, _ id: Int64) throws(SQLiteError) {
    guard blob.count <= KeptRow.mostBytes,
      let entry = Shelf.decode(try blob.read(blob.count, from: 0), .columns),
      let table = tables.byID[id]
    else { throw .rows("what it keeps beside rows cannot be read") }
    guard let statements = table.statements else { return }
    try add(statements.shape(with: entry.values))
  }

  /// Whether a whole row that is kept can travel, and is what a version of that hash says; without
  /// one it is the key alone.
  private mutating func check(
    _ blob: BlobReader, of place: (id: Int64, key: Key), _ hash: UInt64?
  ) throws(SQLiteError) {
    guard let table = tables.byID[place.id] else {
      throw .rows("what it keeps beside rows cannot be read")
    }
    let row = try KeptRow(blob, keyBytes: place.key.bytes.count)
    let own = row.parts.prefix(row.keyCount).compactMap(\.value)
    guard own.count == place.key.values?.count, table.key(own) == place.key else {
      throw .rows("a row beside its table has another key")
    }
    try add(table.shape(row.parts.map(\.name), keyCount: row.keyCount))
    guard let hash else {
      guard row.parts.count == row.keyCount else { throw .rows("a row beside its table is none") }
      return
    }
    guard let statements = table.statements, row.says(hash, statements) else {
      throw .rows("a row beside its table is not as its version says")
    }
  }

  private mutating func add(_ shape: TableShape) throws(SQLiteError) {
    let key = Array(repeating: Replication.Value.integer(0), count: shape.keyCount)
    let dot = Dot(sealed.own, 1)
    let version = Version(dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
    batch.add(shape, version, .withheld(key: key))
    if batch.size > Self.batchBytes { try look() }
  }
}
