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
  /// the shape. `isKept`: nobody has written that column since what the version is made over.
  func keyNote(
    _ table: ReplicaTable, _ key: Key, over old: Version?, isFirst: Bool = false,
    isKept: (Int) -> Bool = { _ in false }, _ value: (Int) throws -> Replication.Value?
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
      // A row that refers to nothing has NULL there.
      guard let parentKey = parent.key([try value(link.column) ?? .null]) else { continue }
      if parent.id == table.id, parentKey == key { continue }
      let before = (repeating ?? old)?.numbering.parents.first(where: link.isMeant)
      let isMachines = repeating != nil || isKept(link.column)
      guard let standing = try versions.version(table: parent.id, key: parentKey),
        try !standing.isDeleted && (isMachines || !isWrittenOver(parent, parentKey))
      else {
        try kinship.unnoted.put(parent: parent.id, parentKey, child: table.id, key)
        if let before { parents.append(before) }
        continue
      }
      if link.isOfKey { note.elders += standing.seniority }
      if let before, isMachines,
        try !isMet(before, by: standing, of: parent, under: parentKey)
      {
        parents.append(before)
      } else if standing.numbering.turn != nil {
        parents.append(
          ParentRow(
            link: link.id, made: Creation(at: standing.createdAt, dot: standing.created)))
      }
    }
    note.parents = parents
    if !note.elders.isEmpty { note.isNumbered = true }
    return note
  }

  /// Whether a program has written the key of a row that waits beside its table, which is yet to be
  /// folded.
  private func isWrittenOver(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard let statements = table.statements,
      try shelf.entry(table: table.id, key: key)?.why.isWhole == true
    else { return false }
    return try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
  }

  /// Whether the row is meant that stands under a number, as far as is known; if the one that is
  /// meant has another one now, that is news.
  private func isMet(
    _ meant: ParentRow, by standing: Version, of table: ReplicaTable, under key: Key
  ) throws(SQLiteError) -> Bool {
    if meant.isMet(by: standing, under: key) { return true }
    let place = FormerKeys.Place(table: table.id, key: key, created: meant.row)
    guard case .moved(let next) = try whereabouts(place) else { return false }
    if next.key == key, next.created == standing.created { return true }
    kinship.hear(of: place)
    return false
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

  /// Tables that a migration has made are the site's now: what this replica has written in others
  /// that refer to them says from now on which rows it means.
  func nameParents(in new: Set<Int64>) throws {
    for table in tables.tracked where table.isHere && !new.contains(table.id) {
      let links = try kinship.parentage(tables).links(of: table.id)
        .filter { new.contains($0.parent) }
      if !links.isEmpty { try compare(table.id, remake: Remake(naming: links)) }
    }
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
      // All else that it refers to was noted already.
      let news = try kinship.parentage(tables).links(of: child.table).filter {
        $0.parent == table.id && table.key([Replication.Value(row[$0.column])]) == key
      }
      let note = try keyNote(
        childTable, child.key, over: version,
        isKept: { column in !news.contains { $0.column == column } }
      ) { Replication.Value(row[$0]) }
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
    guard isMaker || isWriter || isHeir, mayWrite(table), let content,
      isMaker || isWriter || kinship.moving.hasRoom(for: content)
    else { return false }
    try kinship.moving.put(
      MovingRows.Item(table: table.id, key: key, version: loser, entry: content))
    guard loser.hash != winner.hash else { return true }
    if !isMaker, isWriter {
      try conflicts.put(
        table.name, key, at: now.moment, .keyCollision, rule: try anchor.actingRule(of: table).name,
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
    let place = FormerKeys.Place(table: table.id, key: key, created: created)
    // An edit alone was rejected: the row has its number.
    if try !isFixed(place) { try kinship.former.note(place) }
  }

  /// Where the rows are that an edit refers to by their numbers.
  enum Meaning {
    case here
    /// One may yet come to stand.
    case mayCome
    /// One has another number, or is to get one: the author hangs the edit under it again.
    case elsewhere
    /// One is deleted, and another row has its number.
    case gone
  }

  func meaning(
    of version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable
  ) throws -> Meaning {
    guard let entry else { return .here }
    var mayCome = false
    for meant in try kinship.parentage(tables).meant(by: version, entry, table, among: tables) {
      let (parent, key) = (meant.parent, meant.key)
      let standing = try versions.version(table: parent.id, key: key)
      let isTaken = standing.map { !$0.isDeleted } ?? false
      if let standing, isTaken, meant.row.isMet(by: standing, under: key) { continue }
      let waits = try pending.all(table: parent.id, key: key)
      if !origins.frontier.covers(meant.row.row)
        || waits.contains(where: { $0.version.created == meant.row.row })
      {
        mayCome = true
        continue
      }
      guard case .here = try whereabouts(meant.place) else { return .elsewhere }
      if isTaken { return .gone }
    }
    return mayCome ? .mayCome : .here
  }

  /// Another row stands under a key than before: what refers to it may mean the one that did.
  func noteReplaced(_ old: Version, by version: Version, _ table: ReplicaTable, _ key: Key) throws {
    guard old.created != version.created, version.numbering.turn != nil else { return }
    parking.replace(Export.RowID(table: table.id, key: key))
    // Two rows of equal content are one: what refers to the other one says so.
    if old.isTwin(of: version), !version.collides(with: old) {
      try noteTwin(old, of: version, table, key)
    }
  }

  /// Two machines have made the same row: what refers to the one that does not stand means the
  /// other one.
  func noteTwin(_ twin: Version, of standing: Version, _ table: ReplicaTable, _ key: Key) throws {
    let place = FormerKeys.Place(table: table.id, key: key, created: twin.created)
    let next = FormerKeys.Place(table: table.id, key: key, created: standing.created)
    if try kinship.former.note(place, next: next, edit: twin.edit) { kinship.hear(of: place) }
  }

  /// A row has come that had other keys before: what refers to it there follows. Or one that refers
  /// to such a row.
  func noteFormer(of row: ShapedRow, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    let version = row.row.version
    let place = FormerKeys.Place(table: table.id, key: key, created: version.created)
    var next = place
    for former in version.numbering.former.reversed() {
      let before = FormerKeys.Place(table: table.id, key: former.key, created: former.created)
      if try kinship.former.note(before, next: next, edit: former.edit) {
        try conflicts.noteRekeyed(former.edit, next: key, rows: 0)
        kinship.hear(of: before)
      }
      next = before
    }
    guard kinship.former.count > 0 else { return }
    for place in [place] + (try kinship.former.before(place)) where try isFixed(place) {
      let left = try kinship.former.after(place)
      try kinship.former.turnBack(to: place)
      guard let last = left.last else { continue }
      left.forEach(kinship.hear)
      kinship.returns.append((last, place))
    }
    guard let entry = row.entry else { return }
    let parentage = try kinship.parentage(tables)
    for meant in parentage.meant(by: version, entry, table, among: tables)
    where try kinship.former.knows(meant.place) { kinship.hear(of: meant.place) }
  }

  /// Makes rows that lost their key again, and lets those follow that refer to them.
  func rekey(_ edits: inout Edits, at now: Instant) throws {
    guard kinship.isDue, try isSettled() else { return }
    // What is found out on the way may be news in turn.
    for _ in 0..<8 {
      var rekeying = try Rekeying(self, try kinship.parentage(tables), at: now)
      try rekeying.run(&edits)
      if kinship.news.isEmpty { break }
    }
    kinship.end()
  }
}
