import Replication
import SQLite

/// A version that lost without having been seen, with what stands.
package struct Conflict: Sendable {
  package enum State: String, Sendable {
    case open
    case restored
    case dismissed
    /// The row goes on under a fresh key.
    case rekeyed
  }

  package var id: Int64
  package var table: String
  package var key: Key
  /// What the columns of its key were called when it was noted, by their names here.
  package var keyNames: [String] = []
  /// False if neither side tells, and the table may have had another key then.
  package var isKeyCertain = true
  /// When it was noticed, ms since 1970.
  package var at: Int64
  package var reason: String
  /// The rule by which it lost; empty if no rule was asked.
  package var rule: String
  package var state: State
  /// Nil if what lost was a row of which only the key is known.
  package var loser: ConflictSide?
  package var winner: ConflictSide?
}

/// The conflicts of this node: losers whole, each once.
struct ConflictLog {
  let connection: Connection
  /// What was noted since the shares of others were looked at.
  private let since = Since()

  private final class Since {
    var bytes = 0
  }

  init(connection: Connection) { self.connection = connection }

  /// Notes a conflict; one that is known by its losing edit is not noted again.
  ///
  /// Nor is one about the names of tables and columns: machines write those down themselves, and
  /// what loses is no name any more. People could neither judge it nor bring it back.
  func put(
    _ table: String, _ key: Key, at moment: Int64, _ reason: Reason, rule: String = "",
    loser: ConflictSide?, winner: ConflictSide?
  ) throws(SQLiteError) {
    guard !isSameName(table, Renames.settings) else { return }
    let (lost, stands) = (loser?.bytes, winner?.bytes)
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_conflict(
        id, name, key, at, reason, rule, origin, seq, loser, winner)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        try nextNumber(),
        .string(table), .blob(key.bytes), .integer(moment), .string(reason.name), .string(rule),
        loser?.first.map { .integer(Int64(bitPattern: $0.origin.rawValue)) } ?? .null,
        loser?.first.map { .integer(Int64($0.seq)) } ?? .null,
        lost.map { .blob($0) } ?? .null, stands.map { .blob($0) } ?? .null,
      ])
    try trimShares(after: (lost?.count ?? 0) + (stands?.count ?? 0))
  }

  /// A number that none has had: people write them down. SQLite chooses where none is above.
  private func nextNumber() throws(SQLiteError) -> SQLite.Value {
    let newest = try newestNumber()
    return newest < .max ? .integer(newest + 1) : .null
  }

  private func newestNumber() throws(SQLiteError) -> Int64 {
    let here = try connection.scalar(
      """
      SELECT max(id) FROM (SELECT max(id) AS id FROM _flotilla_conflict
      UNION ALL SELECT max(id) FROM _flotilla_rekeyed)
      """
    ).integer
    return max(here ?? 0, try Meta(connection: connection).integer(.conflictNewest) ?? 0)
  }

  /// Takes out what turns out to be no conflict, now that columns of a table are known to be one.
  ///
  /// Those are rows that were here before, and that the site has with its own names of columns.
  ///
  /// - Parameter renamed: what the site calls a column, by its name here, in small letters.
  func forgetEqual(_ table: String, renamed: [String: String]) throws(SQLiteError) {
    let isEqual = { (conflict: Conflict) -> Bool in
      guard let loser = conflict.loser, let winner = conflict.winner, !loser.isDeleted,
        loser.stamp == nil || loser.stamp == Stamp.beforeSite
      else { return false }
      return winner.says(all: loser.values, renamed: renamed)
    }
    var last: Int64 = 0
    while case let found = try list(
      "WHERE name = ? AND id > ? AND state = 'open' ORDER BY id LIMIT 500",
      [.string(table), .integer(last)]), let newest = found.last
    {
      _ = try remove(found.filter(isEqual).map(\.id))
      last = newest.id
    }
  }

  /// What goes was the oldest; settled ones go first: nobody misses what was restored or dismissed.
  /// None goes for its age where nobody knows what time it is.
  func excess(of bounds: ConflictBounds, at now: Int64?) throws(SQLiteError) -> [Int64] {
    var oldest = Int64.min
    if let now { oldest = now - Int64(clamping: bounds.days) * 86_400_000 }
    // Of an entry that is no more, its fresh key may be left.
    let gone = try connection.integers(
      """
      SELECT id FROM _flotilla_conflict WHERE at < ?
      UNION ALL SELECT id FROM _flotilla_rekeyed
      WHERE id NOT IN (SELECT id FROM _flotilla_conflict)
      """, [.integer(oldest)])
    var recent = Int64.max
    if let now { recent = now - Int64(ConflictBounds.recentDays) * 86_400_000 }
    return try gone + bounds.excess(of: entries(since: oldest, recent: recent))
  }

  /// Lets go of these, with their fresh keys; tells how many were here.
  func remove(_ ids: [Int64]) throws(SQLiteError) -> Int {
    guard !ids.isEmpty else { return 0 }
    // Nor does another conflict get the number of one of these.
    try Meta(connection: connection).set(.conflictNewest, .integer(try newestNumber()))
    var count = 0
    for id in ids {
      count += try connection.run("DELETE FROM _flotilla_conflict WHERE id = ?", [.integer(id)])
      try connection.run("DELETE FROM _flotilla_rekeyed WHERE id = ?", [.integer(id)])
    }
    return count
  }

  /// Lets go of what others have lost beyond their share, once enough has come since that was
  /// looked at; where somebody chose a count that holds.
  private func trimShares(after bytes: Int) throws(SQLiteError) {
    since.bytes += bytes
    guard since.bytes > ConflictBounds.bytesOfOne / 2 else { return }
    since.bytes = 0
    let meta = Meta(connection: connection)
    guard try meta.integer(.conflictCount) == nil else { return }
    let bounds = ConflictBounds(count: .max, bytes: .max)
    let gone = try remove(bounds.excess(of: entries()))
    guard gone > 0 else { return }
    try meta.set(.conflictsGone, .integer((try meta.integer(.conflictsGone) ?? 0) + Int64(gone)))
  }

  /// All entries from the newest on. The larger side of each is paid for.
  private func entries(
    since oldest: Int64 = .min, recent: Int64 = .max
  ) throws(SQLiteError) -> [ConflictBounds.Entry] {
    guard try Layout.hasTable("_flotilla_author", on: connection) else { return [] }
    let own = try Meta(connection: connection).text(.node)
    var nodes: [Int64: String] = [:]
    for row in try connection.rows("SELECT origin, node FROM _flotilla_author") {
      if let origin = row[0].integer { nodes[origin] = row[1].string }
    }
    return try connection.with(
      """
      SELECT id, state = 'open', \(Self.size), CASE WHEN length(winner) > ifnull(length(loser), 0)
        THEN substr(winner, 1, 9) ELSE origin END, at >= ?
      FROM _flotilla_conflict WHERE at >= ? ORDER BY id DESC
      """, [.integer(recent), .integer(oldest)]
    ) { (statement) throws(SQLiteError) in
      var entries: [ConflictBounds.Entry] = []
      while try statement.step() {
        var author: Int64?
        switch statement.value(3) {
        case .integer(let origin): author = origin
        case .blob(let side) where side.count == 9:
          author = Int64(bitPattern: side.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        default: break
        }
        // An origin whose owner nobody knows pays for itself.
        let node = author.map { $0 == 0 ? own : nodes[$0] ?? "\($0)" } ?? own
        entries.append(
          ConflictBounds.Entry(
            id: statement.integer(0), isOpen: statement.integer(1) != 0,
            isRecent: statement.integer(4) != 0, bytes: Int(statement.integer(2)),
            payer: node == own ? nil : node))
      }
      return entries
    }
  }

  /// What all take, about: values, and what SQLite needs for a row and its places in the indexes.
  func bytes() throws(SQLiteError) -> Int {
    let sum = try connection.scalar("SELECT sum(\(Self.size)) FROM _flotilla_conflict")
    return Int(sum.integer ?? 0)
  }

  private static let size = """
    2 * (length(name) + length(key)) + length(rule) + ifnull(length(loser), 0)
    + ifnull(length(winner), 0) + 76
    """

  func list(_ condition: String, _ arguments: [SQLite.Value]) throws(SQLiteError) -> [Conflict] {
    try connection.rows(
      """
      SELECT id, name, key, at, reason, rule, state, loser, winner FROM _flotilla_conflict
      \(condition)
      """, arguments
    ).map { row in
      Conflict(
        id: row[0].integer ?? 0, table: row[1].string ?? "", key: Key(bytes: row[2].blob ?? []),
        at: row[3].integer ?? 0, reason: row[4].string ?? "", rule: row[5].string ?? "",
        state: row[6].string.flatMap(Conflict.State.init) ?? .open,
        loser: row[7].blob.flatMap(ConflictSide.init),
        winner: row[8].blob.flatMap(ConflictSide.init))
    }
  }

  /// The one in which this edit lost.
  func number(of edit: Dot) throws(SQLiteError) -> Int64? {
    try connection.scalar(
      "SELECT id FROM _flotilla_conflict WHERE origin = ? AND seq = ?",
      [.integer(Int64(bitPattern: edit.origin.rawValue)), .integer(Int64(edit.seq))]
    ).integer
  }

  /// The last one of a row that was noted for a reason.
  func latest(_ table: String, _ key: Key, _ reason: Reason) throws(SQLiteError) -> Conflict? {
    try list(
      "WHERE name = ? AND key = ? AND reason = ? ORDER BY id DESC LIMIT 1",
      [.string(table), .blob(key.bytes), .string(reason.name)]
    ).first
  }

  /// The row that lost its key goes on under a fresh one, and so many others with it.
  func noteRekeyed(_ edit: Dot, next: Key, rows: Int) throws(SQLiteError) {
    let name: [SQLite.Value] = [
      .integer(Int64(bitPattern: edit.origin.rawValue)), .integer(Int64(edit.seq)),
    ]
    try connection.run(
      "UPDATE _flotilla_conflict SET state = 'rekeyed' WHERE origin = ? AND seq = ?", name)
    try connection.run(
      """
      INSERT OR REPLACE INTO _flotilla_rekeyed(id, key, rows)
      SELECT id, ?3, ?4 FROM _flotilla_conflict WHERE origin = ?1 AND seq = ?2
      """, name + [.blob(next.bytes), .integer(Int64(rows))])
  }

  /// The same of one that is known by its number in the log.
  func noteRekeyed(_ id: Int64, next: Key, rows: Int) throws(SQLiteError) {
    try set(.rekeyed, of: id)
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_rekeyed(id, key, rows) VALUES (?, ?, ?)",
      [.integer(id), .blob(next.bytes), .integer(Int64(rows))])
  }

  /// More rows have followed it.
  func noteFollowed(_ edit: Dot, rows: Int) throws(SQLiteError) {
    try connection.run(
      """
      UPDATE _flotilla_rekeyed SET rows = rows + ?3
      WHERE id IN (SELECT id FROM _flotilla_conflict WHERE origin = ?1 AND seq = ?2)
      """,
      [
        .integer(Int64(bitPattern: edit.origin.rawValue)), .integer(Int64(edit.seq)),
        .integer(Int64(rows)),
      ])
  }

  /// The row that went on under that key has its own again.
  func noteReturned(_ table: String, from key: Key) throws(SQLiteError) {
    try connection.run(
      """
      UPDATE _flotilla_conflict SET state = 'restored' WHERE name = ? AND state = 'rekeyed'
        AND id IN (SELECT id FROM _flotilla_rekeyed WHERE key = ?)
      """, [.string(table), .blob(key.bytes)])
  }

  /// Under which key the row goes on that lost in a conflict, and how many others have followed it.
  func rekeyed(_ id: Int64) throws(SQLiteError) -> (key: Key, rows: Int)? {
    guard try Layout.hasTable("_flotilla_rekeyed", on: connection) else { return nil }
    let row = try connection.row(
      "SELECT key, rows FROM _flotilla_rekeyed WHERE id = ?", [.integer(id)])
    guard let row, let key = row[0].blob else { return nil }
    return (Key(bytes: key), Int(row[1].integer ?? 0))
  }

  /// False if it is on the list no more.
  func dismiss(_ id: Int64) throws(SQLiteError) -> Bool {
    try connection.run(
      """
      UPDATE _flotilla_conflict SET state = 'dismissed'
      WHERE id = ? AND state IN ('open', 'rekeyed')
      """, [.integer(id)]) > 0
  }

  func set(_ state: Conflict.State, of id: Int64) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_conflict SET state = ? WHERE id = ?",
      [.string(state.rawValue), .integer(id)])
  }
}
