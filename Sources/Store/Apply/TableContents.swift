import Replication
import SQLite

/// What the tables of the application show of the rows of the site, and how it gets there.
///
/// A version says 0.5, and the column takes whole numbers alone. What the table does not show as it
/// came is kept beside the row: its content is still the one that its author wrote.
final class TableContents {
  let connection: Connection
  let tables: Tables
  private let shelf: Shelf
  private let changeLog: ChangeLog
  private let versions: VersionTable
  private let derived: DerivedTriggers
  private let lost: LostVersions
  private let conflicts: ConflictLog
  private let viewpoint: PresentViewpoint
  /// Rows that came in the open transaction with a content which does not give their hash.
  var unmatched = UnmatchedContent()

  init(
    _ connection: Connection, _ tables: Tables, _ versions: VersionTable, _ shelf: Shelf,
    _ derived: DerivedTriggers, _ changeLog: ChangeLog, _ lost: LostVersions,
    _ conflicts: ConflictLog, _ viewpoint: PresentViewpoint
  ) {
    (self.connection, self.tables, self.versions) = (connection, tables, versions)
    (self.shelf, self.derived, self.changeLog) = (shelf, derived, changeLog)
    (self.lost, self.conflicts, self.viewpoint) = (lost, conflicts, viewpoint)
  }

  /// What stands of a row, whole: from its table and the columns beside it, or from the shelf.
  ///
  /// Of a deleted row the key alone; nil if the content is not here.
  func content(
    of version: Version?, _ table: ReplicaTable, _ key: Key
  ) throws -> Shelf.Entry? {
    guard let version, !version.isDeleted else { return table.keyEntry(key) }
    let shelved = try shelf.entry(table: table.id, key: key)
    if let shelved, shelved.why.isWhole { return shelved.why == .tooLarge ? nil : shelved }
    return try tableContent(table, key, beside: shelved)
  }

  /// What stands in the table, whatever its version says; nil if no row stands there.
  func tableContent(
    _ table: ReplicaTable, _ key: Key, beside shelved: Shelf.Entry? = nil
  ) throws(SQLiteError) -> Shelf.Entry? {
    guard let statements = table.statements,
      let values = try connection.row(statements.selectByKey, (key.values ?? []).map(\.sqlite))
    else { return nil }
    let shown = values.map(Replication.Value.init)
    let beside = try statements.beside(shelved, shown)
    let names = statements.shape(with: beside.extras).columns
    return Shelf.Entry(
      why: .constraint, values: zip(names, beside.said(shown)).map { (name: $0, value: $1) },
      keyCount: statements.shape.keyCount, rest: beside.rest)
  }

  /// Keeps what is beside a row now, if anything is.
  func keep(
    _ beside: Beside, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    guard !beside.isEmpty else { return try shelf.remove(table: table.id, key: key) }
    let entry = beside.entry(keyCount: statements.shape.keyCount)
    try shelf.put(entry, table: table.id, key: key)
  }

  /// Writes a row of a table of the application; gives the constraint that it would break, or nil.
  func writing(
    _ table: ReplicaTable, _ key: Key, _ body: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) -> String? {
    // A trigger may look at versions, by the views of rows.
    if derived.isOn { try connection.flushQueues() }
    changeLog.note(table, key)
    do {
      try body()
      return nil
    } catch {
      if try derived.isReadOtherwise(after: error, of: table) {
        return try writing(table, key, body)
      }
      return try derived.write(after: error, of: table, body)
    }
  }

  /// Whether another machine has written a row, and not its migration alone.
  func isTheirs(_ version: Version) -> Bool {
    version.edit.origin != viewpoint.value.own && version.image == nil
  }

  /// Keeps a row whole that is replaced without anybody having made a version of it.
  func logUnseen(
    _ values: [SQLite.Value], _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    by winner: Shelf.Entry?, at moment: Int64
  ) throws {
    // It is as it was when the site stopped tracking the table.
    let content = statements.contentHash(values.map(Replication.Value.init))
    let standing = try versions.version(table: table.id, key: key)
    if let ended = try lost.ended(table, key), ended.hash == content,
      standing?.hasSeen(ended) ?? true
    {
      return
    }
    let named = zip(statements.shape.columns, values)
      .map { (name: $0, value: Replication.Value($1)) }
    let entry = Shelf.Entry(
      why: .constraint, values: named, keyCount: statements.shape.keyCount)
    let loser = ConflictSide(foundBy: viewpoint.value.own, entry)
    // It was refused, and waited to be put back.
    if let refused = try conflicts.latest(table.name, key, .notAllowed), refused.state == .open,
      refused.loser?.showsTheSame(as: loser) == true
    {
      return
    }
    try conflicts.put(
      table.name, key, at: moment, .unseen, loser: loser,
      winner: winner.map { ConflictSide(standing, $0) })
  }
}
