import Replication
import SQLite

/// What this replica may do, and what becomes of its edits when that changes.
extension Store {
  func mayWrite(_ table: ReplicaTable) -> Bool { ownRights.mayWrite(table) }

  /// Refuses what was written without the right to. Of a table that is tracked again the rows are
  /// the site's that are as they were when tracking ended.
  func refuse(
    _ row: StandingRow?, _ table: ReplicaTable, _ key: Key, at moment: Int64, _ edits: Edits
  ) throws {
    if edits.isComparing, let row, try lost.ended(table, key)?.hash == row.content.value { return }
    try refusals.refuse(row, table, key, at: moment)
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
    guard let table = tables.table(called: table), table.isTracked, !mayWrite(table),
      rights.right(to: table.name) != .none
    else { return .granted }
    return try reporting { () throws(SQLiteError) in
      .refused(isPutBack: try !putBacks.contains(table, key))
    }
  }

  /// Whether a row of somebody else has the number by now under which this replica made one that
  /// was refused.
  package func isTaken(_ key: Key, of table: String) throws(StoreError) -> Bool {
    guard let table = tables.table(called: table) else { return false }
    return try reporting { () throws(SQLiteError) in
      guard try kinship.parentage(tables).numbered.contains(table.id),
        let standing = try versions.version(table: table.id, key: key), !standing.isDeleted
      else { return false }
      return !isOwn(standing.created.origin)
    }
  }

  /// What this replica may do with each table: how the site called it first, and what it is called
  /// in this file. Those that are here come first.
  package func tableRights() -> [(first: String, here: String, right: Right)] {
    let tracked = tables.tracked
    return (tracked.filter(\.isHere) + tracked.filter { !$0.isHere }).map { table in
      let right = rights.right(to: table.name)
      return (table.name, table.nameHere, mayWrite(table) ? right : min(right, .read))
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
        if try refusals.takeBackUnsent(table, above: delivered, at: now.moment) {
          takenBack.append(table)
        }
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

  /// Whether those are asked for next that were asked for longest ago.
  package var asksAnew: Bool { putBacks.isAtStart }

  /// The next rows that should be as the site has them, of tables that may be read.
  package func wantedRows() throws(StoreError) -> [RowName] {
    try reporting { () throws(SQLiteError) in
      guard !putBacks.isEmpty else { return [] }
      let readable = tables.byID.values.filter {
        $0.isTracked && ($0.isSettings || rights.right(to: $0.name) != .none)
      }.map(\.id)
      return try putBacks.nextRows(of: readable).compactMap { row in
        tables.byID[row.table].map { RowName(table: $0.name, key: row.key.bytes) }
      }
    }
  }
}
