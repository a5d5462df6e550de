import Replication
import SQLite

/// Edits that this replica may not make: they go to the conflict log, and the row is put back.
///
/// What stood there before is not kept here; it is asked for from whoever may write.
extension Store {
  func mayWrite(_ table: ReplicaTable) -> Bool { ownRights.mayWrite(table) }

  /// What becomes of an edit of a row that this replica makes.
  package enum Permission: Sendable {
    case granted
    /// It is refused, and the row is yet to come again as the site has it.
    case refused(isPutBack: Bool)
  }

  /// Whether this replica may write a row. What it does with a table that it may not even read is
  /// its own affair.
  package func permission(
    toWrite key: Key, of table: String
  ) throws(StoreError) -> Permission {
    guard let table = tables.table(called: table), table.isTracked, !mayWrite(table),
      rights.right(to: table.name) != .none
    else { return .granted }
    return try reporting { () throws(SQLiteError) in
      .refused(isPutBack: try !putBacks.contains(table, key))
    }
  }

  /// Of these tables, by their names in this file, those in which an edit would be put back.
  package func refused(_ tables: [String]) -> [String] {
    tables.filter { name in
      guard let table = self.tables.table(called: name), table.isTracked else { return false }
      return !mayWrite(table) && rights.right(to: table.name) != .none
    }
  }

  /// Takes note of what this replica may do. What it has written while it might, and nobody has
  /// been sent (`delivered` is what others hold), is refused with the right.
  package func allow(
    _ rights: Rights, delivered: UInt64, at now: Instant
  ) throws(StoreError) {
    let before = self.rights
    guard rights != before else { return }
    try requireTime(at: now)
    // What waits was written under the old rights.
    _ = try foldWritten(at: now)
    ownRights.rights = rights
    do {
      try follow(rights, after: before, delivered: delivered, at: now)
    } catch {
      // Nothing was changed, so that it is tried again.
      ownRights.rights = before
      throw error
    }
  }

  private func follow(
    _ rights: Rights, after before: Rights, delivered: UInt64, at now: Instant
  ) throws(StoreError) {
    try transaction {
      try meta.set(.rights, .blob(rights.bytes))
      let tracked = tables.byID.values.filter(\.isTracked)
      var takenBack: [ReplicaTable] = []
      for table in tracked where before.mayWrite(table.name) && !rights.mayWrite(table.name) {
        if try takeBackUnsent(table, above: delivered, at: now.moment) { takenBack.append(table) }
        try verdicts.refuse(of: table, above: delivered, isLast: !rights.writes, at: now)
      }
      if before.isWhole, !rights.isWhole { try endUnsentTracking() }
      // Rows that wait come anew as well, if anybody has them.
      if rights.isWhole, !putBacks.isEmpty { try fetchAnew() }
      var edits = beginEdits()
      try settleFreed(&edits)
      try finish(&edits)
      if rights.isWhole {
        try ownRights.noteElsewhere(0)
      } else if !takenBack.isEmpty {
        try ownRights.noteElsewhere(max(delivered, ownRights.elsewhere()))
      }
      // What was taken back had outranked versions of others, which are here no more. Those of a
      // table that may not be read come once it may.
      if takenBack.contains(where: { rights.right(to: $0.name) != .none }) { try fetchAnew() }
      // What the frontier counts as held was not sent as long as it could not be read; the table
      // itself may not be known here yet.
      guard rights.opens(beyond: before) else { return }
      let opened = tracked.filter {
        before.right(to: $0.name) == .none && rights.right(to: $0.name) != .none
      }
      try fetchAnew()
      try ownRights.remember(regained: ownRights.regained.union(opened.map(\.id)))
      for table in opened { try compare(table.id) }
    }
  }

  /// Counts nothing of others as held: it may have been left out, or was not kept.
  private func fetchAnew() throws(SQLiteError) {
    try origins.forgetOthers(but: own)
    try progress.clear()
    recent.requireScan()
  }

  /// True if this replica may do everything, and what it once held of others is yet to come again:
  /// so is the version of a row that waits, if anybody has it.
  var isFetchingWhatWaits: Bool {
    !putBacks.isEmpty && rights.isWhole && origins.frontier.without(own).isEmpty
  }

  /// Takes the rows out that still wait when the first exchange has ended, and forgets their
  /// versions: their authors took them back before anybody else had them, or they come with the
  /// next one. The log has what stood there. Those of this replica come only if they are asked for.
  func forgetWhatWaits() throws {
    for row in try putBacks.rows() {
      guard let table = tables.byID[row.table], !ownRights.regained.contains(table.id),
        let statements = table.statements
      else { continue }
      if let held = try versions.version(table: table.id, key: row.key) {
        guard held.dot.origin != own else { continue }
        count(table, row.key, old: held, new: nil)
        try versions.remove(table: table.id, key: row.key)
        try shelf.remove(table: table.id, key: row.key)
      }
      try takeOut(table, row.key, statements)
    }
  }

  /// A table that this replica has begun to track, of which nobody has heard, is tracked no more:
  /// its versions are of no table of the site. What others have written to it, if they track it, is
  /// fetched once more when the settings come again.
  private func endUnsentTracking() throws {
    let ended = try tables.tracked.filter { try !tables.isListed($0.name) }
    guard !ended.isEmpty else { return }
    let numbers = ended.map { "\($0.id)" }.joined(separator: ", ")
    let hasOthers =
      try connection.row(
        "SELECT 1 FROM _flotilla_version WHERE tbl IN (\(numbers)) AND origin <> ? LIMIT 1",
        [.integer(origins.knownNumber(of: own) ?? 0)]) != nil
    try applySettings(isLocal: false)
    recent.requireScan()
    if hasOthers { try fetchAnew() }
  }

  /// Rows that should be as the site has them.
  package func wantedRows() throws(StoreError) -> [RowName] {
    try reporting { () throws(SQLiteError) in
      try putBacks.someRows().compactMap { row in
        tables.byID[row.table].map { RowName(table: $0.name, key: row.key.bytes) }
      }
    }
  }

  /// Refuses what an application has made of a row; nil if it has deleted it.
  func refuse(
    _ row: StandingRow?, _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    // A table that may not even be read is none of the site's here.
    let isSettings = table.name.foldedForNames.hasPrefix("_flotilla_")
    guard isSettings || rights.right(to: table.name) != .none, let statements = table.statements
    else { return }
    let held = try versions.version(table: table.id, key: key)
    let isGone = held?.isDeleted ?? true
    let shelved = held == nil ? nil : try shelf.entry(table: table.id, key: key)
    // Whatever was done to the row, one that is parked may have waited for its place.
    defer { settlement.changed(table, key) }
    guard let row else {
      guard !isGone, shelved?.why.isWhole != true else { return }
      try logRefused(table, key, at: moment)
      return try askFor(table, key)
    }
    let hash = try row.hash(row.beside(shelved, statements, key, on: connection))
    if let held, !isGone, held.hash == hash {
      try putBacks.remove(table, key)
      return
    }
    try logRefused(table, key, at: moment)
    guard isGone || shelved?.why.isWhole == true else { return try askFor(table, key) }
    try takeOut(table, key, statements)
  }

  private func takeOut(_ table: ReplicaTable, _ key: Key, _ statements: RowStatements) throws {
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
    settlement.changed(table, key)
  }

  /// The version that stands has come again: true if the row was waiting for it.
  func putBack(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, _ application: inout Application
  ) throws -> Bool {
    guard !putBacks.isEmpty, case .values(let values) = row.row.content,
      let statements = table.statements, try putBacks.remove(table, key)
    else { return false }
    // It may have given way to another row while it waited: what it showed then was refused.
    try shelf.remove(table: table.id, key: key)
    let placement = Placement(
      shape: row.shape, values: values, hash: row.row.version.hash, exists: true)
    if try !contents.place(placement, statements, table, key) {
      try settlement.postpone(placement, statements, table, key, &application)
    }
    settlement.changed(table, key)
    application.changed.insert(table.id)
    return true
  }

  /// Whether a version that a row waits for will not come again: its author had to take it back,
  /// for a whole member that covers it has an earlier one. So that one is put back. The same if all
  /// is fetched anew.
  func wasTakenBack(
    _ version: Version, by application: Application, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Bool {
    guard !putBacks.isEmpty, !isOwn(version.dot.origin),
      isFetchingWhatWaits || application.held.covers(version.dot)
    else { return false }
    return try putBacks.contains(table, key)
  }

  private func askFor(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    try putBacks.insert(table, key)
  }

  /// Keeps the row as it stands; none if it was deleted. A row that still waits to be put back may
  /// be looked at again: what the log holds of it is not noted twice.
  private func logRefused(
    _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    let row = try contents.tableContent(table, key)
    let held = try versions.version(table: table.id, key: key)
    let keyAlone = try contents.content(of: nil, table, key)
    let loser = (row ?? keyAlone).map {
      ConflictSide(refusedTo: own, at: moment, isDeleted: row == nil, $0)
    }
    // A row that the site does not have was taken out, and written anew.
    let isShown = held?.isDeleted == false
    if !putBacks.isEmpty, isShown, let loser, try putBacks.contains(table, key),
      let noted = try conflicts.latest(table.name, key, .notAllowed)?.loser,
      noted.showsTheSame(as: loser)
    {
      return
    }
    try conflicts.put(
      table.name, key, at: moment, .notAllowed, loser: loser,
      // What stood is known by name; its content was written over.
      winner: held.flatMap { held in
        isOwn(held.edit.origin) ? nil : keyAlone.map { ConflictSide(held, $0) }
      })
  }

  /// Own versions that nobody holds are taken back: nobody would take them any more. Of a table
  /// that may not even be read the row stays as it is, and counts as changed when the right
  /// returns. True if there were any.
  private func takeBackUnsent(
    _ table: ReplicaTable, above delivered: UInt64, at moment: Int64
  ) throws -> Bool {
    guard let statements = table.statements, let number = origins.knownNumber(of: own) else {
      return false
    }
    let unsent = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND origin = ? AND seq > ?",
      [.integer(table.id), .integer(number), .integer(Int64(delivered))])
    for bytes in unsent.compactMap({ $0[0].blob }) {
      let key = Key(bytes: bytes)
      guard let version = try versions.version(table: table.id, key: key) else { continue }
      let isNew = version.created.origin == own && version.created.seq > delivered
      let isHidden = rights.right(to: table.name) == .none
      if !isHidden { try logRefused(table, key, at: moment) }
      count(table, key, old: version, new: nil)
      try versions.remove(table: table.id, key: key)
      try shelf.remove(table: table.id, key: key)
      // It may be on its way to somebody who takes it; and others have what stood there before. Of
      // a table that may not be read they tell when it may.
      try askFor(table, key)
      if isHidden { continue }
      if isNew { try takeOut(table, key, statements) }
    }
    return !unsent.isEmpty
  }
}
