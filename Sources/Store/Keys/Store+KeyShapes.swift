import Replication
import SQLite

/// What a table's versions have to do with the shape of its key.
extension Store {
  /// Counts a row, and in the digests to which the shape of its key belongs.
  func count(_ table: ReplicaTable, _ key: Key, old: Version?, new: Version?) {
    versionFigures.replace(table: table.id, old: old, new: new)
    digests.replace(table: table, key: key, old: old, new: new)
  }

  /// Among which rows those of this shape belong.
  func rows(of shape: TableShape, isNameless: Bool) throws -> ReplicaTable {
    let (table, lead) = try tables.rows(of: shape, isNameless: isNameless)
    try lead.map { try weigh($0, .leading) }
    return table
  }

  /// Looks at the schema for the first time, and sums the digest of what is here where a version
  /// before has not kept it.
  func beginWithSchema(read: Int64?) throws(StoreError) {
    if !digests.isHereKnown, tables.leadsElsewhere {
      try transaction {
        digests.level()
        for table in tables.byID.values where table.isHeld && table.isLeading {
          try weigh(Tables.Lead(before: table.id, after: tables.table(table.name)?.id), .here)
        }
      }
    }
    try inspectSchema(read: read)
  }

  /// Another shape of a key counts in a digest: its versions do, those of the other one do not.
  private func weigh(_ lead: Tables.Lead, _ scope: DigestScope) throws(SQLiteError) {
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

  /// Sees to it that a table that is here has the versions that belong to its key.
  ///
  /// Where a migration has changed the key, the rows as they are now are looked at one by one, in
  /// the folds that follow; what the triggers have noted goes by the keys of before.
  func takeKey(of table: ReplicaTable) throws -> ReplicaTable {
    guard let key = table.statements?.shape.key else { return table }
    guard tables.isKeyKnown(table) else {
      try dropForeign(table)
      try tables.note(key, 0, of: table)
      return tables.table(table.name) ?? table
    }
    guard tables.hasOtherKey(table) else { return table }
    try lost.giveAllBack(table)
    try versionFigures.recount(table.id)
    try Capture.remove(id: table.id, on: connection)
    parking.obstacles[table.id] = nil
    let (id, lead) = try tables.changeKey(of: table, to: key)
    try weigh(lead, .leading)
    try weigh(Tables.Lead(before: table.id, after: id), .here)
    try rekey(id)
    return tables.byID[id] ?? table
  }

  /// Deleted versions whose keys have another number of columns than the table: a version of
  /// Flotilla that knew no shapes made them after a migration, and no peer can read them.
  private func dropForeign(_ table: ReplicaTable) throws(SQLiteError) {
    let keys = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND hash IS NULL", [.integer(table.id)])
    for key in keys.compactMap({ $0[0].blob.map(Key.init) })
    where key.values?.count != table.keyShape?.count {
      try versions.remove(table: table.id, key: key)
    }
  }
}
