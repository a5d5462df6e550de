import Replication
import SQLite

/// Rows whose keys are numbers that may be given twice (docs/keys.md).
extension Store {
  /// Under which nobody writes any more, in no other life either.
  package var left: Set<Origin> {
    get { kinship.gone }
    set { kinship.gone = newValue }
  }

  /// Of these, those of members that were revoked.
  package var revoked: Set<Origin> {
    get { kinship.revoked }
    set { kinship.revoked = newValue }
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
      guard let parentKey = parent.key(referredToBy: try value(link.column) ?? .null)
      else { continue }
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
        try !moved.isMet(before, by: standing, of: parent, under: parentKey)
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

  /// A row refers to one that is this machine's alone: it was refused and taken out, or its table
  /// may not even be read here. It means nobody else: who gets the number later is another row. The
  /// edit that is made next stands for it.
  func nameOwnParents(
    in note: inout KeyNote, _ row: StandingRow, _ table: ReplicaTable, _ key: Key,
    _ madeAt: Dating.Moment, _ edits: Edits
  ) throws {
    guard let statements = table.statements else { return }
    for link in try kinship.parentage(tables).links(of: table.id) {
      guard let parent = tables.byID[link.parent], !mayWrite(parent),
        note.parents?.contains(where: link.isMeant) != true,
        let parentKey = parent.key(
          referredToBy: try row.value(of: link.column, statements, key, on: connection) ?? .null),
        try versions.version(table: parent.id, key: parentKey) == nil,
        try isOwn(parent, parentKey)
      else { continue }
      let own = Creation(
        at: Stamp(millisecondsSince1970: max(1, madeAt.at)), dot: Dot(own, edits.last + 1))
      note.parents = (note.parents ?? []) + [ParentRow(link: link.id, made: own)]
    }
  }

  /// Whether a row that has no version is here, yet to be refused, or was here and was refused.
  private func isOwn(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard let statements = table.statements else { return false }
    let values = (key.values ?? []).map(\.sqlite)
    if try connection.row(statements.existsByKey, values) != nil { return true }
    return rights.right(to: table.name) == .none ? false : try refusals.hasRefused(table, key)
  }

  /// Whether a program has written the key of a row that waits beside its table, which is yet to be
  /// folded.
  private func isWrittenOver(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard let statements = table.statements,
      try shelf.why(table: table.id, key: key)?.isWhole == true
    else { return false }
    return try connection.row(statements.existsByKey, (key.values ?? []).map(\.sqlite)) != nil
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
        $0.parent == table.id
          && table.key(referredToBy: Replication.Value(row[$0.column])) == key
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
    let isHeir =
      viewpoint.isOwn(winner.created.origin) && !office.isHeld
      && !kinship.revoked.contains(loser.created.origin)
    guard isMaker || isWriter || isHeir, mayWrite(table), let content,
      isMaker || isWriter || kinship.moving.hasRoom(for: content)
    else { return false }
    try kinship.moving.put(
      MovingRows.Item(table: table.id, key: key, version: loser), content)
    guard loser.hash != winner.hash else { return true }
    if !isMaker, isWriter {
      try conflicts.put(
        table.name, key, at: now.moment, .keyCollision, rule: try anchor.actingRule(of: table).name,
        loser: ConflictSide(loser, content), winner: try winning())
    }
    return isMaker || isWriter
  }

  /// Makes rows that lost their key again, and lets those follow that refer to them.
  func rekey(_ edits: inout Edits, at now: Instant) throws {
    guard kinship.isDue, !kinship.isLaidDown, try isSettled() else { return }
    let parentage = try kinship.parentage(tables)
    if kinship.isReread { try hearOfWaiting(parentage) }
    // What is found out on the way may be news in turn.
    for _ in 0..<8 {
      var rekeying = try Rekeying(self, parentage, at: now)
      try rekeying.run(&edits)
      if kinship.news.isEmpty || kinship.isLaidDown { break }
    }
    if kinship.isLaidDown {
      kinship.goOn(with: kinship.news.map { Kinship.Unfinished(place: $0) })
    }
    kinship.end()
  }

  /// Rows may wait that were to follow others when this file was closed.
  private func hearOfWaiting(_ parentage: Parentage) throws {
    kinship.isReread = false
    guard !kinship.former.isEmpty else { return }
    let moving = Dictionary(grouping: try kinship.moving.all(), by: \.table)
    for table in tables.tracked where !parentage.links(of: table.id).isEmpty {
      for (key, version) in try shelf.parked(in: table.id, versions) {
        try hear(of: version, table, parentage) { try shelf.entry(table: table.id, key: key) }
      }
      for item in moving[table.id] ?? [] {
        try hear(of: item.version, table, parentage) { try kinship.moving.entry(item) }
      }
      for item in try pending.all(in: table.id) {
        try hear(of: item.version, table, parentage) { try pending.entry(item) }
      }
    }
  }

  /// There is news of the rows that one means which is not in its table, if they have moved.
  private func hear(
    of version: Version, _ table: ReplicaTable, _ parentage: Parentage,
    saying content: () throws -> Shelf.Entry?
  ) throws {
    guard !version.numbering.parents.isEmpty, let entry = try content() else { return }
    for meant in parentage.meant(by: version, entry, table, among: tables)
    where try kinship.former.entry(meant.place)?.next != nil {
      kinship.hear(of: meant.place)
    }
  }
}
