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
    /// Where it was made again; nil until the one who does so has told.
    var next: Place?
    /// The edit whose content was taken along.
    var edit: Dot?
  }

  /// As far as is followed from one key to the next.
  private static let longest = 64

  private let connection: Connection
  private let origins: Origins
  /// Of one table so many places are kept, whatever members claim.
  private static let mostPlaces = 100_000

  private var counts: [Int64: Int] = [:]
  var isEmpty: Bool { counts.isEmpty }

  init(_ connection: Connection, origins: Origins) throws(SQLiteError) {
    (self.connection, self.origins) = (connection, origins)
    try reload()
  }

  func reload() throws(SQLiteError) {
    counts = [:]
    guard try Layout.hasTable("_flotilla_former", on: connection) else { return }
    for row in try connection.rows("SELECT tbl, count(*) FROM _flotilla_former GROUP BY tbl") {
      if let table = row[0].integer, let count = row[1].integer { counts[table] = Int(count) }
    }
  }

  /// Notes that a row has lost its key.
  func note(_ place: Place) throws(SQLiteError) {
    guard counts[place.table, default: 0] < Self.mostPlaces else { return }
    counts[place.table, default: 0] += try connection.run(
      "INSERT OR IGNORE INTO _flotilla_former(tbl, key, origin, seq) VALUES (?, ?, ?, ?)",
      try arguments(place))
  }

  /// Notes where it was made again; false if that was known, or there is no room for it.
  ///
  /// Of two that made it again the first one in order of the keys counts.
  func note(_ place: Place, next: Place, edit: Dot) throws(SQLiteError) -> Bool {
    // It went there, and has come back.
    if try after(next).contains(place) { return false }
    let known = try entry(place)
    if let before = known?.next, !((next.key, next.created) < (before.key, before.created)) {
      return false
    }
    if known == nil { try note(place) }
    return try connection.run(
      """
      UPDATE _flotilla_former
      SET next = ?5, norigin = ?6, nseq = ?7, eorigin = ?8, eseq = ?9
      WHERE tbl = ?1 AND key = ?2 AND origin = ?3 AND seq = ?4
      """,
      try arguments(place) + [
        .blob(next.key.bytes), .integer(try origins.number(of: next.created.origin)),
        .integer(Int64(next.created.seq)), .integer(try origins.number(of: edit.origin)),
        .integer(Int64(edit.seq)),
      ]) > 0
  }

  /// The row has the key again that it had to leave, or was to leave: from wherever it was since it
  /// goes there.
  func turnBack(to place: Place) throws(SQLiteError) {
    guard try entry(place) != nil else { return }
    let left = try after(place)
    counts[place.table, default: 0] -= try connection.run(
      "DELETE FROM _flotilla_former WHERE tbl = ? AND key = ? AND origin = ? AND seq = ?",
      try arguments(place))
    for other in left {
      try note(other)
      try connection.run(
        """
        UPDATE _flotilla_former SET next = ?5, norigin = ?6, nseq = ?7
        WHERE tbl = ?1 AND key = ?2 AND origin = ?3 AND seq = ?4
        """,
        try arguments(other) + [
          .blob(place.key.bytes), .integer(try origins.number(of: place.created.origin)),
          .integer(Int64(place.created.seq)),
        ])
    }
  }

  /// What the row was before, from one key to the next, the latest first.
  func before(_ place: Place) throws(SQLiteError) -> [Place] {
    guard !isEmpty else { return [] }
    var found: [Place] = []
    var next = place
    while found.count < Self.longest,
      // The table is the least that tells them apart: SQLite is not to begin with it.
      let entry = try entry(
        "+tbl = ? AND next = ? AND norigin = ? AND nseq = ?", try arguments(next))
    {
      next = entry.place
      found.append(next)
    }
    return found
  }

  /// What became of the row since, the latest last.
  func after(_ place: Place) throws(SQLiteError) -> [Place] {
    var found: [Place] = []
    while found.count < Self.longest, let next = try entry(found.last ?? place)?.next {
      found.append(next)
    }
    return found
  }

  func entry(_ place: Place) throws(SQLiteError) -> Entry? {
    guard !isEmpty, origins.knownNumber(of: place.created.origin) != nil else { return nil }
    return try entry("tbl = ? AND key = ? AND origin = ? AND seq = ?", try arguments(place))
  }

  /// Whether a row has left this place, or has come there from another one.
  func knows(_ place: Place) throws(SQLiteError) -> Bool {
    if try entry(place)?.next != nil { return true }
    return try !before(place).isEmpty
  }

  /// Whether the row that an edit wrote under a key goes on under another one. What others wrote in
  /// it, and not last, is not known as such.
  func hasLeft(_ key: Key, of table: Int64, _ edit: Dot) throws(SQLiteError) -> Bool {
    guard !isEmpty, let number = origins.knownNumber(of: edit.origin) else { return false }
    return try connection.row(
      """
      SELECT 1 FROM _flotilla_former
      WHERE tbl = ?1 AND key = ?2 AND next <> ?2
        AND (origin = ?3 AND seq = ?4 OR eorigin = ?3 AND eseq = ?4
          OR origin = ?3 AND eorigin = ?3 AND ?4 BETWEEN seq AND eseq)
      LIMIT 1
      """,
      [.integer(table), .blob(key.bytes), .integer(number), .integer(Int64(clamping: edit.seq))])
      != nil
  }

  /// Whether somebody is yet to make the row again that an edit made.
  func isAwaited(_ created: Dot) throws(SQLiteError) -> Bool {
    guard !isEmpty, let number = origins.knownNumber(of: created.origin) else { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_former WHERE origin = ? AND seq = ? AND next IS NULL LIMIT 1",
      [.integer(number), .integer(Int64(clamping: created.seq))]) != nil
  }

  /// Rows and edits of a life have other names in the next one.
  func rename(_ names: inout Reissue, _ numbers: inout Edits) throws(SQLiteError) {
    guard !isEmpty, let number = origins.knownNumber(of: names.old) else { return }
    for (origin, seq) in [("origin", "seq"), ("norigin", "nseq"), ("eorigin", "eseq")] {
      let doubtful = try connection.rows(
        "SELECT DISTINCT \(seq) FROM _flotilla_former WHERE \(origin) = ? AND \(seq) > ?",
        [.integer(number), .integer(Int64(clamping: names.common))])
      for case .integer(let before) in doubtful.map({ $0[0] }) {
        let dot = Dot(names.old, UInt64(before))
        let name =
          origin == "eorigin"
          ? names.edit(dot, &numbers) : names.row(Creation(at: .zero, dot: dot), &numbers).dot
        try connection.run(
          """
          UPDATE OR REPLACE _flotilla_former SET \(origin) = ?, \(seq) = ?
          WHERE \(origin) = ? AND \(seq) = ?
          """,
          [
            .integer(try origins.number(of: name.origin)), .integer(Int64(name.seq)),
            .integer(number), .integer(before),
          ])
      }
    }
    try reload()
  }

  func forget(table: Int64) throws(SQLiteError) {
    guard counts.removeValue(forKey: table) != nil else { return }
    try connection.run("DELETE FROM _flotilla_former WHERE tbl = ?", [.integer(table)])
  }

  private func arguments(_ place: Place) throws(SQLiteError) -> [SQLite.Value] {
    [
      .integer(place.table), .blob(place.key.bytes),
      .integer(try origins.number(of: place.created.origin)),
      .integer(Int64(place.created.seq)),
    ]
  }

  /// The first one in order: members may claim any number of places for one row.
  private func entry(
    _ condition: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> Entry? {
    let row = try connection.row(
      """
      SELECT tbl, key, origin, seq, next, norigin, nseq, eorigin, eseq
      FROM _flotilla_former WHERE \(condition) LIMIT 1
      """, arguments)
    guard let row, let table = row[0].integer, let key = row[1].blob,
      let created = dot(row[2], row[3])
    else { return nil }
    var next: Place?
    if let key = row[4].blob, let made = dot(row[5], row[6]) {
      next = Place(table: table, key: Key(bytes: key), created: made)
    }
    return Entry(
      place: Place(table: table, key: Key(bytes: key), created: created),
      next: next, edit: dot(row[7], row[8]))
  }

  private func dot(_ origin: SQLite.Value, _ seq: SQLite.Value) -> Dot? {
    guard let origin = origin.integer.flatMap({ origins.origin(of: $0) }),
      let seq = seq.integer.flatMap({ UInt64(exactly: $0) }), seq > 0
    else { return nil }
    return Dot(origin, seq)
  }
}
