import Replication
import SQLite

/// Rows that were edited without the right to, and wait until the site's row comes again.
///
/// Whether there are any is known without a look, for it is asked with every row that comes.
final class PutBackTable: FilePart {
  /// What is to be asked for at a time, at most.
  private static let asked = 4_096

  private let connection: Connection
  private(set) var isEmpty = true
  /// How many have begun to wait since the file was opened.
  private var begun: UInt64 = 0

  init(_ connection: Connection) { self.connection = connection }

  /// Looks whether there are any, for instance after a transaction was rolled back.
  func reload() throws(SQLiteError) {
    isEmpty = try connection.row("SELECT 1 FROM _flotilla_putback LIMIT 1") == nil
  }

  /// Another number whenever one more begins to wait; 0 if none does.
  var mark: UInt64 { isEmpty ? 0 : begun + 1 }

  func contains(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    if isEmpty { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_putback WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)]) != nil
  }

  /// A row waits from now on.
  func insert(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    isEmpty = false
    begun += 1
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
    if count > 0 { try reload() }
    return count > 0
  }

  /// The rows that wait.
  func rows() throws(SQLiteError) -> Set<Export.RowID> {
    guard !isEmpty else { return [] }
    return Set(
      try connection.rows("SELECT tbl, key FROM _flotilla_putback").map {
        Export.RowID(table: $0[0].integer ?? 0, key: Key(bytes: $0[1].blob ?? []))
      })
  }

  /// So many rows of these tables as may be asked for at a time.
  func someRows(of tables: [Int64]) throws(SQLiteError) -> [Export.RowID] {
    guard !isEmpty else { return [] }
    let numbers = tables.map { "\($0)" }.joined(separator: ", ")
    return try connection.rows(
      "SELECT tbl, key FROM _flotilla_putback WHERE tbl IN (\(numbers)) LIMIT ?",
      [.integer(Int64(Self.asked))]
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
