import Replication
import SQLite

/// Which tables of this file are tables of the site.
///
/// A name alone is no proof: a migration renames `person` to `patient`, and somebody else has had a
/// `patient` of his own all the time. Rows tell, triggers, what the site says, and who is asked.
struct TableRecognition {
  let connection: Connection
  let path: String
  let meta: Meta
  let tables: Tables
  let versions: VersionTable
  let shelf: Shelf
  let members: MemberTables
  let ownRights: OwnRights

  /// Whether this file may have a table of the site as another one: never had it by its own name.
  func mayBeTwin(_ twin: ReplicaTable, of table: ReplicaTable) throws -> Bool {
    guard table.id != twin.id, table.isTracked, !table.isSettings, !table.isHere,
      !tables.names.isPresent(table.id, table.name), isSameName(twin.nameHere, twin.name)
    else { return false }
    return try !tables.seen.contains(folded(table.name))
      && ownRights.mayWrite(tables.settingsTable())
      && (table.keyShape ?? twin.keyShape)?.count == twin.keyShape?.count
      && areGrantedAlike(twin.name, table.name)
  }

  /// Tells the site under which later name this file has a table.
  func tell(_ name: String, of table: ReplicaTable) throws(SQLiteError) {
    guard !isSameName(name, table.name), let settings = tables.table(Renames.settings),
      ownRights.mayWrite(settings)
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
  func isConsented(_ name: String, to table: ReplicaTable) throws -> Bool {
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

  /// The table that is meant, its name as this file has it, and what the site tracks by that name.
  func naming(
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

  /// Decides about a table that the site tracks from now on. One that is here already is held back,
  /// unless there is nothing in it to lose, or somebody here has said so before.
  ///
  /// True if its rows may be an old copy. What a program has written into a table that it made
  /// here, since this machine is one of the site, are edits like any other.
  func welcome(_ name: String) throws -> Bool {
    let choices = tables.choices
    let choice = try choices[name]
    if choice == .asked || choice == .declined { return true }
    let isHere = try tables.hasRows(name)
    // Whoever joins with a file says that its tables are the site's.
    let isKnown = try choice == .ended || meta.text(.joining) != nil
    // One that has appeared since the site takes in new tables comes from the same migration.
    let isOld = try isKnown || choice == .apart || meta.integer(.takesNewTables) == nil
    if isOld, isHere, !isKnown {
      try choices.set(.asked, for: name)
    } else {
      try choices.remove(name)
    }
    return isOld && isHere || choice == .ended
  }

  /// Remembers of a table that the site tracks no more what it was here.
  func noteEnd(of table: ReplicaTable) throws {
    let choices = tables.choices
    switch try choices[table.name] {
    case .asked: try choices.set(.apart, for: table.name)
    case .declined: break
    case .apart, .ended, nil:
      if table.isHere { try choices.set(.ended, for: table.nameHere) }
    }
  }
}
