import Replication
import SQLite

/// Rows that were edited without the right to, and wait until the site's row comes again.
///
/// Whether there are any is known without a look, for it is asked with every row that comes.
final class PutBackTable: FilePart {
  /// What is to be asked for at a time, at most. As soon as half of it has come, the next ones are:
  /// a peer keeps no more than twice as many in mind (`Session.hear`).
  static let asked = 8 * Limits.wantedRows

  private let connection: Connection
  private(set) var isEmpty = true
  /// How often more was to be asked for since the file was opened.
  private var turns: UInt64 = 0
  /// Those that have begun to wait since something was asked for: nobody has been asked yet, so
  /// they come first.
  private var fresh: [Export.RowID] = []
  /// The last one of the others that was asked for; nil at the beginning.
  private var last: Export.RowID?
  /// How many were asked for last, and how many have come since.
  private var answers = (asked: 0, come: 0)

  init(_ connection: Connection) { self.connection = connection }

  /// Looks whether there are any, for instance after a transaction was rolled back.
  func reload() throws(SQLiteError) {
    isEmpty = try connection.row("SELECT 1 FROM _flotilla_putback LIMIT 1") == nil
  }

  /// Another number whenever one more begins to wait, or much has come of what was asked for; 0 if
  /// none waits.
  var mark: UInt64 { isEmpty ? 0 : turns + 1 }

  /// Whether the next ones are the first of all again: who was asked for them before may not know
  /// them.
  var isAtStart: Bool { last == nil }

  func contains(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    if isEmpty { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_putback WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)]) != nil
  }

  /// A row waits from now on.
  func insert(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    isEmpty = false
    turns += 1
    let row = Export.RowID(table: table.id, key: key)
    if fresh.count < Self.asked { fresh.append(row) }
    try connection.run(
      "INSERT OR IGNORE INTO _flotilla_putback(tbl, key) VALUES (?, ?)",
      [.integer(table.id), .blob(key.bytes)])
  }

  /// True if the row was waiting.
  @discardableResult
  func remove(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard !isEmpty else { return false }
    let count = try connection.run(
      "DELETE FROM _flotilla_putback WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)])
    guard count > 0 else { return false }
    try reload()
    answers.come += 1
    if answers.asked > 0, 2 * answers.come >= answers.asked {
      turns += 1
      answers = (0, 0)
    }
    return true
  }

  /// The rows that wait.
  func rows() throws(SQLiteError) -> Set<Export.RowID> {
    guard !isEmpty else { return [] }
    return Set(
      try connection.rows("SELECT tbl, key FROM _flotilla_putback").map {
        Export.RowID(table: $0[0].integer ?? 0, key: Key(bytes: $0[1].blob ?? []))
      })
  }

  /// So many rows of these tables as may be asked for at a time: the next ones each time, and the
  /// first ones again after the last.
  ///
  /// There may be thousands that nobody knows. The row behind them is known, and has its turn. One
  /// whose key is longer than may be asked for has none.
  func nextRows(of tables: [Int64]) throws(SQLiteError) -> [Export.RowID] {
    guard !isEmpty else { return [] }
    let isNew = Set(fresh)
    var found: [Export.RowID] = []
    for row in isNew where tables.contains(row.table) && row.key.bytes.count <= Limits.wantedKey {
      let name: [SQLite.Value] = [.integer(row.table), .blob(row.key.bytes)]
      let text = "SELECT 1 FROM _flotilla_putback WHERE tbl = ? AND key = ?"
      if try connection.row(text, name) != nil { found.append(row) }
    }
    fresh = []
    let room = Self.asked - found.count
    let others = room > 0 ? try rows(of: tables, after: last, limit: room) : []
    if room > 0 { last = others.count < room ? nil : others.last }
    found += others.filter { !isNew.contains($0) }
    answers = (found.count, 0)
    return found
  }

  private func rows(
    of tables: [Int64], after last: Export.RowID?, limit: Int
  ) throws(SQLiteError) -> [Export.RowID] {
    let numbers = tables.map { "\($0)" }.joined(separator: ", ")
    return try connection.rows(
      """
      SELECT tbl, key FROM _flotilla_putback WHERE tbl IN (\(numbers)) AND length(key) <= ?
        AND (tbl, key) > (?, ?) ORDER BY tbl, key LIMIT ?
      """,
      [
        .integer(Int64(Limits.wantedKey)), .integer(last?.table ?? .min),
        .blob(last?.key.bytes ?? []), .integer(Int64(limit)),
      ]
    ).map { Export.RowID(table: $0[0].integer ?? 0, key: Key(bytes: $0[1].blob ?? [])) }
  }

  /// Nobody tracks the table any more.
  func forget(_ table: Int64) throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_putback WHERE tbl = ?", [.integer(table)])
    try reload()
  }

  /// Their versions: not handed on, so that what is handed on does not cover them.
  func dots(_ origins: Origins) throws(SQLiteError) -> [Dot] {
    guard !isEmpty else { return [] }
    return try connection.rows(
      """
      SELECT v.origin, v.seq FROM _flotilla_putback AS p
      JOIN _flotilla_version AS v ON v.tbl = p.tbl AND v.key = p.key
      """
    ).compactMap { row in
      origins.origin(of: row[0].integer ?? 0).map { Dot($0, UInt64(clamping: row[1].integer ?? 0)) }
    }
  }
}
