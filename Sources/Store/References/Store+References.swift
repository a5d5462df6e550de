import Replication
import SQLite

/// Foreign keys where programs write: what a program has broken with foreign keys off was its
/// committed state, and stays so.
extension Store {
  /// Whether it is for this node to say that a row dangles though it says the same as before. After
  /// a migration what others wrote may dangle, too: they see to that.
  func isToMark(_ version: Version, _ edits: Edits) -> Bool {
    !version.isDangling && (!edits.isComparing || isOwn(version.edit.origin))
  }

  /// Marks the rows that a program has left behind without what they refer to.
  func markOrphans(_ edits: inout Edits) throws {
    let orphaning = parking.takeOrphaning()
    guard !orphaning.isEmpty else { return }
    for reference in settlement.references.all {
      let gone = orphaning.filter { $0.key.table == reference.parent.id }
      guard let moment = gone.values.max(by: { $0.at < $1.at }) else { continue }
      let values = gone.keys.sorted { $0.key < $1.key }.map { reference.values(ofKey: $0.key) }
      let found = try settlement.references.children(of: reference, values, on: connection)
      try mark(found, of: reference.child, at: moment, &edits)
    }
  }

  /// Marks what dangles and was written here, after a change of the foreign keys: others see to
  /// theirs.
  ///
  /// A row that names the one which it means waits for that. No program need have broken it: while
  /// the table of that was tracked no more it was let in.
  func markBroken(_ edits: inout Edits) throws {
    let parentage = try kinship.parentage(tables)
    for reference in settlement.references.all
    where mayWrite(reference.child) && mayWrite(reference.parent) {
      let links = parentage.links(of: reference.child.id).filter(reference.holds)
      for values in try connection.rows(reference.dangling) {
        guard let key = reference.child.key(values.map(Replication.Value.init)),
          let version = try versions.version(table: reference.child.id, key: key),
          isOwn(version.edit.origin),
          !links.contains(where: { version.numbering.parents.contains(where: $0.isMeant) })
        else { continue }
        try mark([values], of: reference.child, at: Dating.Moment(of: version), &edits)
      }
    }
  }

  private func mark(
    _ rows: [[SQLite.Value]], of table: ReplicaTable, at moment: Dating.Moment,
    _ edits: inout Edits
  ) throws {
    for values in rows {
      guard let key = table.key(values.map(Replication.Value.init)),
        try settlement.isDangling(table, key),
        let version = try versions.version(table: table.id, key: key), !version.isDangling
      else { continue }
      guard mayWrite(table) else {
        // It cannot be told to others that it stands without its parent.
        settlement.changed(table, key)
        parking.requireSettling()
        continue
      }
      try fold(table, key, madeAt: moment, &edits)
    }
  }

  /// A table in which nothing of a program waits to be folded.
  func isSettled() throws(SQLiteError) -> Bool {
    guard try Journal.isEmpty(on: connection) else { return false }
    return try tables.comparing() == nil
  }

  /// Tries again what is parked in the tables that have changed. What a program has just written
  /// keeps its place: it could not see what is parked, which is made again after it.
  func settleFreed(_ edits: inout Edits) throws {
    let from = min(parking.sparedFrom, edits.from)
    let isAnew = settlement.references.signature != parking.signature
    let isDue = try isAnew || parking.mustSettle || parking.room > 0 && settlement.isRecalling
    if try !isDue && (parking.freed.isEmpty || shelf.isEmpty) {
      parking.freed = []
      if try parking.sparedFrom < .max && isSettled() { try parking.spare(above: .max) }
      return parking.settle()
    }
    guard try isSettled() else { return try parking.spare(above: from) }
    if isAnew { try markBroken(&edits) }
    let yielding = try settlement.settleTables(parking.freed, isAnew: isAnew) {
      $0.dot.origin == own && $0.dot.seq > from
    }
    for (table, row) in yielding where mayWrite(table) { try yield(row, table, &edits) }
    parking.freed = []
    try parking.spare(above: .max)
    if isAnew { try parking.follow(settlement.references.signature) }
  }

  /// Makes a parked row again, as if it were created after those that keep its value.
  private func yield(_ row: Settlement.Yielding, _ table: ReplicaTable, _ edits: inout Edits) throws
  {
    guard let old = try versions.version(table: table.id, key: row.key) else { return }
    let moment = Dating.Moment(row.after.millisecondsSince1970 + 1)
    var version = try make(
      over: old, hash: old.hash, isDeleted: false, isDangling: old.isDangling, madeAt: moment,
      table, row.key, &edits)
    // What others have hung under it goes on to mean it.
    version.numbering.former = Array(old.formerKeys(leaving: row.key).suffix(Numbering.mostFormer))
    version = version.recreated(over: old)
    try rowVersions.keep(version, table, row.key, old: old)
    edits.addLong()
  }
}
