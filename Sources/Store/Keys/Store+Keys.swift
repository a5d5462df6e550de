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
    _ table: ReplicaTable, _ key: Key, over old: Version?, isFirst: Bool = false,
    _ value: (Int) throws -> Replication.Value?
  ) throws -> KeyNote {
    var note = KeyNote()
    let parentage = try kinship.parentage(tables)
    if parentage.isEmpty { return note }
    note.isNumbered = parentage.numbered.contains(table.id)
    let links = parentage.links(of: table.id)
    guard !links.isEmpty, !isFirst else { return note }
    var parents: [ParentRow] = []
    for link in links {
      guard let parent = tables.byID[link.parent] else { continue }
      let values = try link.columns.map { try value($0) ?? .null }
      // A row that refers to nothing has NULL in one of them.
      guard let parentKey = parent.key(values) else { continue }
      if parent.id == table.id, parentKey == key { continue }
      let version = try versions.version(table: parent.id, key: parentKey)
      guard let version, !version.isDeleted else {
        try kinship.unnoted.put(parent: parent.id, parentKey, child: table.id, key)
        if let before = reference(of: old, by: link) { parents.append(before) }
        continue
      }
      if link.isOfKey { note.elders += version.seniority }
      let row = try meant(by: old, link, under: parentKey, of: parent, standing: version)
      if let row { parents.append(ParentRow(link: link.id, row: row)) }
    }
    note.parents = parents
    if !note.elders.isEmpty { note.isNumbered = true }
    return note
  }

  /// Which row is meant: what the row referred to before, if that had to leave its key or is yet to
  /// come; else the one that stands. Nil if the anchor has certified that one: its key is its own.
  private func meant(
    by old: Version?, _ link: Parentage.Link, under key: Key, of parent: ReplicaTable,
    standing: Version
  ) throws -> Dot? {
    if let before = reference(of: old, by: link)?.row, before != standing.created {
      if !origins.frontier.covers(before) { return before }
      let place = FormerKeys.Place(table: parent.id, key: key, created: before)
      switch try whereabouts(place) {
      case .here: break
      case .moving: return before
      case .moved(let next) where next.key == key && next.created == standing.created: break
      case .moved:
        kinship.news.append(place)
        return before
      }
    }
    // The turn of a row whose key holds another's comes with that one.
    let mayMove =
      try standing.numbering.turn != nil || kinship.parentage(tables).derived.contains(parent.id)
    return standing.isTentative && mayMove ? standing.created : nil
  }

  /// What the row referred to before; an edit that is made again, what that one did.
  private func reference(of old: Version?, by link: Parentage.Link) -> ParentRow? {
    (repeating ?? old)?.numbering.parents.first { $0.link == link.id }
  }

  /// Where a row is that stood under a key.
  enum Whereabouts {
    case here
    case moved(FormerKeys.Place)
    /// It had to leave its key, and is yet to be made again.
    case moving
  }

  /// A row is where it was made again last, unless an anchor has certified it before that: then it
  /// goes back.
  func whereabouts(_ place: FormerKeys.Place) throws(SQLiteError) -> Whereabouts {
    guard kinship.former.count > 0 else { return .here }
    for before in try kinship.former.before(place) where try isFixed(before) {
      return .moved(before)
    }
    if try isFixed(place) { return .here }
    let after = try kinship.former.after(place)
    for next in after where try isFixed(next) { return .moved(next) }
    if let last = try kinship.former.entry(after.last ?? place), last.next == nil {
      return .moving
    }
    return after.last.map { .moved($0) } ?? .here
  }

  /// Whether an anchor has certified the row under the key: it keeps it.
  func isFixed(_ place: FormerKeys.Place) throws(SQLiteError) -> Bool {
    guard let version = try versions.version(table: place.table, key: place.key) else {
      return false
    }
    return version.created == place.created && version.hasFixedNumber
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
      let note = try keyNote(childTable, child.key, over: version) { Replication.Value(row[$0]) }
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

  /// Whether the row of an edit is certified under a key that it had before: it has that one.
  func hasReturned(_ version: Version, _ table: ReplicaTable) throws(SQLiteError) -> Bool {
    for former in version.numbering.former
    where try isFixed(
      FormerKeys.Place(table: table.id, key: former.key, created: former.created))
    { return true }
    return false
  }

  /// The anchor has not taken the row of an edit under its key: who made it makes it again.
  func noteRejected(_ edit: Dot, _ table: ReplicaTable, _ key: Key) throws {
    guard try kinship.parentage(tables).numbered.contains(table.id) else { return }
    let known =
      try [versions.version(table: table.id, key: key)].compactMap { $0 }
      + pending.all(table: table.id, key: key).map(\.version)
    let created = known.first { $0.edit == edit }?.created ?? edit
    try kinship.former.note(FormerKeys.Place(table: table.id, key: key, created: created))
  }

  /// Whether an edit refers to a row that has lost its key to the one that stands there, as far as
  /// is known; nil if that one may yet come to stand.
  func isMisplaced(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable
  ) throws -> Bool? {
    guard let entry, let statements = table.statements, !version.numbering.parents.isEmpty
    else { return false }
    var mayCome = false
    for link in try kinship.parentage(tables).links(of: table.id) {
      guard let dot = version.numbering.parents.first(where: { $0.link == link.id })?.row
      else { continue }
      let values = link.columns.map { column in
        entry.values.first { statements.column(named: $0.name, at: nil) == column }?.value ?? .null
      }
      guard let parent = tables.byID[link.parent], let key = parent.key(values) else { continue }
      let standing = try versions.version(table: parent.id, key: key)
      if dot == standing?.created { continue }
      switch try whereabouts(FormerKeys.Place(table: parent.id, key: key, created: dot)) {
      case .moving: return true
      case .moved(let next) where next.key != key || next.created != standing?.created:
        return true
      case .here, .moved: break
      }
      let waits = try pending.all(table: parent.id, key: key)
      if !origins.frontier.covers(dot) || waits.contains(where: { $0.version.created == dot }) {
        mayCome = true
      }
    }
    return mayCome ? nil : false
  }

  /// A row has come that had other keys before: what refers to it there follows. Or one that refers
  /// to such a row.
  func noteFormer(of version: Version, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    let place = FormerKeys.Place(table: table.id, key: key, created: version.created)
    var next = place
    for former in version.numbering.former.reversed() {
      let before = FormerKeys.Place(table: table.id, key: former.key, created: former.created)
      if try kinship.former.note(before, next: next, edit: former.edit) {
        try conflicts.noteRekeyed(former.edit, next: key, rows: 0)
        kinship.news.append(before)
      }
      next = before
    }
    guard kinship.former.count > 0 else { return }
    if version.hasFixedNumber {
      let left = try kinship.former.after(place)
      kinship.news += left
      if let last = left.last { kinship.returns.append((last, place)) }
    }
    for parent in version.numbering.parents {
      kinship.news += try kinship.former.places(of: parent.row)
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
