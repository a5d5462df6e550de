import Replication
import SQLite

/// Rows whose keys are numbers that may be given twice (docs/keys.md).
extension Store {
  /// Under which nobody writes any more, in no other life either.
  package var left: Set<Origin> {
    get { kinship.gone }
    set { kinship.gone = newValue }
  }

  /// What a version says of its key and of the rows that it refers to; `value` gives a column of
  /// the shape.
  func keyNote(
    _ table: ReplicaTable, _ key: Key, over old: Version?, isComparing: Bool = false,
    _ value: (Int) throws -> Replication.Value?
  ) throws -> KeyNote {
    var note = KeyNote()
    let parentage = try kinship.parentage(tables)
    if parentage.isEmpty { return note }
    note.isNumbered = parentage.numbered.contains(table.id)
    let links = parentage.links(of: table.id)
    guard !links.isEmpty, !isComparing else { return note }
    var parents: [Dot] = []
    for link in links {
      guard let parent = tables.byID[link.parent] else { continue }
      let values = try link.columns.map { try value($0) ?? .null }
      // A row that refers to nothing has NULL in one of them.
      guard let parentKey = parent.key(values) else { continue }
      if parent.id == table.id, parentKey == key { continue }
      let version = try versions.version(table: parent.id, key: parentKey)
      guard let version, !version.isDeleted else {
        if try isThere(parentKey, parent) {
          try kinship.unnoted.put(parent: parent.id, parentKey, child: table.id, key)
        }
        continue
      }
      if link.isOfKey { note.elders += version.seniority }
      guard let dot = try meant(by: old, under: parentKey, of: parent, standing: version),
        !parents.contains(dot)
      else { continue }
      parents.append(dot)
    }
    note.parents = parents
    if !note.elders.isEmpty { note.isNumbered = true }
    return note
  }

  private func isThere(_ key: Key, _ table: ReplicaTable) throws(SQLiteError) -> Bool {
    guard let statements = table.statements else { return false }
    return try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
  }

  /// Which row is meant: what the row referred to before, if that had to leave its key or is yet to
  /// come; else the one that stands. Nil if everybody knows that one: its key is its own.
  private func meant(
    by old: Version?, under key: Key, of parent: ReplicaTable, standing: Version
  ) throws(SQLiteError) -> Dot? {
    for dot in old?.numbering.parents ?? [] where dot != standing.created {
      if !origins.frontier.covers(dot) { return dot }
      let place = FormerKeys.Place(table: parent.id, key: key, created: dot)
      guard let entry = try kinship.former.entry(place), entry.next != key else { continue }
      if entry.next != nil { kinship.news.append(entry) }
      return dot
    }
    guard standing.isTentative, standing.numbering.turn != nil else { return nil }
    return stability.stable?.covers(standing.created) == true ? nil : standing.created
  }

  /// A row has its version now; those that were folded before it and refer to it say so.
  func noteChildren(
    of table: ReplicaTable, _ key: Key, _ edits: inout Edits
  ) throws {
    for child in try kinship.unnoted.take(parent: table.id, key) {
      guard let childTable = tables.byID[child.table], let statements = childTable.statements,
        var version = try versions.version(table: child.table, key: child.key),
        version.dot.origin == own, !version.isDeleted,
        let row = try connection.row(
          statements.selectByKey, (child.key.values ?? []).map(\.sqlite))
      else { continue }
      let note = try keyNote(childTable, child.key, over: nil) { Replication.Value(row[$0]) }
      version.numbering.parents = Array((note.parents ?? []).prefix(Numbering.mostParents))
      if version.created == version.dot, note.isNumbered {
        version.numbering.turn = version.numbering.turn ?? .zero
        version.numbering.elders = Array(note.elders.prefix(Numbering.mostElders))
      }
      try versions.put(version, table: child.table, key: child.key)
      // It may be in the push already as it was.
      edits.cancelPush()
    }
  }

  /// Two rows have one key: notes that one of them leaves it, and keeps it if it is for this
  /// replica to make it again, or to say what it had written in it. True if nobody else has to
  /// look after it.
  @discardableResult
  func noteCollision(
    _ loser: Version, _ content: Shelf.Entry?, under winner: Version, _ table: ReplicaTable,
    _ key: Key, at now: Instant, winning: () throws -> ConflictSide?
  ) throws -> Bool {
    let place = FormerKeys.Place(table: table.id, key: key, created: loser.created)
    if loser.hash != winner.hash {
      if try kinship.former.entry(place)?.next != nil { return true }
      try kinship.former.note(place)
    }
    let isMaker = viewpoint.isOwn(loser.created.origin)
    let isWriter = viewpoint.isOwn(loser.edit.origin)
    let isHeir = viewpoint.isOwn(winner.created.origin) && !office.isHeld
    guard isMaker || isWriter || isHeir, mayWrite(table), let content else { return false }
    try kinship.moving.put(
      MovingRows.Item(table: table.id, key: key, version: loser, entry: content))
    guard loser.hash != winner.hash else { return true }
    if !isMaker, isWriter {
      try conflicts.put(
        table.name, key, at: now.moment, .keyCollision, rule: try actingRule(of: table).name,
        loser: ConflictSide(loser, content), winner: try winning())
    }
    return isMaker || isWriter
  }

  /// Whether an edit refers to a row that has lost its key to the one that stands there, as far as
  /// is known; nil if that one may yet come to stand.
  func isMisplaced(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable
  ) throws -> Bool? {
    guard let entry, let statements = table.statements, !version.numbering.parents.isEmpty
    else { return false }
    for link in try kinship.parentage(tables).links(of: table.id) {
      let values = link.columns.map { column in
        entry.values.first { statements.column(named: $0.name, at: nil) == column }?.value ?? .null
      }
      guard let parent = tables.byID[link.parent], let key = parent.key(values) else { continue }
      let standing = try versions.version(table: parent.id, key: key)
      for dot in version.numbering.parents where dot != standing?.created {
        let place = FormerKeys.Place(table: parent.id, key: key, created: dot)
        if let entry = try kinship.former.entry(place), entry.next != key { return true }
        let waits = try pending.all(table: parent.id, key: key)
        if waits.contains(where: { $0.version.created == dot }) { return nil }
      }
    }
    return false
  }

  /// A row has come that had other keys before: what refers to it there follows. Or one that refers
  /// to such a row.
  func noteFormer(of version: Version, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    for former in version.numbering.former {
      let place = FormerKeys.Place(
        table: table.id, key: former.key, created: former.created)
      guard try kinship.former.note(place, next: key, edit: former.edit) else { continue }
      try conflicts.noteRekeyed(former.edit, next: key, rows: 0)
      kinship.news.append(FormerKeys.Entry(place: place, next: key, edit: former.edit))
    }
    guard kinship.former.count > 0 else { return }
    let place = FormerKeys.Place(table: table.id, key: key, created: version.created)
    if !version.isDeleted, let entry = try kinship.former.entry(place) {
      try kinship.former.remove(place)
      if let next = entry.next { kinship.returns.append((table.id, next, key)) }
    }
    for parent in version.numbering.parents {
      kinship.news += try kinship.former.entries(of: parent).filter { $0.next != nil }
    }
  }

  /// Makes rows that lost their key again, and lets those follow that refer to them.
  func rekey(_ edits: inout Edits, at now: Instant) throws {
    guard kinship.isDue, try isSettled() else { return }
    var rekeying = Rekeying(self, try kinship.parentage(tables), at: now)
    try rekeying.run(&edits)
    kinship.end()
  }
}
