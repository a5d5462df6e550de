import Replication
import SQLite

/// Rows that a program writes where another one is parked under the same key, or has gone with its
/// table. It could not see that one, so it has not written over it: the two edits are concurrent,
/// and what was parked or gone loses.
extension Store {
  /// A version that stands and was not seen by who has written under its key, and what it says if
  /// that is here.
  struct Hidden {
    var version: Version
    var content: Shelf.Entry?
    /// Whether the row stood in its table: he knew it as it was before.
    var isKnownRow = false
    /// Whether it goes on to stand: an anchor has certified it, and is yet to judge the edit.
    var standsOn = false
  }

  /// What stands and was not seen by who has written a row under its key.
  func unseen(
    _ held: Version, beside shelved: Shelf.Entry?, _ mark: UnseenMarks.Mark?,
    _ table: ReplicaTable, _ key: Key
  ) throws -> Hidden? {
    try hide(held, beside: shelved, table, key)
      ?? overlooked(held, beside: shelved, mark, table, key)
  }

  /// A row that has stood in its table, and that a program says it had not seen when it wrote that;
  /// nil if it does not say so. What this node has made it has seen, whoever writes for it.
  func overlooked(
    _ held: Version, beside shelved: Shelf.Entry?, _ mark: UnseenMarks.Mark?,
    _ table: ReplicaTable, _ key: Key
  ) throws -> Hidden? {
    guard let mark, repeating == nil, shelved?.why.isWhole != true, !isOwn(held.edit.origin),
      let statements = table.statements
    else { return nil }
    let content =
      held.isDeleted
      ? table.keyEntry(key) : try mark.content(of: held, statements, beside: shelved)
    let standsOn =
      office.isHeld && !office.certifies && !held.isTentative && held.epoch > 0 && content != nil
    return Hidden(version: held, content: content, isKnownRow: true, standsOn: standsOn)
  }

  /// What stood when a program wrote a row, or deleted it, is kept for an anchor or for a log, as
  /// far as that is to be. What goes on to stand ranks above what was written.
  func leave(
    _ old: Version, _ hidden: Hidden?, under version: inout Version, _ row: StandingRow?,
    _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    try holdOverwritten(old, hidden?.content, table, key)
    guard let hidden else { return }
    if hidden.standsOn {
      version.epoch = hidden.version.epoch - 1
    } else {
      try leave(hidden, under: version, row, table, key, at: moment)
    }
  }

  /// What is written without having seen what an anchor has certified ranks below that, as it does
  /// wherever two machines write. So that comes back into its table, until the anchor has judged:
  /// else it would have lost for its author for that while.
  func comeBack(
    _ hidden: Hidden, _ table: ReplicaTable, _ key: Key, _ edits: inout Edits, at moment: Int64
  ) throws {
    let now = Instant(at: moment)
    try meet(hidden.version, hidden.content, table, key, &edits, at: now)
  }

  /// Takes a row off the shelf whose key a program has written; nil if none is parked there.
  func hide(
    _ held: Version, beside shelved: Shelf.Entry?, _ table: ReplicaTable, _ key: Key
  ) throws -> Hidden? {
    guard let shelved, shelved.why.isWhole else { return nil }
    try shelf.remove(table: table.id, key: key)
    // Who writes a row that is parked knowing of it has seen what it says.
    if try takeDismissal(table, key) || held.isDeleted { return nil }
    return Hidden(version: held, content: shelved.why == .tooLarge ? nil : shelved)
  }

  /// Whether a row that went with its table may have stood in the one that has its name now when a
  /// program wrote it. One that came back with the table is found by the comparison; before that
  /// nothing tells which rows did.
  func mayHaveStood(_ table: ReplicaTable, _ edits: Edits) throws(SQLiteError) -> Bool {
    if edits.isComparing { return true }
    guard let phase = try tables.comparison(of: table.id)?.phase else { return false }
    return phase == .rows || phase == .firstRows
  }

  /// So many rows of before are looked for in a table that was made again.
  private static let mostPutBack = 50

  /// Whether rows that went with a table are in it again, as they were or as a migration copies
  /// them. Each statement of that may have been a transaction of its own.
  func isPutBack(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    if let known = lost.hasReturned(table) { return known }
    guard let statements = table.statements else { return false }
    for (key, gone) in try lost.dropped(table, limit: Self.mostPutBack) {
      guard let row = try StandingRow.read(key, statements, on: connection) else { continue }
      let shelved = try shelf.entry(table: table.id, key: key)
      let beside = try row.beside(shelved, statements, key, on: connection)
      let (hash, now) = (row.hash(beside), Dating.Moment(gone.stamp.millisecondsSince1970))
      _ = try putBack(row, gone, hash, table, statements, beside, at: now)
      if lost.hasReturned(table) == true { return true }
    }
    lost.noteReturn(of: table, false)
    return false
  }

  func isDismissed(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_dismissed WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)]) != nil
  }

  /// Whether somebody has given up a parked row, knowing of it; that is forgotten.
  func takeDismissal(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    try connection.run(
      "DELETE FROM _flotilla_dismissed WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)]) > 0
  }

  /// What was parked gives way to what a program has written under its key. Where that key is a
  /// number, and the two are two rows, it is made again under another one.
  func leave(
    _ hidden: Hidden, under version: Version, _ row: StandingRow?, _ table: ReplicaTable,
    _ key: Key, at moment: Int64
  ) throws {
    guard version.isAnother(than: hidden.version) else {
      return try logHidden(hidden, under: version, row, table, key, at: moment)
    }
    let now = Instant(at: moment)
    try noteCollision(hidden.version, hidden.content, under: version, table, key, at: now) {
      winner(version, row, table, key)
    }
  }

  /// What a program has written over a row that it had not seen, for the log.
  private func winner(
    _ version: Version, _ row: StandingRow?, _ table: ReplicaTable, _ key: Key
  ) -> ConflictSide {
    guard let values = row?.values, let statements = table.statements else {
      return ConflictSide(version, table.keyEntry(key))
    }
    let named = zip(statements.shape.columns, values).map { (name: $0, value: $1) }
    return ConflictSide(
      version, Shelf.Entry(why: .constraint, values: named, keyCount: statements.shape.keyCount))
  }

  /// Notes what was not seen where nobody else will: other nodes take the later edit of one author
  /// for one that has seen the earlier. No author may be left to see it lose, and an anchor has a
  /// log of its own. What is yet to be judged is kept for that.
  private func logHidden(
    _ hidden: Hidden, under version: Version, _ row: StandingRow?, _ table: ReplicaTable,
    _ key: Key, at moment: Int64
  ) throws {
    let (old, origin) = (hidden.version, hidden.version.edit.origin)
    guard old.hash != version.hash else { return }
    // What shows an edit of this node goes for that.
    if origin != own, old.image?.origin != own {
      let viewpoint = viewpoint
      guard !viewpoint.isUndecided(old) else { return }
      let isKeptHere =
        viewpoint.isOwn(origin) || viewpoint.departed.contains(origin) || office.certifies
      guard isKeptHere else { return }
    }
    try logLoser(
      old, hidden.content, table, key, winner(version, row, table, key),
      at: Instant(at: moment))
  }
}
