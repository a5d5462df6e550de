import Replication
import SQLite

/// The rows that had to leave their key to another one, and under which they go on, as far as that
/// is known here.
final class FormerKeys {
  struct Place: Hashable {
    var table: Int64
    var key: Key
    /// The edit that made the row under that key.
    var created: Dot
  }

  struct Entry {
    var place: Place
    /// Nil until the one who makes it again has told.
    var next: Key?
    /// The edit whose content was taken along.
    var edit: Dot?
  }

  private let connection: Connection
  private let origins: Origins
  private(set) var count = 0

  init(_ connection: Connection, origins: Origins) throws(SQLiteError) {
    (self.connection, self.origins) = (connection, origins)
    try reload()
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_former", on: connection) else { return count = 0 }
    count = Int(try connection.scalar("SELECT count(*) FROM _flotilla_former").integer ?? 0)
  }

  /// Notes that a row has lost its key.
  func note(_ place: Place) throws(SQLiteError) {
    count += try connection.run(
      "INSERT OR IGNORE INTO _flotilla_former(tbl, key, origin, seq) VALUES (?, ?, ?, ?)",
      try arguments(place))
  }

  /// Notes under which key it goes on; false if that was known.
  ///
  /// Of two that made it again the first one in order of the keys counts.
  func note(_ place: Place, next: Key, edit: Dot) throws(SQLiteError) -> Bool {
    let known = try entry(place)
    if let before = known?.next, !(next < before) { return false }
    if known == nil { try note(place) }
    try connection.run(
      """
      UPDATE _flotilla_former SET next = ?5, eorigin = ?6, eseq = ?7
      WHERE tbl = ?1 AND key = ?2 AND origin = ?3 AND seq = ?4
      """,
      try arguments(place) + [
        .blob(next.bytes), .integer(try origins.number(of: edit.origin)),
        .integer(Int64(edit.seq)),
      ])
    return true
  }

  func entry(_ place: Place) throws(SQLiteError) -> Entry? {
    guard count > 0, origins.knownNumber(of: place.created.origin) != nil else { return nil }
    return try entries(
      "tbl = ? AND key = ? AND origin = ? AND seq = ?", try arguments(place)
    ).first
  }

  /// What is known of the row that an edit made: mostly nothing.
  func entries(of created: Dot) throws(SQLiteError) -> [Entry] {
    guard count > 0, let number = origins.knownNumber(of: created.origin) else { return [] }
    return try entries(
      "origin = ? AND seq = ?", [.integer(number), .integer(Int64(created.seq))])
  }

  /// The row has its key again.
  func remove(_ place: Place) throws(SQLiteError) {
    count -= try connection.run(
      "DELETE FROM _flotilla_former WHERE tbl = ? AND key = ? AND origin = ? AND seq = ?",
      try arguments(place))
  }

  func forget(table: Int64) throws(SQLiteError) {
    guard count > 0 else { return }
    count -= try connection.run(
      "DELETE FROM _flotilla_former WHERE tbl = ?", [.integer(table)])
  }

  private func arguments(_ place: Place) throws(SQLiteError) -> [SQLite.Value] {
    [
      .integer(place.table), .blob(place.key.bytes),
      .integer(try origins.number(of: place.created.origin)),
      .integer(Int64(place.created.seq)),
    ]
  }

  private func entries(
    _ condition: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [Entry] {
    try connection.rows(
      """
      SELECT tbl, key, origin, seq, next, eorigin, eseq FROM _flotilla_former WHERE \(condition)
      """, arguments
    ).compactMap { row in
      guard let table = row[0].integer, let key = row[1].blob,
        let origin = row[2].integer.flatMap({ origins.origin(of: $0) }), let seq = row[3].integer
      else { return nil }
      let edit = row[5].integer.flatMap { origins.origin(of: $0) }.flatMap { origin in
        row[6].integer.map { Dot(origin, UInt64($0)) }
      }
      return Entry(
        place: Place(table: table, key: Key(bytes: key), created: Dot(origin, UInt64(seq))),
        next: row[4].blob.map(Key.init), edit: edit)
    }
  }
}
