import Replication
import SQLite

/// Tables that this file has under another name than the site knows.
extension Store {
  /// Finds out which tables were renamed since the schema was looked at last, and tells the site.
  func recogniseTables() throws {
    let renames = tables.renames
    var hasChanged = try endTwins()
    if hasChanged { try tables.reload() }
    for table in tables.tracked {
      let last = tables.names.last(table.id, table.name)
      var (name, isOwn) = (table.nameHere, true)
      if !tables.names.isOutdated(table.id, table.name) {
        guard let new = try newName(of: table) else { continue }
        (name, isOwn) = new
      }
      try RowsView.remove(of: last, on: connection)
      try renames.name(table.id, name, first: table.name)
      if isOwn {
        try tell(name, of: table)
      } else if try !isConsented(name, to: table) {
        try tables.choices.set(.asked, for: table.name)
      }
      // It may have been a table of its own until then.
      try lost.rename(name, to: table.name)
      hasChanged = true
    }
    if hasChanged { try tables.reload() }
  }

  /// Ends tables of the site that are others under a later name.
  ///
  /// A migration has made `pub`, and another one has renamed it to `publ`. A machine that has
  /// looked after both, and alone, tracks `publ` as a table of its own. Once it hears that this is
  /// `pub` its rows go on as rows of that: images of what they were, as in a table made anew.
  private func endTwins() throws -> Bool {
    tables.twins = []
    var hasEnded = false
    for twin in tables.tracked where twin.isHere && !twin.isSettings {
      guard let first = tables.names.first(of: twin.name), let table = tables.table(first),
        try mayBeTwin(twin, of: table)
      else { continue }
      // A name alone is no proof; its rows, once there is one, have the same columns.
      guard let names = try shelf.columns(of: table.id) else {
        tables.twins.append(table.id)
        continue
      }
      guard names.allSatisfy({ twin.statements?.column(named: $0, at: nil) != nil })
      else { continue }
      try end(twin)
      hasEnded = true
    }
    return hasEnded
  }

  private func end(_ twin: ReplicaTable) throws {
    try connection.run("DELETE FROM _flotilla_table WHERE name = ?", [.string(twin.name)])
    try connection.run(
      "INSERT INTO \(Journal.table)(tbl, at, k0) VALUES (?, \(TriggerText.now), ?)",
      [.integer(settings().id), .string(twin.name)])
    try forget(twin)
  }

  /// Whether this file may have a table of the site as another one: never had it by its own name.
  private func mayBeTwin(_ twin: ReplicaTable, of table: ReplicaTable) throws -> Bool {
    guard table.id != twin.id, table.isTracked, !table.isSettings, !table.isHere,
      !tables.names.isPresent(table.id, table.name), isSameName(twin.nameHere, twin.name)
    else { return false }
    return try !tables.seen.contains(folded(table.name)) && mayWrite(settings())
      && (table.keyShape ?? twin.keyShape)?.count == twin.keyShape?.count
      && areGrantedAlike(twin.name, table.name)
  }

  /// Tells the site under which later name this file has a table.
  private func tell(_ name: String, of table: ReplicaTable) throws(SQLiteError) {
    guard !isSameName(name, table.name), let settings = tables.table(Renames.settings),
      mayWrite(settings)
    else { return }
    _ = try tables.renames.publish(
      name, first: table.name, of: TableNames.owner, number: settings.id)
  }

  /// What a table that is here under none of its names, and without its triggers, is called by now.
  /// `isOwn`: its rows say so; else others call one so that is here.
  func newName(of table: ReplicaTable) throws(StoreError) -> (name: String, isOwn: Bool)? {
    guard !table.isHere, !tables.names.isPresent(table.id, table.name) else { return nil }
    let others = tables.names.others(table.name).filter { !TableSchema.isReserved($0) }
    // A member may have invented thousands that were never here.
    guard !others.isEmpty || tables.seen.contains(folded(table.name)) else { return nil }
    let choices = try reporting { () throws(SQLiteError) in try tables.choices.all() }
    let choice = choices[folded(table.name)]
    guard choice != .declined else { return nil }
    if !others.isEmpty {
      let present = tables.tracked.filter { tables.names.isPresent($0.id, $0.name) }
      for name in others where choices[folded(name)] != .declined {
        let isOther =
          tables.table(name)?.isTracked == true
          || present.contains { isSameName($0.nameHere, name) }
        guard !isOther, try areGrantedAlike(name, table.name) else { continue }
        return (name, false)
      }
    }
    // Nobody has said yet what another one is: who is asked is asked about what is here.
    return choice == .asked ? nil : try remade(table).map { ($0, true) }
  }

  /// Rows that are looked at to know a table again.
  private static let mostRows = 200

  /// The table that holds most of what this file had in one that is gone.
  ///
  /// A migration has made it anew, and given it another name, before anybody looked. Most rows are
  /// as they were; or their keys are there, and all its columns were, declared as they are now.
  private func remade(_ table: ReplicaTable) throws(StoreError) -> String? {
    let (columns, rows) = try reporting { () throws(SQLiteError) in
      (try tables.renames.read(table.name), try sample(of: table))
    }
    // What was never here cannot have got another name.
    guard !columns.known.isEmpty, !rows.isEmpty else { return nil }
    for other in try tables.strangers(for: table) {
      guard let schema = other.schema, other.keyShape?.count == table.keyShape?.count
      else { continue }
      let found = try self.found(rows, of: table, in: other, schema, columns)
      let declared = schema.known(columns.names(of: schema))
      let isDeclaredAlike =
        declared.contains { !$0.isOfKey } && declared.allSatisfy(columns.known.contains)
      let count = found.count { $0 == .same || isDeclaredAlike && $0 == .changed }
      if count * 2 > rows.count { return other.nameHere }
    }
    return nil
  }

  /// Rows that this file had in a table that is gone: their keys and hashes.
  private func sample(of table: ReplicaTable) throws(SQLiteError) -> [[SQLite.Value]] {
    try connection.rows(
      """
      SELECT key, hash FROM _flotilla_version WHERE tbl = ?1 AND hash IS NOT NULL
      UNION ALL SELECT key, hash FROM _flotilla_lost
      WHERE name = ?2 AND why = 0 AND hash IS NOT NULL LIMIT \(Self.mostRows)
      """, [.integer(table.id), .string(table.name)])
  }

  private enum Finding { case missing, changed, same }

  /// What has become of these rows in a table that may be their own: the migration may have renamed
  /// columns, too, or added some.
  private func found(
    _ rows: [[SQLite.Value]], of table: ReplicaTable, in other: ReplicaTable,
    _ schema: TableSchema, _ columns: Renames.Columns
  ) throws(StoreError) -> [Finding] {
    let search = RenameSearch(connection: connection, versions: versions, shelf: shelf)
    return try reporting { () throws(SQLiteError) in
      let gone = try tables.dropped(table.name)
      let renamed = try search.renames(in: other, columns) {
        gone.contains(ContentHash.column($0))
      }
      let names = columns.names(of: schema, renamed: renamed.mapValues(\.first))
      let remake = Remake(from: columns.known, to: schema.known(names))
      let statements = RowStatements(schema, names)
      return try rows.map { row throws(SQLiteError) in
        try find(Key(bytes: row[0].blob ?? []), row[1], table, statements, remake)
      }
    }
  }

  /// What has become of a row in a table that may be its own. A row of defaults alone says nothing.
  private func find(
    _ key: Key, _ hash: SQLite.Value, _ table: ReplicaTable, _ statements: RowStatements,
    _ remake: Remake
  ) throws(SQLiteError) -> Finding {
    guard let standing = try StandingRow.read(key, statements, on: connection)
    else { return .missing }
    let shelved = try shelf.entry(table: table.id, key: key)
    guard let hash = hash.integer.map(UInt64.init(bitPattern:)), hash != 0 else { return .changed }
    let beside = try standing.beside(shelved, statements, key, on: connection)
    return try remake.match(hash, standing, statements, beside, on: connection) == nil
      ? .changed : .same
  }

  /// Whether a table of this file may be taken for one that the site has under another name, as it
  /// would be under its own (see `welcome`).
  private func isConsented(_ name: String, to table: ReplicaTable) throws -> Bool {
    let choice = try tables.choices[name]
    if try choice == .ended || meta.text(.joining) != nil { return true }
    guard choice == nil else { return false }
    if try meta.integer(.takesNewTables) != nil || !tables.hasRows(name) { return true }
    return try resembles(table, name) && holds(table, under: name)
  }

  /// Whether another table has most of the rows that this file had in one that is gone. How it is
  /// declared is no proof: many tables are `(id, name)`.
  private func holds(_ table: ReplicaTable, under name: String) throws(StoreError) -> Bool {
    let (columns, rows) = try reporting { () throws(SQLiteError) in
      (try tables.renames.read(table.name), try sample(of: table))
    }
    guard
      let other = try tables.strangers(for: table).first(where: { isSameName($0.nameHere, name) }),
      let schema = other.schema
    else { return false }
    let found = try self.found(rows, of: table, in: other, schema, columns)
    return found.count { $0 == .same } * 2 > rows.count
  }

  /// Whether this file had a table that is gone, and most of its columns are in another one, with a
  /// key of as many columns.
  func resembles(_ table: ReplicaTable, _ name: String) throws(StoreError) -> Bool {
    let columns = try reporting { () throws(SQLiteError) in try tables.renames.read(table.name) }
    guard !columns.known.isEmpty,
      let other = try tables.strangers(for: table).first(where: { isSameName($0.nameHere, name) }),
      let schema = other.schema, other.keyShape?.count == table.keyShape?.count
    else { return false }
    let found = schema.known(columns.names(of: schema))
    return columns.known.count(where: found.contains) * 2 > columns.known.count
  }

  /// Says for the whole site that its table `old` is the one that is called `new` in this file, as
  /// its owner knows and its rows do not tell.
  package func nameTable(
    _ old: String, _ new: String, at now: Instant
  ) throws(StoreError) {
    try edit(at: now) { edits in
      let (table, name, twin) = try self.naming(old, new)
      if let twin { try self.end(twin) }
      try self.tables.choices.remove(table.name)
      try self.tables.choices.remove(name)
      try self.tables.renames.name(table.id, name, first: table.name)
      try self.tell(name, of: table)
      if twin == nil {
        // What is in it may be older than what came for it meanwhile, as with `consent`.
        try self.tables.setBaseline(true, of: table.id)
      } else {
        try self.lost.rename(name, to: table.name)
      }
      try self.renewSchema()
      guard now.site != nil else { return }
      try self.foldRest(&edits, at: now)
    }
  }

  /// The table that is meant, its name as this file has it, and what the site tracks by that name.
  private func naming(
    _ old: String, _ new: String
  ) throws -> (ReplicaTable, name: String, twin: ReplicaTable?) {
    let named = tables.table(old) ?? tables.names.first(of: old).flatMap { tables.table($0) }
    guard let table = named, table.isTracked, !table.isSettings else {
      let all = tables.tracked.map { quoted($0.name) }.joined(separator: ", ")
      throw StoreError(
        .table, "the site has no table \(quoted(old))", remedy: "Its tables: \(all)")
    }
    if table.isHere {
      throw StoreError(
        .table, "\(quoted(old)) is called \(quoted(table.nameHere)) here already, and has its rows")
    }
    if case .refused(let reason, let remedy) = try Trackability.check(table: new, on: connection) {
      throw StoreError(.table, reason, remedy: remedy)
    }
    guard let schema = try TableSchema.read(new, on: connection) else {
      throw StoreError(.table, "there is no table \(quoted(new))")
    }
    let name = schema.name
    let others = tables.tracked.filter {
      $0.id != table.id && tables.names.isPresent($0.id, $0.name)
    }
    let twin = others.first { isSameName($0.nameHere, name) }
    if let twin, try !mayBeTwin(twin, of: table) {
      throw StoreError(
        .table, "\(quoted(name)) is a table of the site itself, not \(quoted(old))",
        remedy: "If nobody needs it as that: flotilla untrack \(path) \(name), then say it again.")
    }
    guard try areGrantedAlike(name, table.name) else {
      throw StoreError(
        .table, "not everybody may do the same with \(quoted(name)) as with \(quoted(old))",
        remedy: "Grant the same rights to both.")
    }
    if let wanted = table.keyShape?.count, wanted != schema.key.count {
      throw StoreError(
        .table,
        "the primary key of \(quoted(name)) has \(schema.key.count) columns, "
          + "that of \(quoted(old)) \(wanted)")
    }
    return (table, name, twin)
  }

  /// The name under which the site knows what this file, or the site, calls so.
  package func siteName(_ name: String) -> String { tables.table(called: name)?.name ?? name }

  /// The name in this file of a table of the site.
  package func nameHere(_ name: String) -> String { tables.table(name)?.nameHere ?? name }
}
