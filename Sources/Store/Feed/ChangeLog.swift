import Replication
import SQLite

/// Which rows of the site's tables have changed here, in the order of the commits that folded or
/// applied them (docs/changes.md).
///
/// It costs nothing until somebody has asked for changes, and nothing again when nobody has for a
/// week. Its entries name rows; what stands in them is read when the entries are.
final class ChangeLog {
  /// For how long a log is kept that nobody reads, in ms.
  static let keepLimit: Int64 = 7 * 24 * 3_600_000
  /// How precisely it is noted when it was read last, in ms.
  static let readPrecision: Int64 = 3_600_000

  private struct State: Equatable {
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
  private var noted: [Export.RowID] = []
  private var seen: Set<Export.RowID> = []
  private var isBroken = false

  init(_ connection: Connection, _ meta: Meta) throws(SQLiteError) {
    (self.connection, self.meta) = (connection, meta)
    try reload()
  }

  func reload() throws(SQLiteError) {
    (state, noted, seen, isBroken) = (nil, [], [], false)
    guard try Layout.hasTable("_flotilla_change", on: connection),
      let first = try connection.row("SELECT n FROM _flotilla_change ORDER BY n LIMIT 1"),
      let last = try connection.row("SELECT n, mark FROM _flotilla_change ORDER BY n DESC LIMIT 1"),
      let readAt = try meta.integer(.changesRead)
    else { return }
    state = State(
      first: first[0].integer ?? 0,
      last: ChangeCursor(number: last[0].integer ?? 0, mark: last[1].integer ?? 0),
      look: try meta.integer(.changesLook) ?? 0, readAt: readAt)
  }

  var isOn: Bool { state != nil }
  /// Where somebody begins who has read the tables.
  var last: ChangeCursor? { state?.last }
  var readAt: Int64? { state?.readAt }

  /// A row was written in the open transaction, or its version was.
  func note(_ table: ReplicaTable, _ key: Key) {
    guard state != nil, !table.isSettings, !table.isHeld else { return }
    let row = Export.RowID(table: table.id, key: key)
    if seen.insert(row).inserted { noted.append(row) }
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
    guard !noted.isEmpty else { return }
    var state = old
    let mark = Self.newMark()
    for row in noted {
      state.last = ChangeCursor(number: state.last.number + 1, mark: mark)
      try connection.run(
        "INSERT INTO _flotilla_change(n, mark, tbl, key) VALUES (?, ?, ?, ?)",
        [
          .integer(state.last.number), .integer(mark), .integer(row.table), .blob(row.key.bytes),
        ])
    }
    try trim(&state, to: Int64(limit()), by: Int64(noted.count))
    self.state = state
    (noted, seen) = ([], [])
  }

  /// Lets go of the oldest entries, a little more than came: a slice of a commit stays one.
  private func trim(_ state: inout State, to limit: Int64, by count: Int64) throws(SQLiteError) {
    let excess = state.last.number - state.first + 1 - limit
    // Not each commit writes to both ends.
    guard excess > limit / 16 else { return }
    state.first += min(excess, 2 * count + 1_000)
    try connection.run("DELETE FROM _flotilla_change WHERE n < ?", [.integer(state.first)])
  }

  /// Begins a log in which no cursor of before is found.
  func begin(look: UInt64, at wall: Int64) throws(SQLiteError) {
    let last = ChangeCursor(number: (state?.last.number ?? 0) + 1, mark: Self.newMark())
    try connection.execute("DELETE FROM _flotilla_change")
    // The first entry names no row: it is where a reader begins.
    try connection.run(
      "INSERT INTO _flotilla_change(n, mark, tbl, key) VALUES (?, ?, 0, x'')",
      [.integer(last.number), .integer(last.mark)])
    try meta.set(.changesLook, .integer(Int64(bitPattern: look)))
    try meta.set(.changesRead, .integer(wall))
    state = State(
      first: last.number, last: last, look: Int64(bitPattern: look), readAt: wall)
    (noted, seen, isBroken) = ([], [], false)
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
    (state, noted, seen, isBroken) = (nil, [], [], false)
  }

  /// Six bytes, whatever they are: entries are of one size.
  private static func newMark() -> Int64 { .random(in: 1 << 46..<1 << 47) }

  struct Entry {
    var cursor: ChangeCursor
    var row: Export.RowID
  }

  /// The entries after a cursor; nil if it is not of this log, or what follows it is not kept.
  func entries(after cursor: ChangeCursor, limit: Int) throws(SQLiteError) -> [Entry]? {
    let known = try connection.row(
      "SELECT mark FROM _flotilla_change WHERE n = ?", [.integer(cursor.number)])
    guard known?[0].integer == cursor.mark else { return nil }
    return try connection.rows(
      "SELECT n, mark, tbl, key FROM _flotilla_change WHERE n > ? ORDER BY n LIMIT ?",
      [.integer(cursor.number), .integer(Int64(limit))]
    ).map { row in
      Entry(
        cursor: ChangeCursor(number: row[0].integer ?? 0, mark: row[1].integer ?? 0),
        row: Export.RowID(table: row[2].integer ?? 0, key: Key(bytes: row[3].blob ?? [])))
    }
  }
}
