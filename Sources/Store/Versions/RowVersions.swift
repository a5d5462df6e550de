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
    changeLog.note(table, key, ofAnchor: old.map { version.isWord(on: $0) } ?? false)
    count(table, key, old: old, new: version)
    recent.touch(version.dot, table: table.id, key)
  }

  /// Counts a row, and in the digests to which the shape of its key belongs.
  func count(_ table: ReplicaTable, _ key: Key, old: Version?, new: Version?) {
    figures.replace(table: table.id, old: old, new: new)
    digests.replace(table: table, key: key, old: old, new: new)
  }

  /// Among which rows those of this shape belong; nil if among none.
  func rows(of shape: TableShape, isNameless: Bool) throws -> ReplicaTable? {
    let before = tables.table(shape.name)
    guard let (table, lead) = try tables.rows(of: shape, isNameless: isNameless) else { return nil }
    try lead.map { try weigh($0, .leading) }
    if let before, before.keyShape == nil, !isNameless { try dropForeign(before, shape.key) }
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

  /// Versions whose keys the rows of a table cannot have. They came before anybody had said what
  /// its key is, or a version of Flotilla that knew no shapes made them; no peer can read them.
  func dropForeign(_ table: ReplicaTable, _ shape: KeyShape) throws(SQLiteError) {
    let items = try connection.with(
      "SELECT \(VersionTable.columns), key FROM _flotilla_version WHERE tbl = ?",
      [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      var items: [(key: Key, version: Version)] = []
      while try statement.step() {
        let key = Key(bytes: statement.bytes(VersionTable.columnCount))
        guard !shape.canHold(key), let version = versions.version(from: statement, at: 0) else {
          continue
        }
        items.append((key, version))
      }
      return items
    }
    for (key, version) in items {
      for name in ["shelf", "pending"] {
        try connection.run(
          "DELETE FROM _flotilla_\(name) WHERE tbl = ? AND key = ?",
          [.integer(table.id), .blob(key.bytes)])
      }
      try versions.remove(table: table.id, key: key)
      count(table, key, old: version, new: nil)
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

extension KeyShape {
  fileprivate func canHold(_ key: Key) -> Bool {
    guard let values = key.values, values.count == count else { return false }
    return holds(values[...])
  }
}

extension Version {
  /// Whether it is an anchor's word on the edit of another one, and leaves the row as it is.
  fileprivate func isWord(on other: Version) -> Bool {
    !isTentative && edit == other.edit && hash == other.hash && isDeleted == other.isDeleted
  }
}
