import Replication
import SQLite

/// Rows that do not fit at present: kept whole, relayed like any other, tried again later.
extension Store {
  func shelve(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, why: Shelf.Why,
    _ application: inout Application
  ) throws {
    switch row.row.content {
    case .ruling: break
    case .deleted:
      try shelf.remove(table: table.id, key: key)
    case .withheld(let values):
      // What stands in the table stays there: an older content is better than none.
      try put(row.shape, values, table, key, why: .tooLarge)
      application.shelved += 1
    case .values(let values):
      try put(row.shape, values, table, key, why: why)
      application.shelved += 1
    }
  }

  private func put(
    _ shape: TableShape, _ values: [Replication.Value], _ table: ReplicaTable, _ key: Key,
    why: Shelf.Why
  ) throws {
    let named = Array(zip(shape.columns, values)).map { (name: $0, value: $1) }
    try shelf.put(
      Shelf.Entry(why: why, values: named, keyCount: shape.keyCount), table: table.id, key: key)
  }

  /// Takes a row that met a constraint out of its table, so that others find its value free, and
  /// keeps what it is to be on the shelf: a later version of it may come before it is tried again.
  func postpone(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    _ application: inout Application
  ) throws {
    try takeOut(placement, statements, table, key)
    try put(placement.shape, placement.values, table, key, why: .constraint)
    changed(table, key)
    application.postponed.insert(Export.RowID(table: table.id, key: key))
    application.changed.insert(table.id)
  }

  /// Places what met a constraint on the way: rows that exchange unique values were deleted first
  /// and are inserted now. What still does not fit stays parked.
  func settle(_ application: inout Application) throws {
    guard !application.changed.isEmpty else { return }
    parking.freed.subtract(application.changed)
    if try shelf.isEmpty && !parking.concernsReferences { return application.postponed = [] }
    _ = try settleTables(application.changed)
    for row in application.postponed
    where try shelf.entry(table: row.table, key: row.key)?.why.isParked == true {
      application.shelved += 1
    }
    application.postponed = []
  }

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
      if entry.why == .constraint, try isWritten(key, statements) { return }
      try shelf.remove(table: table.id, key: key)
      guard var version = try versions.version(table: table.id, key: key) else { return }
      if entry.why == .columns {
        let before = try referred(in: table, key)
        let isParked = try unpackColumns(entry, version, table, key, statements, presets, former)
        if try noteReplaced(before, in: table, key) || isParked {
          replaced.append(Export.RowID(table: table.id, key: key))
        }
        return
      }
      var placement = Placement(entry, version, table, key)
      // A key that was written before the table's collations were known gets its canonical form.
      let canonical = table.key(Array(placement.values.prefix(entry.keyCount))) ?? key
      if canonical != key {
        count(table, key, old: version, new: nil)
        try versions.remove(table: table.id, key: key)
        let standing = try versions.version(table: table.id, key: canonical)
        if let standing, standing.rank > version.rank { return }
        version.created = standing?.created ?? version.created
        try keep(version, table, canonical, old: standing)
        try shelf.remove(table: table.id, key: canonical)
      }
      // A program has filled the table before anybody looked: the comparison takes that for edits.
      if entry.why == .table, !table.isBaseline, try isWritten(canonical, statements) {
        return try put(placement.shape, placement.values, table, canonical, why: .table)
      }
      // What stands was written over it, which the comparison looks at.
      if try lost.hasComeAgain(version, table, key), try isWritten(key, statements) { return }
      // What an old copy has there is kept in the log.
      placement.unseenAt = entry.why == .table ? version.stamp.millisecondsSince1970 : nil
      let before = try referred(in: table, canonical)
      let fits = try contents.place(placement, statements, table, canonical)
      if try noteReplaced(before, in: table, canonical) {
        replaced.append(Export.RowID(table: table.id, key: canonical))
      }
      // What refers to it may stand now.
      changed(table, canonical)
      // What it refers to may be yet to be folded: which rows stand is said once all is.
      if fits, try version.isDangling || !isDangling(table, canonical) { return }
      if fits { try takeOut(placement, statements, table, canonical) }
      try put(placement.shape, placement.values, table, canonical, why: .constraint)
    }
    return replaced
  }

  /// Keeps what others referred to in a row; false if they still do.
  private func noteReplaced(
    _ before: [Int: [SQLite.Value]], in table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Bool {
    guard !before.isEmpty, try referred(in: table, key) != before else { return false }
    parking.note(before, before: Export.RowID(table: table.id, key: key))
    changed(table, key)
    return true
  }

  private func takeOut(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws {
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, placement.keyValues)
    }
  }

  private func isWritten(_ key: Key, _ statements: RowStatements) throws(SQLiteError) -> Bool {
    try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
  }
}
