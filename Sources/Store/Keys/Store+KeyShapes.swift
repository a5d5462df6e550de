import Replication
import SQLite

/// What a table's versions have to do with the shape of its key.
extension Store {
  /// Looks at the schema for the first time, and sums the digest of what is here where a version
  /// before has not kept it.
  func beginWithSchema(read: Int64?) throws(StoreError) {
    if !digests.isHereKnown, tables.leadsElsewhere {
      try transaction {
        digests.level()
        for table in tables.byID.values where table.isHeld && table.isLeading {
          try rowVersions.weigh(
            Tables.Lead(before: table.id, after: tables.table(table.name)?.id), .here)
        }
      }
    }
    try inspectSchema(read: read)
  }

  /// Sees to it that a table that is here has the versions that belong to its key.
  ///
  /// Where a migration has changed the key, the rows as they are now are looked at one by one, in
  /// the folds that follow; what the triggers have noted goes by the keys of before.
  func takeKey(of table: ReplicaTable) throws -> ReplicaTable {
    guard let key = table.statements?.shape.key else { return table }
    guard tables.isKeyKnown(table) else {
      try rowVersions.dropForeign(table, key)
      try tables.note(key, 0, of: table)
      return tables.table(table.name) ?? table
    }
    guard tables.hasOtherKey(table) else { return table }
    try lost.giveAllBack(table)
    try versionFigures.recount(table.id)
    try Capture.remove(id: table.id, on: connection)
    parking.obstacles[table.id] = nil
    let (id, lead) = try tables.changeKey(of: table, to: key)
    try rowVersions.weigh(lead, .leading)
    try rowVersions.weigh(Tables.Lead(before: table.id, after: id), .here)
    try rekey(id)
    return tables.byID[id] ?? table
  }
}
