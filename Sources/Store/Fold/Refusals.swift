import Replication
import SQLite

/// Edits that this replica may not make: they go to the conflict log, and the row is put back.
///
/// What stood there before is not kept here; it is asked for from whoever may write.
final class Refusals {
  private let connection: Connection
  private let tables: Tables
  private let versions: VersionTable
  private let shelf: Shelf
  private let origins: Origins
  private let contents: TableContents
  private let settlement: Settlement
  private let rowVersions: RowVersions
  private let ownRights: OwnRights
  private let putBacks: PutBackTable
  private let conflicts: ConflictLog
  private let viewpoint: PresentViewpoint

  init(
    _ connection: Connection, _ tables: Tables, _ versions: VersionTable, _ shelf: Shelf,
    _ origins: Origins, _ contents: TableContents, _ settlement: Settlement,
    _ rowVersions: RowVersions, _ ownRights: OwnRights, _ putBacks: PutBackTable,
    _ conflicts: ConflictLog, _ viewpoint: PresentViewpoint
  ) {
    (self.connection, self.tables, self.versions) = (connection, tables, versions)
    (self.shelf, self.origins, self.contents) = (shelf, origins, contents)
    (self.settlement, self.rowVersions) = (settlement, rowVersions)
    (self.ownRights, self.putBacks) = (ownRights, putBacks)
    (self.conflicts, self.viewpoint) = (conflicts, viewpoint)
  }

  private var own: Origin { viewpoint.value.own }

  /// True if this replica may do everything, and what it once held of others is yet to come again.
  /// So is the version of a row that waits, if anybody has it.
  var isFetchingWhatWaits: Bool {
    !putBacks.isEmpty && ownRights.rights.isWhole && origins.frontier.without(own).isEmpty
  }

  /// Takes the rows out that still wait when the first exchange has ended, and forgets their
  /// versions. Their authors took them back before anybody else had them, or they come with the
  /// next one. The log has what stood there. Those of this replica come only if they are asked for.
  func forgetWhatWaits() throws {
    for row in try putBacks.rows() {
      guard let table = tables.byID[row.table], !ownRights.regained.contains(table.id),
        let statements = table.statements
      else { continue }
      if let held = try versions.version(table: table.id, key: row.key) {
        guard held.dot.origin != own else { continue }
        rowVersions.count(table, row.key, old: held, new: nil)
        try versions.remove(table: table.id, key: row.key)
        try shelf.remove(table: table.id, key: row.key)
      }
      try takeOut(table, row.key, statements)
    }
  }

  /// Refuses what an application has made of a row; nil if it has deleted it.
  func refuse(
    _ row: StandingRow?, _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    // A table that may not even be read is none of the site's here.
    let isSettings = table.name.foldedForNames.hasPrefix("_flotilla_")
    guard isSettings || ownRights.rights.right(to: table.name) != .none,
      let statements = table.statements
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
    settlement.tookOut(table, key)
  }

  /// Whether a new row under this key was refused: nobody else has it.
  func hasRefused(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard let noted = try conflicts.latest(table.name, key, .notAllowed) else { return false }
    return noted.loser?.author == own && noted.loser?.isDeleted == false && noted.winner == nil
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
    guard !putBacks.isEmpty, !viewpoint.value.isOwn(version.dot.origin),
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
    _ table: ReplicaTable, _ key: Key, at moment: Int64, says known: Shelf.Entry? = nil
  ) throws {
    let row = try known ?? contents.tableContent(table, key)
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
        viewpoint.value.isOwn(held.edit.origin) ? nil : keyAlone.map { ConflictSide(held, $0) }
      })
  }

  /// Own versions that nobody holds are taken back: nobody would take them any more. Of a table
  /// that may not even be read the row stays as it is, and counts as changed when the right
  /// returns. True if there were any.
  func takeBackUnsent(
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
      let isHidden = ownRights.rights.right(to: table.name) == .none
      if !isHidden {
        // One that is parked is in no table.
        let content = version.isDeleted ? nil : try contents.content(of: version, table, key)
        try logRefused(table, key, at: moment, says: content)
      }
      rowVersions.count(table, key, old: version, new: nil)
      try versions.remove(table: table.id, key: key)
      // One that is parked may have claimed its values all the same.
      if try shelf.why(table: table.id, key: key)?.isWhole == true {
        settlement.changed(table, key)
      }
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
