import Replication
import SQLite

/// What each replica must do for the site's tracked tables.
extension Store {
  /// Gives the tracked tables their triggers and views, and takes everything from those no longer
  /// tracked.
  ///
  /// `isLocal`: the tables were chosen here, so their rows are the site's. Otherwise rows of an old
  /// copy rank below all that the site holds: stamped "now" they would undo what others did since.
  func applySettings(isLocal: Bool) throws {
    for table in tables.tracked where try !tables.isListed(table.name) { try forget(table) }
    try untracked.follow(isLocal: isLocal)
    var count = tables.tracked.count
    var (new, again): (Set<Int64>, Set<Int64>) = ([], [])
    let names = try count < tables.limit ? tables.trackedNames() : []
    let others = names.filter { tables.table($0)?.isTracked != true }
    for name in try ForeignKey.parentsFirst(others, on: connection) {
      // What a peer has tracked beyond that is left alone.
      guard count < tables.limit else { break }
      count += 1
      let known = try tables.tableOrNew(name)
      let hasEnded = try tables.choices[name] == .ended
      if hasEnded || lost.knowsEnd(of: known) { again.insert(known.id) }
      try shelf.giveBack(known)
      if isLocal, hasEnded { try tables.choices.remove(name) }
      let isOld = try !isLocal && recognition.welcome(name)
      if !isOld { new.insert(known.id) }
      try tables.setBaseline(isOld, again: again.contains(known.id), of: known.id)
    }
    try tables.reload()
    try ensureCapture()
    if try meta.integer(.takesNewTables) != nil { again.formUnion(new) }
    if !again.isEmpty { try nameParents(in: again) }
  }

  /// Installs missing triggers and views and unpacks the shelf; a table that went without triggers
  /// is compared with its versions.
  func ensureCapture() throws {
    try recogniseTables()
    let changes = try recogniseColumns()
    // Rows are written next, and those of a table that was renamed name it as it was.
    try derived.renew()
    var gone: [Export.RowID] = []
    for known in tables.tracked {
      guard let schema = known.schema else {
        // Nothing was lost of one that was never here; a member may have invented thousands.
        if tables.seen.contains(folded(known.name)) { try miss(known) }
        continue
      }
      let table = try takeKey(of: known)
      try tables.remember(table.name, schema.collations)
      if try lost.isAway(table) {
        gone += try removeReplaced(table)
        try lost.giveBack(table) { key, version in
          rowVersions.count(table, key, old: nil, new: version)
        }
        try compare(table.id)
      }
      let isNarrower = try tables.rememberColumns(table)
      // Our triggers were on it all the time: rows differ by the columns that are gone alone.
      let wasThere = try Capture.isPresent(id: table.id, of: schema.name, on: connection)
      let isAltered = isNarrower && wasThere
      let isIntact = try Capture.isIntact(schema, id: table.id, on: connection)
      if !isIntact { try Capture.install(schema, id: table.id, on: connection) }
      try RowsView.renew(schema, id: table.id, on: connection)
      if tables.rekeying.contains(table.id) { continue }
      if !wasThere, try isCreatedAnew(table) { gone += try loseRows(of: table) }
      // The frontier says nothing of it: by the digest peers hear that they are to send them again.
      if !wasThere, try lost.hasAny(of: table) { repairs += 1 }
      try lost.note(changes[table.id]?.remake, of: table)
      if isAltered {
        try compareColumns(table.id, added: changes[table.id]?.added ?? [])
      } else if !isIntact {
        try compare(table.id, remake: changes[table.id]?.remake)
      }
    }
    // What came before its table was tracked, or before its columns were there, fits by now, and
    // what broke a constraint of the old schema perhaps as well.
    for table in tables.tracked where !tables.rekeying.contains(table.id) {
      gone += try removeOutdated(table)
      gone += try unpack(
        table, why: [.table, .columns, .constraint], former: changes[table.id]?.former ?? [:])
      if table.isHere { try lost.forget(table.name, .again) }
    }
    try settlement.parkChildren(of: gone)
    // Or before this version of Flotilla knew that they are settings.
    for table in tables.settings { try unpack(table, why: [.table]) }
    try settleNumbers(in: tables.tracked)
    tables.schemaVersion = try connection.schemaVersion()
  }

  /// What became of the columns of a table since its schema was looked at last.
  private struct ColumnChange {
    var remake: Remake?
    /// First names that columns had here until now, under which rows are counted, by those that the
    /// site calls them from now on, in small letters.
    var former: [String: String] = [:]

    /// The columns that were not here under any name.
    var added: Set<UInt64> {
      (remake?.added ?? []).subtracting(former.keys.map(ContentHash.column))
    }
  }

  /// Finds out which columns were renamed since the schema was looked at last, and tells the site.
  /// Gives what became of columns, by table.
  private func recogniseColumns() throws -> [Int64: ColumnChange] {
    let renames = tables.renames
    let kept = try renames.read()
    let search = RenameSearch(connection: connection, versions: versions, shelf: shelf)
    var hasChanged = false
    var changes: [Int64: ColumnChange] = [:]
    for table in tables.tracked {
      guard let schema = table.schema else { continue }
      let columns = kept[folded(table.name)] ?? Renames.Columns()
      guard schema.known(columns.names(of: schema)) != columns.known else { continue }
      let gone = try tables.dropped(table.name)
      let found = try search.renames(in: table, columns) { name in
        gone.contains(ContentHash.column(name))
      }
      let renamed = found.mapValues(\.first)
      let now = schema.known(columns.names(of: schema, renamed: renamed))
      try renames.save(now, of: table.name)
      hasChanged = true
      let remake = columns.known.isEmpty ? nil : Remake(from: columns.known, to: now)
      var former: [String: String] = [:]
      for column in now {
        let old =
          found[folded(column.name)]?.former
          ?? columns.known.first { isSameName($0.name, column.name) }?.first
        if let old, !isSameName(old, column.first) { former[folded(column.first)] = old }
      }
      changes[table.id] = ColumnChange(remake: remake, former: former)
      if let settings = tables.table(Renames.settings), mayWrite(settings) {
        for column in now {
          guard let first = renamed[folded(column.name)], !isSameName(first, column.name) else {
            continue
          }
          _ = try renames.publish(
            column.name, first: first, of: table.name, number: settings.id)
        }
        // What this machine called a column so far, others may have heard from it.
        for (first, other) in Self.replaced(columns.known, by: now) {
          _ = try renames.publish(first, first: other, of: table.name, number: settings.id)
        }
      }
      // Its values were counted under another name: the rows' versions stay what they are.
      if !former.isEmpty {
        try compareColumns(table.id, renewed: Remake.adopted(columns.known, by: now))
        let renamed = former.map { (folded($0.value), $0.key) }
        try conflicts.forgetEqual(
          table.name, renamed: Dictionary(renamed, uniquingKeysWith: { $1 }))
      }
      if let remake, !remake.renewed.isEmpty { try compare(table.id, remake: remake) }
    }
    if hasChanged { try tables.reload() }
    return changes
  }

  /// First names that columns had here, and those that the site has given them instead.
  private static func replaced(
    _ known: [ColumnNames.Known], by now: [ColumnNames.Known]
  ) -> [(first: String, other: String)] {
    known.compactMap { old in
      guard let column = now.first(where: { isSameName($0.name, old.name) }),
        !now.contains(where: { isSameName($0.first, old.first) })
      else { return nil }
      return (old.first, column.first)
    }
  }

  /// A table has its name no more: renamed, with our triggers still on it, or dropped.
  private func miss(_ table: ReplicaTable) throws {
    try RowsView.remove(of: table.nameHere, on: connection)
    let isRenamed = try Capture.isPresent(id: table.id, on: connection)
    if try lost.isLosing(table) { try lose(table, isRenamed ? .renamed : .dropped) }
    try shelf.awaitTable(table.id)
    guard !isRenamed else { return }
    try lost.drop(table)
    try giveUpUnsent(table)
  }

  /// Whether a table was dropped and created before anybody looked: it had rows, and is empty.
  ///
  /// One that has rows was made anew by a migration: what is missing was deleted. So it was, maybe,
  /// where a program had touched all rows just before.
  private func isCreatedAnew(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    guard let statements = table.statements,
      try connection.row(statements.selectAny) == nil, try lost.isLosing(table)
    else { return false }
    let count = statements.shape.keyCount
    let touched = try Journal.readNewest(of: table.id, limit: .max, on: connection)
      .compactMap { table.key($0.key.prefix(count).map(Replication.Value.init)) }
    return try lost.isLosing(table, but: Set(touched))
  }

  /// A table is here, and its rows have gone with one of its name: as if it had been seen missing.
  /// Gives them.
  private func loseRows(of table: ReplicaTable) throws -> [Export.RowID] {
    var gone: [Export.RowID] = []
    changeLog.breakOff()
    // What programs touched in the table of before has gone with it.
    try connection.run("DELETE FROM \(Journal.table) WHERE tbl = ?", [.integer(table.id)])
    journal.forget()
    try lost.take(table, .dropped) { key, version in
      rowVersions.count(table, key, old: version, new: nil)
      settlement.changed(table, key, isGone: true)
      gone.append(Export.RowID(table: table.id, key: key))
    }
    try giveUpUnsent(table)
    return gone
  }

  /// What was written here and sent to nobody has gone with its table.
  private func giveUpUnsent(_ table: ReplicaTable) throws {
    let unsent = try lost.giveUpUnsent(table, of: own, above: lives.delivered())
    // An anchor will never see them.
    for edit in unsent {
      let made = Instant(at: edit.stamp.millisecondsSince1970)
      try verdicts.settle(Int64(edit.dot.seq), .unknown, nil, rule: nil, at: made)
    }
  }

  /// Remembers versions whose rows are here no more; from now on they count as not held.
  private func lose(_ table: ReplicaTable, _ why: LostVersions.Why) throws {
    try lost.take(table, why) { key, version in
      rowVersions.count(table, key, old: version, new: nil)
    }
  }

  /// Forgets a table that the site tracks no more; `first`: it goes on as that one.
  func forget(_ table: ReplicaTable, as first: String? = nil) throws {
    try recognition.noteEnd(of: table)
    try logParked(table, as: first ?? table.name)
    try Capture.remove(id: table.id, on: connection)
    try RowsView.remove(of: table.nameHere, on: connection)
    try tables.renames.name(table.id, table.name, first: table.name)
    try lost.forget(table.name, .dropped)
    try lost.forget(table.name, .renamed)
    try lost.forget(table.name, .replaced)
    try lost.forget(table.name, .unsent)
    try lost.forget(table.name, .again)
    try lose(table, .ended)
    try tables.renames.forget(table.name)
    try rowVersions.forget(table)
    try shelf.remove(table)
    try connection.run("DELETE FROM _flotilla_journal WHERE tbl = ?", [.integer(table.id)])
    try connection.run("DELETE FROM _flotilla_pending WHERE tbl = ?", [.integer(table.id)])
    try connection.run("DELETE FROM _flotilla_dismissed WHERE tbl = ?", [.integer(table.id)])
    try putBacks.forget(table.id)
    try pending.reload()
    for held in tables.held(of: table.name) {
      try rowVersions.forget(held)
      try tables.forget(held)
    }
    try kinship.forget(table: table.id)
    try tables.forget(table)
  }

  /// Drops rows that came late for tables that the site no longer tracks.
  ///
  /// Not those of a table that nobody here has heard of: a push, a peer that passes them on, or one
  /// that is catching up itself may bring rows before the settings. Nor those that are newer than
  /// the end of the tracking: the table may be tracked again, and that news be on its way.
  func forgetUntracked() throws {
    let late = tables.byID.values.filter { !$0.isTracked && !$0.isHeld }
    guard !late.isEmpty else { return }
    for table in late {
      let (settings, name) = (try tables.settingsTable(), try tables.settingsKey(table.name))
      // The anchor may have to judge these rows, or the settings that track their table.
      let unjudged = try connection.row(
        "SELECT 1 FROM _flotilla_pending WHERE tbl = ? OR (tbl, key) = (?, ?) LIMIT 1",
        [.integer(table.id), .integer(settings.id), .blob(name.bytes)])
      guard unjudged == nil else { continue }
      let end = try versions.version(table: settings.id, key: name)
      let waiting = try connection.row(
        """
        SELECT 1 FROM (
          SELECT origin, seq, stamp FROM _flotilla_version WHERE tbl = ?1
          UNION ALL SELECT origin, seq, stamp FROM _flotilla_pending WHERE tbl = ?1
        ) AS v JOIN _flotilla_origin AS o ON o.id = v.origin
        WHERE v.seq > o.seq OR v.stamp > ?2 LIMIT 1
        """, [.integer(table.id), .integer(end?.stamp.rawValue ?? 0)])
      if waiting == nil { try forget(table) }
    }
    try tables.reload()
  }

  /// Notices a changed schema: renews triggers, reads the columns again, unpacks the shelf.
  ///
  /// When a replica is opened there is mostly nothing to do, and to look needs no write lock;
  /// `read` is the version of the schema that `tables` has just read.
  func inspectSchema(read: Int64? = nil) throws(StoreError) {
    var current = try reporting { () throws(SQLiteError) in
      try tables.lookForFilled()
      return try connection.schemaVersion()
    }
    guard current != tables.schemaVersion else { return }
    if current != read { current = try reloadTables() }
    // Most changes of the schema concern none of this; then nobody has to wait for the write lock.
    guard try needsWork() else {
      try reporting { () throws(SQLiteError) in try derived.renew() }
      tables.schemaVersion = current
      return
    }
    try transaction {
      // A migration may have gone on since the tables were read.
      if try connection.schemaVersion() == current {
        try ensureCapture()
      } else {
        try renewSchema()
      }
    }
  }

  /// Reads the tables from one snapshot of the file; gives the version of its schema.
  ///
  /// Else the columns of one moment could be remembered by the definition of another one.
  private func reloadTables() throws(StoreError) -> Int64 {
    connection.clearStatements()
    _ = try reporting { () throws(SQLiteError) in try connection.run("BEGIN") }
    defer { connection.rollBack() }
    let version = try reporting { () throws(SQLiteError) in try connection.schemaVersion() }
    try tables.reload()
    return version
  }

  /// The same in the open transaction, if another program has changed the schema meanwhile.
  ///
  /// By the columns of before a migration an edit of a new one looks as if nothing had changed.
  func followSchema() throws {
    try tables.lookForFilled()
    let hasNews = try tables.twins.contains { try shelf.columns(of: $0) != nil }
    if try hasNews || connection.schemaVersion() != tables.schemaVersion { try renewSchema() }
  }

  /// Reads the tables anew in the open transaction, and makes triggers and views fit them.
  func renewSchema() throws {
    connection.clearStatements()
    try tables.reload()
    try ensureCapture()
  }

  /// True if triggers or a view are missing or something waits on the shelf.
  private func needsWork() throws(StoreError) -> Bool {
    for table in tables.tracked {
      if tables.names.isOutdated(table.id, table.name) { return true }
      if try recognition.newName(of: table) != nil { return true }
    }
    return try reporting { () throws(SQLiteError) in
      let kept = try tables.renames.read()
      for table in tables.tracked {
        guard let schema = table.schema else {
          if try lost.isLosing(table) { return true }
          if try lost.isAway(table) { return true }
          if try RowsView.isPresent(of: table.nameHere, on: connection) { return true }
          continue
        }
        if try lost.isAway(table) { return true }
        if tables.hasOtherKey(table) { return true }
        if !tables.isRemembered(table.name, schema.collations) { return true }
        if try !tables.hasColumnsAsRemembered(table) { return true }
        let columns = kept[folded(table.name)] ?? Renames.Columns()
        if schema.known(columns.names(of: schema)) != columns.known { return true }
        if !table.isIntact { return true }
      }
      return try !shelf.isEmpty
    }
  }
}
