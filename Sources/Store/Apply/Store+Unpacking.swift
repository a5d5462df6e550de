import Replication
import SQLite

/// Rows of the shelf on their way back into their tables.
extension Store {
  /// Tries rows of the shelf again. Gives those that values of their own keep out of their table,
  /// and those in which something has changed to which others refer. `former` are the first names
  /// that columns had, by those that the site has just told.
  @discardableResult
  func unpack(
    _ table: ReplicaTable, why reasons: [Shelf.Why], former: [String: String] = [:]
  ) throws -> [Export.RowID] {
    guard let statements = table.statements else { return [] }
    var replaced: [Export.RowID] = []
    parking.freed.insert(table.id)
    parking.obstacles[table.id] = nil
    let presets = Presets(table, statements, connection)
    try shelf.walk(table.id, why: reasons, limit: pace.comparedRows) { key in
      guard let entry = try shelf.entry(table: table.id, key: key) else { return }
      // A program has written the key of a parked row, which the next fold looks at.
      // Or somebody has given it up.
      if entry.why == .constraint,
        try settlement.isWritten(key, statements) || isDismissed(table, key)
      {
        return
      }
      var known = try versions.version(table: table.id, key: key)
      // The table is tracked again, and the row is yet to be looked at.
      if known == nil, entry.why == .columns { known = try lost.ended(table, key) }
      try shelf.remove(table: table.id, key: key)
      guard var version = known else { return }
      if entry.why == .columns {
        let before = try settlement.referred(in: table, key)
        let isParked = try settlement.unpackColumns(
          entry, version, table, key, statements, presets, former)
        if try settlement.noteReplaced(before, in: table, key) || isParked {
          replaced.append(Export.RowID(table: table.id, key: key))
        }
        return
      }
      var placement = Placement(entry, version, table, key)
      // A key that was written before the table's collations were known gets its canonical form.
      let canonical = table.key(Array(placement.values.prefix(entry.keyCount))) ?? key
      if canonical != key {
        rowVersions.count(table, key, old: version, new: nil)
        try versions.remove(table: table.id, key: key)
        let standing = try versions.version(table: table.id, key: canonical)
        if let standing, standing.rank > version.rank { return }
        version.created = standing?.created ?? version.created
        try rowVersions.keep(version, table, canonical, old: standing)
        try shelf.remove(table: table.id, key: canonical)
      }
      // A program has filled the table before anybody looked: the comparison takes that for edits.
      if entry.why == .table, !table.isBaseline, try settlement.isWritten(canonical, statements) {
        return try settlement.put(placement.shape, placement.values, table, canonical, why: .table)
      }
      // What stands was written over it, which the comparison looks at.
      if try lost.hasComeAgain(version, table, key), try settlement.isWritten(key, statements) {
        return
      }
      // What an old copy has there is kept in the log.
      placement.unseenAt = entry.why == .table ? version.stamp.millisecondsSince1970 : nil
      let before = try settlement.referred(in: table, canonical)
      let fits = try contents.place(placement, statements, table, canonical)
      if try settlement.noteReplaced(before, in: table, canonical) {
        replaced.append(Export.RowID(table: table.id, key: canonical))
      }
      // What refers to it may stand now.
      settlement.changed(table, canonical)
      // What it refers to may be yet to be folded: which rows stand is said once all is.
      if fits, try version.isDangling || !settlement.isDangling(table, canonical) { return }
      if fits { try settlement.takeOut(placement, statements, table, canonical) }
      try settlement.put(placement.shape, placement.values, table, canonical, why: .constraint)
    }
    return replaced
  }
}
