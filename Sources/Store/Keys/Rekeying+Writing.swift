import Replication
import SQLite

/// How rows are written again.
extension Rekeying {
  /// Gives how many rows that waited wait no more.
  func write(_ edits: inout Edits, _ application: inout Application) throws -> Int {
    var settled = 0
    for row in overruled {
      try logCollision(row.version, row.before, row.table, row.key, under: row.key)
      try delete(row, &edits, &application)
    }
    for name in order {
      guard let row = rows[name], row.item == nil, row.waiting == nil, row.next != row.key
      else { continue }
      try delete(row, &edits, &application)
    }
    let depths = Dictionary(
      uniqueKeysWithValues: Set(order.map(\.table)).map {
        ($0, parentage.depth(of: $0))
      })
    let sorted = order.enumerated().sorted {
      (depths[$0.element.table] ?? 0, $0.offset) < (depths[$1.element.table] ?? 0, $1.offset)
    }
    for (_, name) in sorted {
      guard var row = rows[name], row.item == nil || row.isFree || row.next != row.key
      else { continue }
      try renewReferences(&row.entry, row.version, row.table)
      if row.next != row.key {
        pointToItself(&row.entry, row.version, row.table, from: row.key, to: row.next)
      }
      if let waiting = row.waiting { try store.pending.remove(waiting) }
      try make(row, &edits, &application)
      if let item = row.item { try store.kinship.moving.remove(item) }
      if row.waiting != nil || row.item != nil { settled += 1 }
    }
    return settled
  }

  private func delete(
    _ row: Row, _ edits: inout Edits, _ application: inout Application
  ) throws {
    let version = try store.make(
      over: row.version, hash: 0, isDeleted: true, madeAt: Dating.Moment(now.moment), row.table,
      row.key, &edits)
    let shaped = row.table.shaped(version, nil, row.key)
    try store.stand(
      shaped, row.table, row.key, over: row.version, at: now, &application)
    edits.add(shaped.shape, version, shaped.row.content)
  }

  func make(
    _ row: Row, _ edits: inout Edits, _ application: inout Application
  ) throws {
    guard let statements = row.table.statements else { return }
    let hasMoved = row.next != row.key
    let old =
      hasMoved || row.isFree
      ? try store.versions.version(table: row.table.id, key: row.next) : row.version
    let hash = statements.contentHash(of: row.entry)
    if hasMoved, let old, !old.isDeleted, try hash == old.hash || givesWay(row, to: old) {
      return try supersede(row)
    }
    let value = { (column: Int, entry: Shelf.Entry) in
      entry.values.first { statements.column(named: $0.name, at: nil) == column }?.value
    }
    var note = try store.keyNote(
      row.table, row.next, over: row.source,
      isKept: { value($0, row.entry) == value($0, row.before) }
    ) { value($0, row.entry) }
    try renewNames(&note, row, statements)
    if hasMoved || row.isFree, row.key.bytes.count <= Numbering.longestKey {
      note.former =
        row.version.numbering.former.filter { $0.key != row.next || row.isFree }
        + [
          FormerKey(
            key: row.key, created: row.version.created, edit: row.version.edit)
        ]
    }
    let version = try store.make(
      over: old, hash: hash, isDeleted: false,
      madeAt: Dating.Moment(now.moment), keys: note, row.table, row.next, &edits)
    let shaped = row.table.shaped(version, row.entry, row.next)
    try store.stand(shaped, row.table, row.next, over: old, at: now, &application)
    edits.add(shaped.shape, version, shaped.row.content)
    try store.noteChildren(of: row.table, row.next, &edits)
    if row.isFree || hasMoved { try supersede(row) }
  }

  /// What has been pointed to a row that is not here yet, or no more, names it as it is called
  /// there.
  private func renewNames(
    _ note: inout KeyNote, _ row: Row, _ statements: RowStatements
  ) throws {
    for link in parentage.links(of: row.table.id) {
      guard let index = note.parents?.firstIndex(where: link.isMeant),
        let named = note.parents?[index], row.source.numbering.parents.contains(named),
        let before = link.number(in: row.before, statements),
        before != link.number(in: row.entry, statements),
        let key = store.tables.byID[link.parent]?.key(referredToBy: before)
      else { continue }
      let place = FormerKeys.Place(table: link.parent, key: key, created: named.row)
      guard case .moved(let next) = try store.moved.whereabouts(place) else { continue }
      note.parents?[index].made.dot = next.created
    }
  }

  /// Whether a row leaves what stands under its next key as it is.
  ///
  /// A line that two machines have made in one order is one row, written twice: when the order
  /// moves, the one that comes later to the new key is in the log. Where it is the row itself that
  /// somebody has taken along, what was written here over that goes into it.
  private func givesWay(_ row: Row, to old: Version) throws -> Bool {
    // It goes back, and may bring what was written into it where it was.
    if row.version.numbering.former.contains(where: { $0.created == old.created }) {
      return row.version.edit == row.version.created
    }
    let taken = old.numbering.former.first {
      $0.key == row.key && $0.created == row.version.created
    }
    if let taken {
      if taken.edit == row.version.edit { return true }
      if row.version.hasSeen(taken.edit), old.created == old.edit { return false }
    }
    try logCollision(row.version, row.before, row.table, row.key, under: row.next)
    return true
  }

  /// Whoever waits for the verdict: its author has written it again.
  private func supersede(_ row: Row) throws {
    guard store.lives.made(row.version.edit) else { return }
    try store.verdicts.settle(Int64(row.version.edit.seq), .superseded, nil, rule: nil, at: now)
  }

  /// Whatever is written again refers to the rows that are meant where they are now.
  func renewReferences(
    _ entry: inout Shelf.Entry, _ version: Version, _ table: ReplicaTable
  ) throws {
    guard let statements = table.statements else { return }
    for meant in parentage.meant(by: version, entry, table, among: store.tables)
    where !meant.link.isOfKey {
      guard case .moved(let next) = try store.moved.whereabouts(meant.place),
        let number = next.key.values?.first, let column = meant.link.place(in: entry, statements)
      else { continue }
      entry.values[column].value = number.asNumber(like: entry.values[column].value)
    }
  }
}

extension RowStatements {
  /// The hash of a row that was kept apart from its table.
  func contentHash(of entry: Shelf.Entry) -> UInt64 {
    var sum = ContentHash()
    for (name, value) in entry.values {
      if let column = column(named: name, at: nil) {
        if defaults[column] != value { sum.add(column: columnHashes[column], value) }
      } else {
        sum.add(column: ContentHash.column(name), value)
      }
    }
    sum.add(rest: entry.rest)
    return sum.value
  }
}
