import Replication
import SQLite

/// The conflict log for people: its entries by the names of this file, what was done about them,
/// and how much of it is kept.
package struct Conflicts {
  let connection: Connection
  let meta: Meta
  let log: ConflictLog
  let tables: Tables

  /// Conflicts, the latest first; those that were restored or dismissed only if asked for. Rows
  /// that got a fresh key are told of until somebody has dismissed that.
  package func list(all: Bool) throws(StoreError) -> [Conflict] {
    try reporting { () throws(SQLiteError) in
      try log.list("\(all ? "" : "WHERE state IN ('open', 'rekeyed')") ORDER BY id DESC", [])
        .map(namedHere)
    }
  }

  /// Under which key the row goes on that lost its own, and how many others have followed it.
  package func rekeyed(_ conflict: Conflict) throws(StoreError) -> (key: Key, rows: Int)? {
    try reporting { () throws(SQLiteError) in try log.rekeyed(conflict.id) }
  }

  package func entry(_ id: Int64) throws(StoreError) -> Conflict? {
    try reporting { () throws(SQLiteError) in
      try log.list("WHERE id = ?", [.integer(id)]).first.map(namedHere)
    }
  }

  /// What was done about it: restored, or dismissed because nobody wants it.
  package func settle(_ id: Int64, as state: Conflict.State) throws(StoreError) {
    try reporting { () throws(SQLiteError) in try log.set(state, of: id) }
  }

  /// Takes those off the list that nobody has settled, in one transaction; gives their numbers.
  package func dismiss(_ ids: [Int64]) throws(StoreError) -> [Int64] {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        var dismissed: [Int64] = []
        for id in ids where try log.dismiss(id) { dismissed.append(id) }
        return dismissed
      }
    }
  }

  /// How much of the log is kept here.
  package func bounds() throws(StoreError) -> ConflictBounds {
    try reporting { () throws(SQLiteError) in try readBounds() }
  }

  private func readBounds() throws(SQLiteError) -> ConflictBounds {
    var bounds = ConflictBounds()
    if let days = try meta.integer(.conflictDays) { bounds.days = Int(days) }
    if let count = try meta.integer(.conflictCount) {
      bounds.count = Int(count)
    } else {
      bounds.bytes = ConflictBounds.bytes(besides: try usedBytes() - log.bytes())
    }
    return bounds
  }

  /// Pages of the file that hold something.
  private func usedBytes() throws(SQLiteError) -> Int {
    let pages =
      try connection.prepareScalar("PRAGMA page_count")
      - connection.prepareScalar("PRAGMA freelist_count")
    return Int(try pages * connection.prepareScalar("PRAGMA page_size"))
  }

  /// Sets how much is kept, where it is given, and lets go of what is beyond. A count that was
  /// chosen holds however much the log takes.
  package func setBounds(
    count: Int?, days: Int?, at now: Instant
  ) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        if let count { try meta.set(.conflictCount, .integer(Int64(count))) }
        if let days { try meta.set(.conflictDays, .integer(Int64(days))) }
      }
    }
    try trim(at: now)
  }

  /// The bounds that hold where nobody has set any.
  package func setBoundsByDefault(at now: Instant) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for setting in [Meta.Name.conflictCount, .conflictDays] { try meta.set(setting, .null) }
      }
    }
    try trim(at: now)
  }

  /// Lets go of the oldest conflicts beyond the bounds.
  package func trim(at now: Instant) throws(StoreError) {
    let excess = try excess(at: now)
    guard !excess.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in try remove(excess) }
    }
  }

  /// The oldest conflicts beyond the bounds.
  func excess(at now: Instant) throws(StoreError) -> [Int64] {
    try reporting { () throws(SQLiteError) in try log.excess(of: readBounds(), at: now.ageing) }
  }

  /// Lets go of these, and counts them; in the open transaction.
  func remove(_ ids: [Int64]) throws(SQLiteError) {
    let gone = try log.remove(ids)
    guard gone > 0 else { return }
    try meta.set(.conflictsGone, .integer((try meta.integer(.conflictsGone) ?? 0) + Int64(gone)))
  }

  /// How many were let go so far.
  package func gone() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in
      Int(try meta.integer(.conflictsGone) ?? 0)
    }
  }

  private func namedHere(_ conflict: Conflict) -> Conflict {
    var conflict = conflict
    (conflict.keyNames, conflict.isKeyCertain) = keyNames(of: conflict)
    if let loser = conflict.loser {
      conflict.loser?.values = tables.namedHere(loser.values, in: conflict.table)
    }
    if let winner = conflict.winner {
      conflict.winner?.values = tables.namedHere(winner.values, in: conflict.table)
    }
    conflict.table = tables.nameHere(conflict.table)
    return conflict
  }

  /// The names of its key as its own sides have them: another key of the table may have as many
  /// columns by now.
  private func keyNames(of conflict: Conflict) -> (names: [String], isCertain: Bool) {
    let count = conflict.key.values?.count ?? 0
    let nameless = RowStatements.placeholders(count)
    for side in [conflict.loser, conflict.winner].compactMap(\.self) where side.keyCount == count {
      let key = side.values.prefix(count)
      guard key.count == count, key.map(\.name) != nameless else { continue }
      let names = key.map { tables.namedHere([$0], in: conflict.table).first?.name ?? $0.name }
      return (names, true)
    }
    let names = tables.keyNames(of: conflict.key, of: conflict.table)
    return (names, !tables.hasHadAnotherKey(conflict.table))
  }
}
