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

  /// Places what met a constraint on the way: rows that exchange unique values are deleted first
  /// and inserted after. What still does not fit is parked.
  func settle(_ application: inout Application) throws {
    guard !application.postponed.isEmpty || !application.changed.isEmpty else { return }
    for row in application.postponed {
      guard let statements = row.table.statements else { continue }
      _ = try writing { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, row.placement.keyValues)
      }
    }
    for var row in application.postponed {
      guard let statements = row.table.statements else { continue }
      row.placement.exists = false
      row.placement.unseenAt = nil
      if try place(row.placement, statements, row.table, row.key) { continue }
      try put(
        row.placement.shape, row.placement.values, row.table, row.key, why: .constraint)
      application.shelved += 1
    }
    application.postponed = []
    freed.subtract(application.changed)
    if try shelf.isEmpty { return }
    for id in application.changed.sorted() {
      if let table = tables.byID[id] { _ = try unpark(table) }
    }
  }

  /// Tries rows of the shelf again.
  func unpack(_ table: ReplicaTable, why reasons: [Shelf.Why]) throws {
    guard let statements = table.statements else { return }
    freed.insert(table.id)
    for key in try shelf.keys(table: table.id, why: reasons, limit: 100_000) {
      guard let entry = try shelf.entry(table: table.id, key: key) else { continue }
      try shelf.remove(table: table.id, key: key)
      guard var version = try versions.version(table: table.id, key: key) else { continue }
      if entry.why == .columns {
        try unpackColumns(entry, table, key, statements)
        continue
      }
      var placement = Placement(entry, version, table, key)
      // A key that was written before the table's collations were known gets its canonical form.
      let canonical = table.key(Array(placement.values.prefix(entry.keyCount))) ?? key
      if canonical != key {
        digests.replace(table: table.seed, key: key, old: version, new: nil)
        try versions.remove(table: table.id, key: key)
        let standing = try versions.version(table: table.id, key: canonical)
        if let standing, standing.rank > version.rank { continue }
        version.created = standing?.created ?? version.created
        try keep(version, table, canonical, old: standing)
        try shelf.remove(table: table.id, key: canonical)
      }
      // The application may have filled the table before anybody looked.
      placement.unseenAt = entry.why == .table ? version.stamp.millisecondsSince1970 : nil
      if try !place(placement, statements, table, canonical) {
        try put(placement.shape, placement.values, table, canonical, why: .constraint)
      }
    }
  }

  /// Puts columns in place that exist here by now; the others wait on.
  ///
  /// What an application has written into a new column before anybody looked stays: it is newer.
  private func unpackColumns(
    _ entry: Shelf.Entry, _ table: ReplicaTable, _ key: Key, _ statements: RowStatements
  ) throws {
    let keyValues = (key.values ?? []).map(\.sqlite)
    let standing = try connection.row(statements.selectByKey, keyValues) ?? []
    var known: [(column: Int, value: SQLite.Value)] = []
    for (name, value) in entry.values {
      guard let column = statements.column(named: name, at: nil), column < standing.count,
        statements.defaults[column] == Replication.Value(standing[column])
      else { continue }
      known.append((column, value.sqlite))
    }
    if !known.isEmpty {
      let broken = try writing { () throws(SQLiteError) in
        try connection.run(
          statements.update(known.map(\.column)), known.map(\.value) + keyValues)
      }
      if broken != nil { return try shelf.put(entry, table: table.id, key: key) }
    }
    let waiting = statements.unknown(in: entry)
    guard !waiting.isEmpty || entry.rest != 0 else { return }
    try shelf.put(
      Shelf.Entry(
        why: .columns, values: waiting, keyCount: entry.keyCount, rest: entry.rest),
      table: table.id, key: key)
  }

  /// Keeps a row whole that is replaced without anybody having made a version of it.
  func logUnseen(
    _ values: [SQLite.Value], _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    by winner: Shelf.Entry?, at moment: Int64
  ) throws {
    let named = zip(statements.shape.columns, values)
      .map { (name: $0, value: Replication.Value($1)) }
    let entry = Shelf.Entry(
      why: .constraint, values: named, keyCount: statements.shape.keyCount)
    let standing = try versions.version(table: table.id, key: key)
    try conflicts.put(
      table.name, key, at: moment, .unseen, loser: ConflictSide(foundBy: own, entry),
      winner: winner.map { ConflictSide(standing, $0) })
  }
}
