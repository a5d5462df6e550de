import Replication
import SQLite

/// Edits that this replica may not make: they go to the conflict log, and the row is put back.
///
/// What stood there before is not kept here; it is asked for from whoever may write.
extension Store {
  /// What is to be asked for at a time, at most.
  private static let asked = 4_096

  func mayWrite(_ table: ReplicaTable) -> Bool {
    // What was written while nobody here might even read it was written without the right to.
    if regained.contains(table.id) { return false }
    if rights.isWhole { return true }
    return !table.name.foldedForNames.hasPrefix("_flotilla_")
      && rights.right(to: table.name) == .write
  }

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
    guard let table = tables.table(table), table.isTracked, !mayWrite(table),
      rights.right(to: table.name) != .none
    else { return .granted }
    return try reporting { () throws(SQLiteError) in
      .refused(isPutBack: try !isWaiting(table, key))
    }
  }

  /// Takes note of what this replica may do. What it has written while it might, and nobody has
  /// been sent (`delivered` is what others hold), is refused with the right.
  package func allow(
    _ rights: Rights, delivered: UInt64, at now: Instant
  ) throws(StoreError) {
    let before = self.rights
    guard rights != before else { return }
    // What waits was written under the old rights.
    while try fold(at: now).hasMore {}
    self.rights = rights
    try transaction {
      try meta.set(.rights, .blob(rights.bytes))
      let tracked = tables.byID.values.filter(\.isTracked)
      for table in tracked where !mayWrite(table) {
        try takeBackUnsent(table, above: delivered, at: now.wall)
      }
      // What the frontier counts as held was not sent as long as it could not be read.
      let opened = tracked.filter {
        before.right(to: $0.name) == .none && rights.right(to: $0.name) != .none
      }
      guard !opened.isEmpty else { return }
      try origins.forgetOthers(but: own)
      recent.requireScan()
      for table in opened {
        regained.insert(table.id)
        try compare(table.id)
      }
    }
  }

  /// Rows that should be as the site has them.
  package func wantedRows() throws(StoreError) -> [RowName] {
    guard hasPutBacks else { return [] }
    return try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT tbl, key FROM _flotilla_putback LIMIT ?", [.integer(Int64(Self.asked))]
      ).compactMap { row in
        guard let table = row[0].integer.flatMap({ tables.byID[$0] }) else { return nil }
        return RowName(table: table.name, key: row[1].blob ?? [])
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
    guard let row else {
      guard !isGone, shelved?.why.isWhole != true else { return }
      try logRefused(table, key, at: moment)
      return try askFor(table, key)
    }
    let hash = row.hash(
      extras: statements.unknown(in: shelved), rest: statements.rest(in: shelved))
    if let held, !isGone, held.hash == hash { return try forgetPutBack(table, key) }
    try logRefused(table, key, at: moment)
    guard isGone || shelved?.why.isWhole == true else { return try askFor(table, key) }
    _ = try writing { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
  }

  /// The version that stands has come again: true if the row was waiting for it.
  func putBack(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, _ application: inout Application
  ) throws -> Bool {
    guard hasPutBacks, case .values(let values) = row.row.content,
      let statements = table.statements, try isWaiting(table, key)
    else { return false }
    try forgetPutBack(table, key)
    let placement = Placement(
      shape: row.shape, values: values, hash: row.row.version.hash, exists: true)
    if try !place(placement, statements, table, key) {
      application.postponed.append(
        Application.Postponed(table: table, key: key, placement: placement))
    }
    application.changed.insert(table.id)
    return true
  }

  func forgetPutBack(_ table: ReplicaTable, _ key: Key) throws {
    guard hasPutBacks else { return }
    try connection.run(
      "DELETE FROM _flotilla_putback WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)])
  }

  private func isWaiting(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_putback WHERE tbl = ? AND key = ?",
      [.integer(table.id), .blob(key.bytes)]) != nil
  }

  private func askFor(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    hasPutBacks = true
    try connection.run(
      "INSERT OR IGNORE INTO _flotilla_putback(tbl, key) VALUES (?, ?)",
      [.integer(table.id), .blob(key.bytes)])
  }

  /// Keeps the row as it stands; none if it was deleted.
  private func logRefused(
    _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    let row = try tableContent(table, key)
    try conflicts.put(
      table.name, key, at: moment, .notAllowed, loser: row.map { ConflictSide(nil, $0) },
      winner: nil)
  }

  /// Own versions that nobody holds are taken back: nobody would take them any more. Of a table
  /// that may not even be read the row stays as it is, and counts as changed when the right
  /// returns.
  private func takeBackUnsent(
    _ table: ReplicaTable, above delivered: UInt64, at moment: Int64
  ) throws {
    guard let statements = table.statements, let number = origins.knownNumber(of: own) else {
      return
    }
    let unsent = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND origin = ? AND seq > ?",
      [.integer(table.id), .integer(number), .integer(Int64(delivered))])
    for bytes in unsent.compactMap({ $0[0].blob }) {
      let key = Key(bytes: bytes)
      guard let version = try versions.version(table: table.id, key: key) else { continue }
      let keyValues = (key.values ?? []).map(\.sqlite)
      let isHidden = rights.right(to: table.name) == .none
      if !isHidden { try logRefused(table, key, at: moment) }
      digests.replace(table: table.seed, key: key, old: version, new: nil)
      try versions.remove(table: table.id, key: key)
      if isHidden { continue }
      if version.created.origin == own, version.created.seq > delivered {
        _ = try writing { () throws(SQLiteError) in
          try connection.run(statements.deleteByKey, keyValues)
        }
      } else {
        try askFor(table, key)
      }
    }
  }
}
