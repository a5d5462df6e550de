import Replication
import SQLite

/// The version that stands of each row: with each that comes or goes the digests, the figures, the
/// log of changes and what is parked follow.
final class RowVersions {
  private let connection: Connection
  private let tables: Tables
  private let versions: VersionTable
  private let lost: LostVersions
  private let digests: DigestTable
  private let figures: VersionFigures
  private let changeLog: ChangeLog
  private let recent: RecentVersions
  private let settlement: Settlement

  init(
    _ connection: Connection, _ tables: Tables, _ versions: VersionTable, _ lost: LostVersions,
    _ digests: DigestTable, _ figures: VersionFigures, _ changeLog: ChangeLog,
    _ recent: RecentVersions, _ settlement: Settlement
  ) {
    (self.connection, self.tables, self.versions) = (connection, tables, versions)
    (self.lost, self.digests, self.figures) = (lost, digests, figures)
    (self.changeLog, self.recent, self.settlement) = (changeLog, recent, settlement)
  }

  /// Makes a version the current one of its row.
  @_optimize(speed)
  func keep(_ version: Version, _ table: ReplicaTable, _ key: Key, old: Version?) throws {
    try versions.put(version, table: table.id, key: key)
    if old == nil { try lost.remove(table, key) }
    settlement.changed(table, key, isGone: version.isDeleted)
    changeLog.note(table, key)
    count(table, key, old: old, new: version)
    recent.touch(version.dot, table: table.id, key)
  }

  /// Counts a row, and in the digests to which the shape of its key belongs.
  func count(_ table: ReplicaTable, _ key: Key, old: Version?, new: Version?) {
    figures.replace(table: table.id, old: old, new: new)
    digests.replace(table: table, key: key, old: old, new: new)
  }

  /// Among which rows those of this shape belong.
  func rows(of shape: TableShape, isNameless: Bool) throws -> ReplicaTable {
    let (table, lead) = try tables.rows(of: shape, isNameless: isNameless)
    try lead.map { try weigh($0, .leading) }
    return table
  }

  /// Another shape of a key counts in a digest: its versions do, those of the other one do not.
  func weigh(_ lead: Tables.Lead, _ scope: DigestScope) throws(SQLiteError) {
    guard lead.before != lead.after else { return }
    for (id, isAdded) in [(lead.before, false), (lead.after, true)] {
      guard let table = id.flatMap({ tables.byID[$0] }) else { continue }
      try connection.with(
        "SELECT \(VersionTable.columns), key FROM _flotilla_version WHERE tbl = ?",
        [.integer(table.id)]
      ) { (statement) throws(SQLiteError) in
        while try statement.step() {
          guard let version = versions.version(from: statement, at: 0) else { continue }
          let key = Key(bytes: statement.bytes(VersionTable.columnCount))
          digests.replace(
            scope, table.seed, key, old: isAdded ? nil : version, new: isAdded ? version : nil)
        }
      }
    }
  }

  /// Deleted versions whose keys have another number of columns than the table. A version of
  /// Flotilla that knew no shapes made them after a migration, and no peer can read them.
  func dropForeign(_ table: ReplicaTable) throws(SQLiteError) {
    let keys = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND hash IS NULL", [.integer(table.id)])
    for key in keys.compactMap({ $0[0].blob.map(Key.init) })
    where key.values?.count != table.keyShape?.count {
      try versions.remove(table: table.id, key: key)
    }
  }

  /// Forgets those of all rows of a table.
  func forget(_ table: ReplicaTable) throws {
    try connection.with(
      """
      SELECT \(VersionTable.columns), key FROM _flotilla_version WHERE tbl = ?
      """, [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        count(
          table, Key(bytes: statement.bytes(VersionTable.columnCount)), old: version, new: nil)
      }
    }
    try connection.run("DELETE FROM _flotilla_version WHERE tbl = ?", [.integer(table.id)])
    versions.forgetAhead()
  }
}
