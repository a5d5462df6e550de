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
    try takeOut(placement, statements)
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

  /// Tries rows of the shelf again.
  func unpack(_ table: ReplicaTable, why reasons: [Shelf.Why]) throws {
    guard let statements = table.statements else { return }
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
        return try unpackColumns(entry, version, table, key, statements, presets)
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
      // The application may have filled the table before anybody looked.
      placement.unseenAt = entry.why == .table ? version.stamp.millisecondsSince1970 : nil
      let fits = try place(placement, statements, table, canonical)
      // What refers to it may stand now.
      changed(table, canonical)
      // What it refers to may be yet to be folded: which rows stand is said once all is.
      if fits, try version.isDangling || !isDangling(table, canonical) { return }
      if fits { try takeOut(placement, statements) }
      try put(placement.shape, placement.values, table, canonical, why: .constraint)
    }
  }

  private func takeOut(_ placement: Placement, _ statements: RowStatements) throws {
    _ = try writing { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, placement.keyValues)
    }
  }

  private func isWritten(_ key: Key, _ statements: RowStatements) throws(SQLiteError) -> Bool {
    try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
  }

  /// Puts columns in place that exist here by now; the others wait on.
  ///
  /// What an application has written into a new column before anybody looked stays: it is newer.
  /// What the migration has put into all rows does not. What a program has written without having
  /// seen the kept value goes to the log with that.
  private func unpackColumns(
    _ entry: Shelf.Entry, _ version: Version, _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements, _ presets: Presets
  ) throws {
    let keyValues = (key.values ?? []).map(\.sqlite)
    guard let standing = try connection.row(statements.selectByKey, keyValues) else {
      // A program has deleted it, which the next fold looks at.
      return try shelf.put(entry, table: table.id, key: key)
    }
    var values = standing.map(Replication.Value.init)
    // Nobody has written the row since: what stands in the column is what the row has shown so far.
    var beside = try statements.beside(entry, values)
    var before = beside
    before.extras += entry.values.filter { kept in !beside.extras.contains { $0.name == kept.name }
    }
    let isUnwritten = statements.sum(values, before).value == version.hash
    var here = entry
    var known: [(column: Int, value: SQLite.Value)] = []
    var unseen: [(column: Int, value: SQLite.Value)] = []
    let columns = statements.columns(for: entry.values.map(\.name))
    for (column, kept) in zip(columns, entry.values) {
      guard let column else { continue }
      guard try isUnwritten || presets.holds(standing[column], column, of: key) else {
        unseen.append((column, kept.value.sqlite))
        continue
      }
      if kept.value == .null, statements.isRequired[column] {
        let name = statements.shape.columns[column]
        here.standIns.append(StandIn(name: name, shown: values[column], isCounted: true))
        continue
      }
      known.append((column, kept.value.sqlite))
      values[column] = kept.value
    }
    for column in beside.nulls where !statements.isRequired[column] {
      known.append((column, .null))
      values[column] = .null
    }
    let broken = try writing { () throws(SQLiteError) in
      guard !known.isEmpty else { return }
      _ = try connection.run(
        statements.update(known.map(\.column)), known.map(\.value) + keyValues)
    }
    if broken != nil {
      if isUnwritten { return try park(values, beside: here, table, key, statements) }
      unseen += known.filter { !beside.nulls.contains($0.column) }
      values = standing.map(Replication.Value.init)
    }
    try logUnseen(unseen, under: values, version, entry, statements, table, key)
    // What went into its column is counted there from now on.
    beside = try statements.beside(here, values)
    if isUnwritten {
      beside.rest = 0
      beside.rest = statements.sum(values, beside).rest(to: version.hash)
    }
    try keep(beside, statements, table, key)
  }

  /// A row does not fit with the values that were kept for its new columns: it is parked like any
  /// other, for those are values of the row, too.
  private func park(
    _ values: [Replication.Value], beside entry: Shelf.Entry, _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements
  ) throws {
    let beside = try statements.beside(entry, values)
    let names = statements.shape(with: beside.extras).columns
    let whole = Shelf.Entry(
      why: .constraint, values: zip(names, beside.said(values)).map { (name: $0, value: $1) },
      keyCount: statements.shape.keyCount)
    _ = try writing { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
    try shelf.put(whole, table: table.id, key: key)
    changed(table, key)
  }

  /// A program has written over values that were kept for new columns, which it has not seen.
  private func logUnseen(
    _ kept: [(column: Int, value: SQLite.Value)], under values: [Replication.Value],
    _ version: Version, _ entry: Shelf.Entry, _ statements: RowStatements, _ table: ReplicaTable,
    _ key: Key
  ) throws {
    var unseen = values.map(\.sqlite)
    for (column, value) in kept { unseen[column] = value }
    guard unseen != values.map(\.sqlite) else { return }
    let named = zip(statements.shape.columns, values).map { (name: $0, value: $1) }
    let winner = Shelf.Entry(why: .constraint, values: named, keyCount: entry.keyCount)
    try logUnseen(
      unseen, statements, table, key, by: winner, at: version.stamp.millisecondsSince1970)
  }

  /// Keeps a row whole that is replaced without anybody having made a version of it.
  func logUnseen(
    _ values: [SQLite.Value], _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    by winner: Shelf.Entry?, at moment: Int64
  ) throws {
    // It is as it was when the site stopped tracking the table.
    let content = statements.contentHash(values.map(Replication.Value.init))
    if try lost.ended(table, key)?.hash == content { return }
    let named = zip(statements.shape.columns, values)
      .map { (name: $0, value: Replication.Value($1)) }
    let entry = Shelf.Entry(
      why: .constraint, values: named, keyCount: statements.shape.keyCount)
    let loser = ConflictSide(foundBy: own, entry)
    // It was refused, and waited to be put back.
    if let refused = try conflicts.latest(table.name, key, .notAllowed), refused.state == .open,
      refused.loser?.showsTheSame(as: loser) == true
    {
      return
    }
    let standing = try versions.version(table: table.id, key: key)
    try conflicts.put(
      table.name, key, at: moment, .unseen, loser: loser,
      winner: winner.map { ConflictSide(standing, $0) })
  }
}
