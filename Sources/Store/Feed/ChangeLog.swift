import Replication
import SQLite

/// Which rows of the site's tables have changed here, in the order of the commits that folded or
/// applied them (docs/changes.md).
///
/// It costs nothing until somebody has asked for changes, and nothing again when nobody has for a
/// week. Its entries name rows; what stands in them is read when the entries are. Those of one
/// commit lie in one row of `_flotilla_change`, under the number of the first.
final class ChangeLog {
  /// For how long a log is kept that nobody reads, in ms.
  static let keepLimit: Int64 = 7 * 24 * 3_600_000
  /// How precisely it is noted when it was read last, in ms.
  static let readPrecision: Int64 = 3_600_000

  /// No number and no time is above that.
  private static let most: Int64 = 1 << 62

  private struct State {
    var first: Int64
    var last: ChangeCursor
    /// What the tables looked like when this log was begun.
    var look: Int64
    /// By the clock of the machine, ms since 1970.
    var readAt: Int64
  }

  private let connection: Connection
  private let meta: Meta
  /// Nil while nobody wants changes.
  private var state: State?
  private var noted = ChangedKeys()
  private var isBroken = false

  init(_ connection: Connection, _ meta: Meta) throws(SQLiteError) {
    (self.connection, self.meta) = (connection, meta)
    try reload()
  }

  func reload() throws(SQLiteError) {
    (state, isBroken) = (nil, false)
    noted.removeAll()
    // Where these are not what was written, the log is begun anew by the next who asks.
    guard try Layout.hasTable("_flotilla_change", on: connection),
      let first = try connection.scalar("SELECT min(n) FROM _flotilla_change").integer,
      let last = try connection.row(
        "SELECT n + count - 1, mark FROM _flotilla_change ORDER BY n DESC LIMIT 1"),
      let number = last[0].integer, let mark = last[1].integer,
      let readAt = try meta.integer(.changesRead), let look = try meta.integer(.changesLook),
      0 < first, first <= number, number < Self.most, 0...Self.most ~= readAt
    else { return }
    state = State(
      first: first, last: ChangeCursor(number: number, mark: mark), look: look, readAt: readAt)
  }

  var isOn: Bool { state != nil }
  /// Where somebody begins who has read the tables.
  var last: ChangeCursor? { state?.last }
  var readAt: Int64? { state?.readAt }

  /// A row was written in the open transaction, or its version was. A word `ofAnchor` about an edit
  /// leaves the row as it is.
  func note(_ table: ReplicaTable, _ key: Key, ofAnchor: Bool = false) {
    guard state != nil, !table.isSettings, !table.isHeld else { return }
    noted.append(table.id, key, ofAnchor: ofAnchor)
  }

  /// Rows have gone or changed without being looked at one by one: who has read so far must read
  /// the tables.
  func breakOff() { isBroken = state != nil }

  /// Writes what was noted, in the open transaction. `look` is what the tables look like, `limit`
  /// how many entries are kept.
  func save(look: @autoclosure () -> UInt64, limit: @autoclosure () -> Int) throws(SQLiteError) {
    guard let old = state else { return }
    if isBroken || Int64(bitPattern: look()) != old.look {
      return try begin(look: look(), at: old.readAt)
    }
    guard noted.count > 0 else { return }
    var state = old
    let mark = Self.newMark()
    for part in noted.parts {
      try connection.run(
        "INSERT INTO _flotilla_change(n, count, mark, rows) VALUES (?, ?, ?, ?)",
        [
          .integer(state.last.number + 1), .integer(Int64(part.count)), .integer(mark),
          .blob(part.bytes),
        ])
      state.last = ChangeCursor(number: state.last.number + Int64(part.count), mark: mark)
    }
    noted.removeAll()
    try trim(&state, to: Int64(limit()))
    self.state = state
  }

  /// Lets go of the oldest entries.
  private func trim(_ state: inout State, to limit: Int64) throws(SQLiteError) {
    let excess = state.last.number - state.first + 1 - limit
    // Not each commit writes to both ends.
    guard excess > limit / 16 else { return }
    let first = try connection.scalar(
      "SELECT max(n) FROM _flotilla_change WHERE n <= ?", [.integer(state.first + excess)])
    state.first = first.integer ?? state.first
    try connection.run("DELETE FROM _flotilla_change WHERE n < ?", [.integer(state.first)])
  }

  /// Begins a log in which no cursor of before is found.
  func begin(look: UInt64, at wall: Int64) throws(SQLiteError) {
    let last = ChangeCursor(number: (state?.last.number ?? 0) + 1, mark: Self.newMark())
    try connection.execute("DELETE FROM _flotilla_change")
    // The first entry names no row: it is where a reader begins.
    try connection.run(
      "INSERT INTO _flotilla_change(n, count, mark, rows) VALUES (?, 1, ?, x'')",
      [.integer(last.number), .integer(last.mark)])
    try meta.set(.changesLook, .integer(Int64(bitPattern: look)))
    try meta.set(.changesRead, .integer(wall))
    state = State(
      first: last.number, last: last, look: Int64(bitPattern: look), readAt: wall)
    noted.removeAll()
    isBroken = false
  }

  func noteRead(at wall: Int64) throws(SQLiteError) {
    guard state != nil else { return }
    try meta.set(.changesRead, .integer(wall))
    state?.readAt = wall
  }

  /// Ends it: nothing more is written.
  func end() throws(SQLiteError) {
    try connection.execute("DELETE FROM _flotilla_change")
    try connection.run(
      "DELETE FROM _flotilla_meta WHERE name IN (?, ?)",
      [.string(Meta.Name.changesRead.rawValue), .string(Meta.Name.changesLook.rawValue)])
    (state, isBroken) = (nil, false)
    noted.removeAll()
  }

  /// Six bytes, whatever they are: rows of one length are of one size.
  private static func newMark() -> Int64 { .random(in: 1 << 46..<1 << 47) }

  struct Entry {
    var cursor: ChangeCursor
    var row: Export.RowID
    /// Whether only the anchor's word on its edit is new.
    var isOfAnchor: Bool
  }

  /// The entries after a cursor; nil if it is not of this log, or what follows it is not kept.
  func entries(after cursor: ChangeCursor, limit: Int) throws(SQLiteError) -> [Entry]? {
    let holder = try connection.row(
      "SELECT n, count, mark FROM _flotilla_change WHERE n <= ? ORDER BY n DESC LIMIT 1",
      [.integer(cursor.number)])
    guard let holder, let first = holder[0].integer, let count = holder[1].integer, first > 0,
      cursor.number - first < count, holder[2].integer == cursor.mark
    else { return nil }
    return try connection.with(
      "SELECT n, mark, rows FROM _flotilla_change WHERE n >= ? ORDER BY n", [.integer(first)]
    ) { (statement) throws(SQLiteError) in
      var entries: [Entry] = []
      while entries.count < limit, try statement.step() {
        var number = statement.integer(0)
        for (row, isOfAnchor) in ChangedKeys.rows(in: statement.bytes(2)) {
          if number > cursor.number, entries.count < limit {
            let cursor = ChangeCursor(number: number, mark: statement.integer(1))
            entries.append(Entry(cursor: cursor, row: row, isOfAnchor: isOfAnchor))
          }
          number &+= 1
        }
      }
      return entries
    }
  }
}

/// Rows that have changed in one commit, by table and key, as they are kept.
struct ChangedKeys {
  /// Some of them in one text of bytes.
  struct Part {
    var bytes: [UInt8] = []
    var count = 0
  }

  /// So many bytes lie together.
  private static let mostBytes = 128 << 10

  /// Stands in the number of the table where only the anchor's word is new.
  private static let ofAnchor: UInt32 = 1 << 31

  private(set) var parts: [Part] = []
  private var last: (row: Export.RowID, isOfAnchor: Bool)?

  var count: Int { parts.reduce(0) { $0 + $1.count } }

  /// Adds a row, unless it is the one that was added last.
  mutating func append(_ table: Int64, _ key: Key, ofAnchor isOfAnchor: Bool) {
    if let last, last.row.table == table, last.row.key == key, isOfAnchor || !last.isOfAnchor {
      return
    }
    last = (Export.RowID(table: table, key: key), isOfAnchor)
    let mark = isOfAnchor ? Self.ofAnchor : 0
    if parts.last.map({ $0.bytes.count >= Self.mostBytes }) ?? true { parts.append(Part()) }
    let index = parts.count - 1
    for number in [UInt32(truncatingIfNeeded: table) | mark, UInt32(key.bytes.count)] {
      withUnsafeBytes(of: number.littleEndian) { parts[index].bytes.append(contentsOf: $0) }
    }
    parts[index].bytes.append(contentsOf: key.bytes)
    parts[index].count += 1
  }

  mutating func removeAll() {
    guard !parts.isEmpty else { return }
    (parts, last) = ([], nil)
  }

  /// Reads what was kept; what follows something that is none is left out.
  static func rows(in bytes: [UInt8]) -> [(row: Export.RowID, isOfAnchor: Bool)] {
    var rows: [(row: Export.RowID, isOfAnchor: Bool)] = []
    var place = 0
    func number(at place: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
    }
    while bytes.count - place >= 8 {
      let (table, length) = (number(at: place), number(at: place + 4))
      place += 8
      guard bytes.count - place >= length else { break }
      let key = Key(bytes: Array(bytes[place..<place + length]))
      let id = UInt32(table)
      rows.append(
        (Export.RowID(table: Int64(id & ~Self.ofAnchor), key: key), id & Self.ofAnchor != 0))
      place += length
    }
    return rows
  }
}
