import Replication
import SQLite

/// A version's content on its way into its table.
struct Placement {
  var shape: TableShape
  var values: [Replication.Value]
  /// The content hash of the version, as its author counted it.
  var hash: UInt64
  /// Whether the row is thought to stand in its table.
  var exists: Bool
  /// Set if no version says that the row is there: what stands there all the same goes, whole, to
  /// the conflict log, with this moment in ms since 1970.
  var unseenAt: Int64?
  /// What a rename has brought into columns, and no version of the row has counted. Where this one
  /// does not carry them it stays: nobody has said anything of that.
  var brought: [StandIn] = []

  /// What of it goes where, by the columns of this replica.
  struct Parts {
    /// The values whose columns exist here. A NULL for a column that is NOT NULL here is as if it
    /// had not come: the column takes its default, or keeps what stands.
    var known: [(column: Int, value: Replication.Value)] = []
    /// The columns here that take no NULL, and for which it has one.
    var nulls: [Int] = []
    /// The values whose columns do not exist here.
    var unknown: [(name: String, value: Replication.Value)] = []
  }

  func parts(in statements: RowStatements) -> Parts {
    var parts = Parts()
    parts.known.reserveCapacity(values.count)
    for (index, column) in statements.columns(for: shape.columns, values) {
      let value = values[index]
      guard let column else {
        parts.unknown.append((shape.columns[index], value))
        continue
      }
      if value == .null, statements.isRequired[column] {
        parts.nulls.append(column)
      } else {
        parts.known.append((column, value))
      }
    }
    return parts
  }

  /// Whether one of the columns that take no NULL has no default either.
  func lacksValue(in statements: RowStatements) -> Bool {
    parts(in: statements).nulls.contains { statements.defaults[$0] == .null }
  }

  /// Whether the values are all that its author has counted; `asHere` if they are to count here,
  /// too, as he has counted them: then rows of one hash are the same.
  func isCounted(by statements: RowStatements, asHere: Bool = false) -> Bool {
    let parts = parts(in: statements)
    guard parts.nulls.isEmpty else { return false }
    let reading = statements.read(parts.known, parts.unknown, hash: hash, standing: nil)
    return reading.rest == 0 && (!asHere || reading.otherwise.isEmpty)
  }

  var keyValues: [SQLite.Value] { values.prefix(shape.keyCount).map(\.sqlite) }
}

extension Placement {
  /// A row that comes from the shelf.
  init(_ entry: Shelf.Entry, _ version: Version, _ table: ReplicaTable, _ key: Key) {
    let shape = table.shape(entry.values.map(\.name), keyCount: entry.keyCount)
    self.init(shape: shape, values: entry.values.map(\.value), hash: version.hash, exists: false)
  }
}

extension TableContents {
  /// Writes a row into its table; false if a constraint forbids it.
  func place(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    if statements.cannotHoldKey(of: placement.values) { return false }
    if let whole = statements.whole(placement.shape),
      statements.shows(placement.values, whole, placement.hash)
    {
      return try place(placement, whole, statements, table, key)
    }
    return try placeAltered(placement, statements, table, key)
  }

  /// The same of a row that the table may not show as it came.
  private func placeAltered(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    let shape = placement.shape
    let parts = placement.parts(in: statements)
    let (known, nulls) = (parts.known, parts.nulls)
    var stood: RowStatements.Unsaid?
    if known.count + nulls.count < statements.shape.columns.count {
      stood = try unsaid(placement, known, nulls, statements)
    }
    let brought = stood?.takeBrought(placement.brought, statements) ?? []
    // What its column does not show as it came is counted as if it had none here.
    func read(
      without others: [(column: Int, value: Replication.Value)]
    ) -> RowStatements.Reading {
      if others.isEmpty {
        return statements.read(known, parts.unknown, hash: placement.hash, standing: stood)
      }
      let columns = Set(others.map(\.column))
      return statements.read(
        known.filter { !columns.contains($0.column) },
        parts.unknown
          + others.map { (statements.shape.columns[$0.column], $0.value) },
        hash: placement.hash, standing: stood)
    }
    var others = nulls.map { (column: $0, value: Replication.Value.null) }
    var reading = read(without: others)
    if reading.rest != 0, stood == nil, placement.exists {
      stood = try unsaid(placement, known, nulls, statements)
      reading = read(without: others)
    }
    var replaced: [SQLite.Value]?
    let kept = reading.kept.union(brought.map(\.column))
    let broken = try writing(table, key) { () throws(SQLiteError) in
      replaced = try write(placement, known, statements, keeping: kept)
    }
    guard broken == nil else { return false }
    if let replaced { try logReplaced(replaced, by: placement, statements, table, key) }
    // Its author may have a column of another type.
    let mayDiffer = known.filter {
      !reading.kept.contains($0.column) && statements.mayConvert($0.value, in: $0.column)
    }
    var beside = statements.beside(reading, brought)
    if !others.isEmpty || !mayDiffer.isEmpty,
      let shown = try connection.row(statements.selectByKey, placement.keyValues)?
        .map(Replication.Value.init)
    {
      let changed = mayDiffer.filter { shown[$0.column] != $0.value }
      others += changed.filter { $0.column >= shape.keyCount }
      if !changed.isEmpty { reading = read(without: others) }
      beside = statements.beside(reading, brought)
      for (column, value) in others {
        let name = statements.shape.columns[column]
        // One number that is the default there and here says the same, as 0.5 of a REAL and '0.5'.
        let isDefault =
          statements.defaults[column] == shown[column] && value.isSameNumber(as: shown[column])
        if isDefault, !reading.extras.contains(where: { $0.name == name }) { continue }
        beside.stand(name, for: value, showing: shown[column])
      }
      if !changed.isEmpty {
        var counted = try statements.beside(beside.entry(keyCount: shape.keyCount), shown)
        counted.rest = 0
        beside.rest = statements.sum(shown, counted).rest(to: placement.hash)
      }
    }
    if beside.rest != 0 { try noteUnmatched(table) }
    if !beside.isEmpty { try keep(beside, statements, table, key) }
    return true
  }

  /// The same of a row of which nothing has to be found out.
  @_optimize(speed)
  private func place(
    _ placement: Placement, _ whole: WholeRow, _ statements: RowStatements, _ table: ReplicaTable,
    _ key: Key
  ) throws -> Bool {
    var replaced: [SQLite.Value]?
    let broken = try writing(table, key) { () throws(SQLiteError) in
      replaced = try write(
        placement, statements,
        insert: { () throws(SQLiteError) in
          try whole.insert(placement.values, on: connection)
        },
        update: { () throws(SQLiteError) in
          try whole.update(placement.values, on: connection)
        })
    }
    if broken == nil, let replaced {
      try logReplaced(replaced, by: placement, statements, table, key)
    }
    return broken == nil
  }

  /// No version of what stood there was known.
  private func logReplaced(
    _ replaced: [SQLite.Value], by placement: Placement, _ statements: RowStatements,
    _ table: ReplicaTable, _ key: Key
  ) throws {
    guard let moment = placement.unseenAt,
      statements.contentHash(replaced.map(Replication.Value.init)) != placement.hash
    else { return }
    let named = zip(placement.shape.columns, placement.values).map { (name: $0, value: $1) }
    let winner = Shelf.Entry(
      why: .constraint, values: named, keyCount: placement.shape.keyCount)
    // Columns that were dropped since count in the hash, and nobody misses their values here.
    let old = zip(statements.shape.columns, replaced.map(Replication.Value.init))
    guard !ConflictSide(nil, winner).says(all: old.map { (name: $0, value: $1) }) else { return }
    try logUnseen(replaced, statements, table, key, by: winner, at: moment)
  }

  /// What stands in columns of which a version may say nothing, if the row is here.
  private func unsaid(
    _ placement: Placement, _ known: [(column: Int, value: Replication.Value)], _ nulls: [Int],
    _ statements: RowStatements
  ) throws(SQLiteError) -> RowStatements.Unsaid? {
    guard let row = try connection.row(statements.selectByKey, placement.keyValues) else {
      return nil
    }
    let shown = row.map(Replication.Value.init)
    let carried = Set(known.map(\.column) + nulls)
    return RowStatements.Unsaid(
      missing: statements.shape.columns.indices.filter { !carried.contains($0) }
        .map { ($0, shown[$0]) },
      others: known.lazy.filter { $0.column >= placement.shape.keyCount }
        .filter { ![$0.value, statements.defaults[$0.column]].contains(shown[$0.column]) }
        .map { ($0.column, shown[$0.column]) })
  }

  private func write(
    _ placement: Placement, _ known: [(column: Int, value: Replication.Value)],
    _ statements: RowStatements, keeping kept: Set<Int>
  ) throws(SQLiteError) -> [SQLite.Value]? {
    try write(
      placement, statements,
      insert: { () throws(SQLiteError) in
        let values = known.map(\.value)
        try connection.run(
          statements.insert(known.map(\.column)), lending: values, values.indices)
      },
      update: { () throws(SQLiteError) in
        try update(placement, known, statements, keeping: kept)
      })
  }

  /// INSERT or UPDATE, never REPLACE: it would remove other rows and leave FTS5 indexes malformed.
  ///
  /// Gives the row that stood there though it was not expected.
  private func write(
    _ placement: Placement, _ statements: RowStatements,
    insert: () throws(SQLiteError) -> Void, update: () throws(SQLiteError) -> Bool
  ) throws(SQLiteError) -> [SQLite.Value]? {
    if placement.exists, try update() { return nil }
    do {
      try insert()
      return nil
    } catch {
      guard error.isConstraint, !placement.exists, !connection.isAutocommit else { throw error }
      let standing = try connection.row(statements.selectByKey, placement.keyValues)
      guard standing != nil, try update() else { throw error }
      return standing
    }
  }

  /// True if the row was there.
  ///
  /// A column that the version does not carry is at its default, if so its author has counted it:
  /// its replica may have an older schema, and may not have seen what stands here.
  private func update(
    _ placement: Placement, _ known: [(column: Int, value: Replication.Value)],
    _ statements: RowStatements, keeping kept: Set<Int>
  ) throws(SQLiteError) -> Bool {
    var updated = known.filter { statements.isUpdated($0.column) && !kept.contains($0.column) }
    if known.count < statements.shape.columns.count {
      updated += statements.defaulted(without: known.map(\.column) + kept)
    }
    guard !updated.isEmpty else {
      return try connection.row(statements.existsByKey, placement.keyValues) != nil
    }
    let values = updated.map(\.value) + placement.values.prefix(placement.shape.keyCount)
    let sql = statements.update(updated.map(\.column))
    return try connection.run(sql, lending: values, values.indices) > 0
  }
}
