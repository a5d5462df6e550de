import Replication
import SQLite

/// Rows that cannot be put into their table at present, wholly or in part.
final class Shelf: FilePart {
  enum Why: String, Sendable {
    /// The row stands in its table; some of its columns do not exist here yet.
    case columns
    /// The table does not exist here, or is not tracked yet.
    case table
    /// The row would break a constraint beside what stands.
    case constraint
    /// It refers to a row that nobody has, or that waits for such a one itself.
    case reference
    /// It refers to a row that a constraint keeps out, or that waits for such a one itself.
    case parent
    /// The row is larger than may travel; its content is not here.
    case tooLarge = "too-large"

    /// True if the row itself is missing from its table.
    var isWhole: Bool { self != .columns }

    /// True if the row is here, and what stands in other rows keeps it out of its table.
    var isParked: Bool { [.constraint, .reference, .parent].contains(self) }

    /// True if all that it refers to is there, at least parked.
    var hasParents: Bool { [.constraint, .parent, .tooLarge].contains(self) }
  }

  struct Entry {
    var why: Why
    /// The named values that are kept: all of them, or those without a column here.
    var values: [(name: String, value: Replication.Value)]
    var keyCount: Int
    /// What columns that this replica has dropped, or never seen, add to the content hash.
    var rest: UInt64 = 0
    /// Columns here that show something else than the version says.
    var standIns: [StandIn] = []

    /// Of these what a rename has brought.
    var brought: [StandIn] { why == .columns ? standIns.filter(\.isBrought) : [] }

    /// About how many bytes it has.
    var size: Int {
      values.reduce(64) { size, part in
        switch part.value {
        case .text(let bytes), .blob(let bytes): size + bytes.count
        default: size + 8
        }
      }
    }
  }

  let connection: Connection
  /// Nothing was on the shelf when the transaction began, and nothing was put there since.
  private var isKnownEmpty = false

  init(connection: Connection) { self.connection = connection }

  /// Most replicas have nothing on the shelf, and look for nothing there.
  func locked() throws(SQLiteError) { isKnownEmpty = try isEmpty }

  /// Another process may put something there now.
  func committed() { isKnownEmpty = false }

  func rolledBack() { isKnownEmpty = false }

  func entry(table: Int64, key: Key) throws(SQLiteError) -> Entry? {
    if isKnownEmpty { return nil }
    let row = try connection.row(
      "SELECT why, row FROM _flotilla_shelf WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)])
    guard let row, let why = row[0].string.flatMap(Why.init) else { return nil }
    return Self.decode(row[1].blob ?? [], why)
  }

  /// Why a row is kept; nil if it is not. Its content is not read.
  func why(table: Int64, key: Key) throws(SQLiteError) -> Why? {
    if isKnownEmpty { return nil }
    return try connection.scalar(
      "SELECT why FROM _flotilla_shelf WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)]
    ).string.flatMap(Why.init)
  }

  /// The columns of a row that waits for its table; nil if none does.
  func columns(of table: Int64) throws(SQLiteError) -> [String]? {
    try connection.row(
      "SELECT row FROM _flotilla_shelf WHERE tbl = ? AND why = 'table' LIMIT 1", [.integer(table)]
    ).flatMap { Self.decode($0[0].blob ?? [], .table)?.values.map(\.name) }
  }

  /// `watch` tells for what the row waits, if that is another row (`Reference.watch`).
  func put(
    _ entry: Entry, table: Int64, key: Key, watch: Int64? = nil
  ) throws(SQLiteError) {
    isKnownEmpty = false
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_shelf(tbl, key, why, row, watch) VALUES (?, ?, ?, ?, ?)",
      [
        .integer(table), .blob(key.bytes), .string(entry.why.rawValue),
        .blob(Self.encode(entry)), watch.map { .integer($0) } ?? .null,
      ])
  }

  /// A table is not here any more: its rows that wait for others wait for it.
  func awaitTable(_ table: Int64) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_shelf SET why = 'table', watch = NULL WHERE tbl = ? AND watch IS NOT NULL",
      [.integer(table)])
  }

  /// Whether rows wait for others.
  var hasWaiting: Bool {
    get throws(SQLiteError) {
      try connection.row("SELECT 1 FROM _flotilla_shelf WHERE watch IS NOT NULL LIMIT 1") != nil
    }
  }

  /// A row that waits for another one.
  struct Waiting {
    var row: Export.RowID
    var watch: Int64
    var why: String

    func isForTheSame(as other: Waiting) -> Bool {
      watch == other.watch && row.table == other.row.table && why == other.why
    }
  }

  /// The rows that wait for one thing.
  func waiting(for watch: Int64, limit: Int) throws(SQLiteError) -> [Export.RowID] {
    try connection.rows(
      "SELECT tbl, key FROM _flotilla_shelf WHERE watch = ? LIMIT ?",
      [.integer(watch), .integer(Int64(clamping: limit))]
    ).map { Export.RowID(table: $0[0].integer ?? 0, key: Key(bytes: $0[1].blob ?? [])) }
  }

  /// The rows that wait, in the order of what they wait for; some of them, or all.
  func waiting(
    after last: Waiting? = nil, limit: Int = .max
  ) throws(SQLiteError) -> [Waiting] {
    let none = Export.RowID(table: -1, key: Key(bytes: []))
    let start = last ?? Waiting(row: none, watch: .min, why: "")
    return try connection.rows(
      """
      SELECT tbl, key, watch, why FROM _flotilla_shelf
      WHERE watch IS NOT NULL AND (watch, tbl, key) > (?, ?, ?) ORDER BY watch, tbl, key LIMIT ?
      """,
      [
        .integer(start.watch), .integer(start.row.table), .blob(start.row.key.bytes),
        .integer(Int64(clamping: limit)),
      ]
    ).map { row in
      let key = Key(bytes: row[1].blob ?? [])
      return Waiting(
        row: Export.RowID(table: row[0].integer ?? 0, key: key), watch: row[2].integer ?? 0,
        why: row[3].string ?? "")
    }
  }

  /// For what a row waits; nil if that is no other row.
  func watch(of row: Export.RowID) throws(SQLiteError) -> Int64? {
    try connection.scalar(
      "SELECT watch FROM _flotilla_shelf WHERE tbl = ? AND key = ?",
      [.integer(row.table), .blob(row.key.bytes)]
    ).integer
  }

  /// The keys of the rows of one table that are kept for one reason, found by an index.
  func keys(of table: Int64, why: Why) throws(SQLiteError) -> [Key] {
    try connection.rows(
      "SELECT key FROM _flotilla_shelf WHERE tbl = ? AND why = ? AND why <> 'columns'",
      [.integer(table), .string(why.rawValue)]
    ).compactMap { $0[0].blob.map(Key.init) }
  }

  func remove(table: Int64, key: Key) throws(SQLiteError) {
    if isKnownEmpty { return }
    try connection.run(
      "DELETE FROM _flotilla_shelf WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)])
  }

  /// The site stops tracking a table. What its rows have for columns that are not here is kept
  /// until it is tracked again: the rows would be without it then, as if somebody had emptied them.
  func remove(_ table: ReplicaTable) throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_rest WHERE name = ?", [.string(table.name)])
    try connection.run(
      """
      INSERT INTO _flotilla_rest(name, key, row)
      SELECT ?1, key, row FROM _flotilla_shelf WHERE tbl = ?2 AND why = 'columns' AND row NOT NULL
      """, [.string(table.name), .integer(table.id)])
    try connection.run("DELETE FROM _flotilla_shelf WHERE tbl = ?", [.integer(table.id)])
  }

  /// It is tracked again.
  func giveBack(_ table: ReplicaTable) throws(SQLiteError) {
    let count = try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_shelf(tbl, key, why, row)
      SELECT ?1, key, 'columns', row FROM _flotilla_rest WHERE name = ?2
      """, [.integer(table.id), .string(table.name)])
    try connection.run("DELETE FROM _flotilla_rest WHERE name = ?", [.string(table.name)])
    if count > 0 { isKnownEmpty = false }
  }

  /// All of its rows were looked at: what is left is of some that have gone meanwhile.
  func removeStray(of table: ReplicaTable) throws(SQLiteError) {
    if isKnownEmpty { return }
    try connection.run(
      """
      DELETE FROM _flotilla_shelf AS s WHERE tbl = ?1 AND why = 'columns' AND NOT EXISTS (
        SELECT 1 FROM _flotilla_version AS v
        WHERE v.tbl = s.tbl AND v.key = s.key AND v.hash IS NOT NULL)
      """, [.integer(table.id)])
  }

  /// A table whose tracking has ended goes on as another one, which is tracked.
  func giveBack(_ ended: String, to table: ReplicaTable) throws(SQLiteError) {
    try connection.run(
      "UPDATE OR REPLACE _flotilla_rest SET name = ? WHERE name = ?",
      [.string(table.name), .string(ended)])
    try giveBack(table)
  }

  var isEmpty: Bool {
    get throws(SQLiteError) {
      try connection.row("SELECT 1 FROM _flotilla_shelf LIMIT 1") == nil
    }
  }

  /// The tables in which a constraint keeps rows out.
  func constrainedTables() throws(SQLiteError) -> Set<Int64> {
    Set(
      try connection.rows("SELECT DISTINCT tbl FROM _flotilla_shelf WHERE why = 'constraint'")
        .compactMap { $0[0].integer })
  }

  /// Goes through what is kept of one table for one of the given reasons, some keys at a time: it
  /// may be taken off the shelf meanwhile.
  func walk(
    _ table: Int64, why: [Why], limit: Int, _ body: (Key) throws -> Void
  ) throws {
    let reasons = why.map { literal($0.rawValue) }.joined(separator: ", ")
    let sql =
      "SELECT key FROM _flotilla_shelf WHERE tbl = ? AND key > ? AND why IN (\(reasons))"
      + " ORDER BY key LIMIT ?"
    var last: [UInt8] = []
    while true {
      let keys = try connection.rows(
        sql, [.integer(table), .blob(last), .integer(Int64(limit))]
      ).compactMap(\.first?.blob)
      for key in keys { try body(Key(bytes: key)) }
      guard keys.count == limit, let end = keys.last else { return }
      last = end
    }
  }

  /// The next places of a walk through the shelf, in the order of table and key.
  func slice(
    after place: VersionTable.Place?, limit: Int
  ) throws(SQLiteError) -> [VersionTable.Place] {
    try connection.rows(
      "SELECT tbl, key FROM _flotilla_shelf WHERE (tbl, key) > (?, ?) ORDER BY tbl, key LIMIT ?",
      [
        .integer(place?.table ?? -1), .blob(place?.key.bytes ?? []), .integer(Int64(limit)),
      ]
    ).map { ($0[0].integer ?? 0, Key(bytes: $0[1].blob ?? [])) }
  }

  static func encode(_ entry: Entry) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint(entry.keyCount)
    writer.uint(entry.values.count)
    for (name, value) in entry.values {
      writer.text(name)
      writer.value(value)
    }
    if entry.rest != 0 || !entry.standIns.isEmpty { writer.word(entry.rest) }
    guard !entry.standIns.isEmpty else { return writer.bytes }
    writer.uint(entry.standIns.count)
    for standIn in entry.standIns {
      writer.text(standIn.name)
      writer.value(standIn.shown)
      let flags = (standIn.isCounted ? 1 : 0) | (standIn.value == .null ? 0 : 2)
      writer.byte(UInt8(flags | (standIn.isBrought ? 4 : 0)))
      if standIn.value != .null { writer.value(standIn.value) }
    }
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8], _ why: Why) -> Entry? {
    var reader = ByteReader(bytes)
    var values: [(name: String, value: Replication.Value)] = []
    do {
      let keyCount = try reader.uint("shelf")
      guard keyCount <= UInt64(Limits.columns) else { return nil }
      for _ in 0..<(try reader.count("shelf", limit: Limits.columns)) {
        values.append((try reader.text("shelf"), try reader.value("shelf")))
      }
      let rest = reader.isAtEnd ? 0 : try reader.word("shelf")
      var standIns: [StandIn] = []
      for _ in 0..<(reader.isAtEnd ? 0 : try reader.count("shelf", limit: Limits.columns)) {
        let (name, shown) = (try reader.text("shelf"), try reader.value("shelf"))
        let flags = try reader.byte("shelf")
        standIns.append(
          StandIn(
            name: name, value: flags & 2 == 0 ? .null : try reader.value("shelf"), shown: shown,
            isCounted: flags & 1 != 0, isBrought: flags & 4 != 0))
      }
      return Entry(
        why: why, values: values, keyCount: Int(keyCount), rest: rest, standIns: standIns)
    } catch {
      return nil
    }
  }
}
