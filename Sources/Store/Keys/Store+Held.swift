import Replication
import SQLite

/// What is held of a table under another shape of key than it has here.
extension Store {
  /// Looks at a slice of what others have sent under the key that the table has now, and that no
  /// row of this machine met; true if there is no more.
  func rekeyHeld(
    _ table: ReplicaTable, _ comparison: inout Comparison, _ edits: inout Edits, at now: Instant
  ) throws -> Bool {
    let start = comparison.after ?? Key(bytes: [])
    let places = try shelf.slice(after: (table.id, start), limit: pace.comparedRows)
    for place in places where place.table == table.id {
      comparison.after = place.key
      guard let entry = try shelf.entry(table: table.id, key: place.key), entry.why == .table,
        let held = try versions.version(table: table.id, key: place.key)
      else { continue }
      let shape = table.shape(entry.values.map(\.name), keyCount: entry.keyCount)
      let descent = try formerRows.descent(of: entry.values.map(\.value), in: table, shape)
      guard case .former(let former, _) = descent, isGone(held, by: former),
        mayWrite(table), let statements = table.statements
      else { continue }
      try shelf.remove(table: table.id, key: place.key)
      try delete(held, entry, by: former.version, table, place.key, statements, &edits)
    }
    guard places.count < pace.comparedRows || places.last?.table != table.id else { return false }
    try settlement.parkChildren(of: unpack(table, why: [.table]))
    try forgetFormer(of: table)
    return true
  }

  /// Whether a row that shows what it was under the key of before is gone here: deleted since, or
  /// not taken over.
  private func isGone(_ version: Version, by former: FormerRows.Former) -> Bool {
    let before = former.version
    if before.isDeleted, version.hasSeen(before) { return false }
    if before.isDeleted { return before.hasSeen(version) || version.stamp < before.stamp }
    return former.shelved?.why.isWhole != true && before.hasSeen(version)
  }

  /// A version that says so.
  ///
  /// A delete that was made without having seen the row under its new key meets it as any two edits
  /// meet. So whoever wrote the row is told that it is gone.
  private func delete(
    _ version: Version, _ entry: Shelf.Entry?, by before: Version, _ table: ReplicaTable,
    _ key: Key, _ statements: RowStatements, _ edits: inout Edits
  ) throws {
    var moment = Dating.Moment(of: before)
    if !before.isDeleted { moment.at += 1 }
    let isSeen = before.hasSeen(version)
    if !isSeen { try unhold(version, table, key) }
    let deleted = try make(
      over: isSeen ? version : before, besides: isSeen ? before : nil, isSameRow: true, hash: 0,
      isDeleted: true, madeAt: moment, table, key, &edits)
    try rowVersions.keep(deleted, table, key, old: isSeen ? version : nil)
    edits.add(statements.shape, deleted, .deleted(key: key.values ?? []))
    guard !isSeen else { return }
    let now = Instant(at: moment.at)
    // Its author makes the delete here, or the anchor takes back what it had accepted while the
    // table had another key: both would pass for somebody who has seen it.
    if isOwn(version.edit.origin) || office.certifies && !version.isTentative {
      try conflicts.put(
        table.name, key, at: now.moment, .older, rule: anchor.actingRule(of: table).name,
        loser: entry.map { ConflictSide(version, $0) },
        winner: ConflictSide(deleted, table.keyEntry(key)))
    }
    try meet(version, entry, table, key, &edits, at: now)
  }

  /// Where the columns do not tell which row was which, nothing is to be learnt from what had a row
  /// under the key of before. Else what is left of that had none any more.
  private func forgetFormer(of table: ReplicaTable) throws {
    guard let shape = table.statements?.shape else { return }
    for other in tables.held(of: table.name) where !other.isLeading {
      if let key = other.keyShape, KeyMapping(key, in: shape)?.isByName == true { continue }
      try connection.run(
        """
        DELETE FROM _flotilla_version AS v WHERE v.tbl = ?1 AND v.hash IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM _flotilla_shelf AS s
          WHERE s.tbl = v.tbl AND s.key = v.key AND s.why <> 'columns')
        """, [.integer(other.id)])
      versions.forgetAhead()
      try versionFigures.recount(other.id)
      try connection.run(
        "DELETE FROM _flotilla_shelf WHERE tbl = ? AND why = 'columns'", [.integer(other.id)])
    }
  }

  /// A row meets what is held of it under other shapes of its table's key; true if it is not to be
  /// kept itself, for it is history of the row that stands.
  ///
  /// What a row has seen is let go of. What it has not seen was written under the key of before,
  /// and its author makes it anew under this one; but a row that was deleted nobody makes anew.
  func meetHeld(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, _ application: inout Application
  ) throws -> Bool {
    let (incoming, values) = (row.row.version, row.row.values)
    if table.isHeld {
      if try isDeletedBetween(row, table) { return true }
      // What leads counts in the digest, whatever is known of it here.
      guard !table.isLeading, let here = tables.table(table.name), here.statements != nil,
        let shape = here.keyShape, let map = KeyMapping(shape, in: row.shape),
        let now = map.key(of: values),
        let standing = try versions.version(table: here.id, key: now)
      else { return false }
      return !incoming.isDeleted && standing.hasSeen(incoming)
    }
    guard table.statements != nil else { return false }
    for other in tables.held(of: table.name) {
      guard let shape = other.keyShape,
        let before = KeyMapping(shape, in: row.shape)?.key(of: values),
        let version = try versions.version(table: other.id, key: before)
      else { continue }
      let former = FormerRows.Former(
        table: other, key: before, version: version,
        shelved: try shelf.entry(table: other.id, key: before))
      if !incoming.isDeleted, isGone(incoming, by: former) {
        application.undone.append((table.id, key, former))
      } else if !version.isDeleted, incoming.hasSeen(version) {
        try versions.remove(table: other.id, key: before)
        try shelf.remove(table: other.id, key: before)
        rowVersions.count(other, before, old: version, new: nil)
      }
    }
    return false
  }

  /// A row of one former shape meets what is held of it under another one; true if it was deleted
  /// under that, by who had seen it. Such a row nobody makes anew.
  private func isDeletedBetween(_ row: ShapedRow, _ table: ReplicaTable) throws -> Bool {
    let incoming = row.row.version
    for other in tables.held(of: table.name) where other.id != table.id {
      guard let shape = other.keyShape,
        let before = KeyMapping(shape, in: row.shape)?.key(of: row.row.values),
        let version = try versions.version(table: other.id, key: before),
        version.isDeleted != incoming.isDeleted
      else { continue }
      if version.isDeleted, version.hasSeen(incoming) { return true }
      guard !version.isDeleted, !other.isLeading, incoming.hasSeen(version) else { continue }
      try versions.remove(table: other.id, key: before)
      try shelf.remove(table: other.id, key: before)
      rowVersions.count(other, before, old: version, new: nil)
    }
    return false
  }

  /// A row came that shows what it was before it was deleted here, under the key of before.
  func deleteAgain(
    _ former: FormerRows.Former, _ table: ReplicaTable, _ key: Key, _ edits: inout Edits
  ) throws {
    guard let statements = table.statements, mayWrite(table),
      let standing = try versions.version(table: table.id, key: key), !standing.isDeleted,
      isGone(standing, by: former)
    else { return }
    let entry = try contents.content(of: standing, table, key)
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
    try shelf.remove(table: table.id, key: key)
    try delete(standing, entry, by: former.version, table, key, statements, &edits)
  }

  /// Lets go of what a member wrote under the key that a table had before, once it says that it has
  /// made it anew and all of that is here; gives how many rows.
  package func letGoOfFormer(by node: Identity, keys: [TableKey]) throws(StoreError) -> Int {
    let made = Set(keys)
    let former = tables.tracked.filter { table in
      table.isHere
        && table.keyShape.map {
          made.contains(TableKey(table: table.seed, key: $0.fingerprint))
        } == true
    }.flatMap { tables.held(of: $0.name) }
    let authors =
      "SELECT o.id FROM _flotilla_origin AS o JOIN _flotilla_author AS a USING (origin) "
      + "WHERE a.node = ?2"
    let isWritten =
      "FROM _flotilla_version WHERE tbl = ?1 AND hash IS NOT NULL "
      + "AND key IN (SELECT key FROM _flotilla_shelf WHERE tbl = ?1) AND origin IN (\(authors))"
    var count = 0
    for table in former where !table.isLeading {
      let arguments: [SQLite.Value] = [.integer(table.id), .string(node.description)]
      let isAny = try reporting { () throws(SQLiteError) in
        try connection.row("SELECT 1 \(isWritten) LIMIT 1", arguments)
          != nil
      }
      guard isAny else { continue }
      try transaction {
        let keys = try connection.rows("SELECT key \(isWritten)", arguments)
        for key in keys.compactMap({ $0[0].blob.map(Key.init) }) {
          try versions.remove(table: table.id, key: key)
          try shelf.remove(table: table.id, key: key)
        }
        try versionFigures.recount(table.id)
        count += keys.count
      }
    }
    return count
  }
}
