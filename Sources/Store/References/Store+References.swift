import Replication
import SQLite

/// Foreign keys where programs write: what a program has broken with foreign keys off was its
/// committed state, and stays so.
extension Store {
  /// The foreign keys between tracked tables, as the schema and the rights are now.
  var references: References {
    if let known = knownReferences, known.age == tables.age, known.rights == ownRights.age {
      return known.references
    }
    let read = References(tables.tracked) { rights.right(to: $0) == .none }
    knownReferences = (read, tables.age, ownRights.age)
    return read
  }

  /// Whether a row in its table refers to one that is not there.
  func isDangling(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard references.mayDangle(table.id) else { return false }
    let values = (key.values ?? []).map(\.sqlite)
    return try references.isDangling(table.id, values, on: connection) ?? false
  }

  /// Whether it is for this node to say that a row dangles though it says the same as before. After
  /// a migration what others wrote may dangle, too: they see to that.
  func isToMark(_ version: Version, _ edits: Edits) -> Bool {
    !version.isDangling && (!edits.isComparing || isOwn(version.edit.origin))
  }

  /// A program has deleted a row, or changed it: others may refer to what it was.
  func noteOrphans(
    of table: ReplicaTable, _ key: Key, isDeleted: Bool, at moment: Dating.Moment
  ) {
    let isReferredTo = references.to(table.id).contains { isDeleted || !$0.isToKey }
    guard isReferredTo else { return }
    parking.orphan(Export.RowID(table: table.id, key: key), at: moment)
  }

  /// Marks the rows that a program has left behind without what they refer to.
  func markOrphans(_ edits: inout Edits) throws {
    let orphaning = parking.takeOrphaning()
    guard !orphaning.isEmpty else { return }
    for reference in references.all {
      let gone = orphaning.filter { $0.key.table == reference.parent.id }
      guard let moment = gone.values.max(by: { $0.at < $1.at }) else { continue }
      let values = gone.keys.sorted { $0.key < $1.key }.map { reference.values(ofKey: $0.key) }
      let found = try references.children(of: reference, values, on: connection)
      try mark(found, of: reference.child, at: moment, &edits)
    }
  }

  /// Marks what dangles and was written here, after a change of the foreign keys: others see to
  /// theirs.
  func markBroken(_ edits: inout Edits) throws {
    for reference in references.all where mayWrite(reference.child) {
      for values in try connection.rows(reference.dangling) {
        guard let key = reference.child.key(values.map(Replication.Value.init)),
          let version = try versions.version(table: reference.child.id, key: key),
          isOwn(version.edit.origin)
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
      guard let key = table.key(values.map(Replication.Value.init)), try isDangling(table, key),
        let version = try versions.version(table: table.id, key: key), !version.isDangling
      else { continue }
      guard mayWrite(table) else {
        // It cannot be told to others that it stands without its parent.
        changed(table, key)
        parking.requireSettling()
        continue
      }
      try fold(table, key, madeAt: moment, &edits)
    }
  }

  /// Keeps what others refer to in a row that is about to be replaced.
  func noteReferred(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    guard references.concern(table.id) else { return }
    let values = try referred(in: table, key)
    if !values.isEmpty {
      parking.note(values, before: Export.RowID(table: table.id, key: key))
    }
  }

  /// What others refer to in a row, by the number of the reference, where that does not follow from
  /// its key.
  func referred(in table: ReplicaTable, _ key: Key) throws(SQLiteError) -> [Int: [SQLite.Value]] {
    var values: [Int: [SQLite.Value]] = [:]
    for reference in references.to(table.id) where !reference.isToKey {
      let row = try connection.row(reference.selectTargets, (key.values ?? []).map(\.sqlite))
      let entry = try row == nil ? shelf.entry(table: table.id, key: key) : nil
      values[reference.number] = row ?? entry.flatMap { reference.targetValues(of: $0) }
    }
    return values
  }
}
