import Replication
import SQLite

/// What is told of rows that were made again, and what becomes of those that were not.
extension Rekeying {
  /// All that is written again because of one row, directly or not.
  private struct Followers {
    var rows: [Int: [Name]] = [:]
    var numbers: [Name: [Int]] = [:]

    init(_ rekeying: Rekeying) {
      for (name, row) in rekeying.rows {
        for root in row.roots { rows[root, default: []].append(name) }
      }
      for (number, name) in rekeying.roots.enumerated() {
        numbers[name, default: []].append(number)
      }
    }

    func of(_ root: Int) -> Set<Name> {
      var (found, queue): (Set<Name>, [Int]) = ([], [root])
      while let number = queue.popLast() {
        for name in rows[number] ?? [] where found.insert(name).inserted {
          queue += numbers[name] ?? []
        }
      }
      return found
    }
  }

  func tell() throws {
    let numbers = roots.indices.sorted {
      (parentage.depth(of: roots[$0].table), $0) < (parentage.depth(of: roots[$1].table), $1)
    }
    let followers = Followers(self)
    var told: Set<Int> = []
    for number in numbers {
      let name = roots[number]
      // A row that follows another one is told of with that.
      guard let row = rows[name], !told.contains(number) else { continue }
      let following = followers.of(number)
      told.formUnion(following.flatMap { followers.numbers[$0] ?? [] })
      let moved = following.subtracting([name]).count
      try logCollision(row.version, row.before, row.table, row.key, under: row.key)
      try store.conflicts.noteRekeyed(row.version.first, next: row.next, rows: moved)
    }
    for (loser, more) in Dictionary(grouping: rows.values.flatMap(\.losers), by: { $0 }) {
      try store.conflicts.noteFollowed(loser, rows: more.count)
    }
  }

  /// What is left: rows that somebody else has to make again, and rows that no other has to follow.
  /// As long as more is to be written another time nobody knows which these are.
  func settle(
    _ items: [MovingRows.Item], _ edits: inout Edits, _ application: inout Application
  ) throws {
    for item in items {
      if let row = rows[name(of: item)], row.isFree || row.next != row.key {
        guard row.isFree else { continue }
        try store.conflicts.noteRekeyed(item.version.first, next: row.next, rows: 0)
        continue
      }
      let place = FormerKeys.Place(
        table: item.table, key: item.key, created: item.version.created)
      if case .moved(let next) = try store.moved.whereabouts(place) {
        let entry = try store.kinship.former.entry(place)
        try takeAlong(item, entry?.edit, next.key, &edits, &application)
        try store.kinship.moving.remove(item)
      } else if try !isFull && isGivenUp(item) {
        try giveUp(item)
        try store.kinship.moving.remove(item)
      }
    }
  }

  /// Whether a row is not made again: it need not be, or its author was shut out.
  private func isGivenUp(_ item: MovingRows.Item) throws -> Bool {
    let author = item.version.created.origin
    if store.kinship.revoked.contains(author) { return true }
    guard store.kinship.isComplete, store.viewpoint.isOwn(author) else { return false }
    return try !isAwaited(item)
  }

  /// Whether a row may yet have to follow one to which it refers, and which somebody else has to
  /// make again; or the anchor has not taken it where it was, and its key is free, or will be.
  private func isAwaited(_ item: MovingRows.Item) throws -> Bool {
    guard let table = store.tables.byID[item.table],
      let standing = try store.versions.version(table: item.table, key: item.key)
    else { return true }
    let parents = item.version.numbering.parents
    // It lost its number, and numbers are kept apart no more: it is one row, written twice.
    let isPlain =
      parentage.isPlain(table.id) && (parents.isEmpty || item.version.numbering.turn != nil)
    if try refersToDeleted(item, table) { return false }
    guard try isPlain || !standing.isDeleted && isInPlace(standing, table, under: item.key)
    else { return true }
    for parent in parents {
      if try store.kinship.former.isAwaited(parent.row) { return true }
    }
    return false
  }

  /// Whether a row means one that is deleted, and is not made again: nobody waits for that.
  private func refersToDeleted(_ item: MovingRows.Item, _ table: ReplicaTable) throws -> Bool {
    try meant(by: item, table).contains { meant in
      guard try isGone(meant.place), case .here = try store.moved.whereabouts(meant.place)
      else { return false }
      return try store.pending.all(table: meant.parent.id, key: meant.key)
        .allSatisfy { $0.version.isDeleted }
    }
  }

  /// The maker of a row has given it a fresh key without knowing what this replica had written in
  /// it: that is written there.
  private func takeAlong(
    _ item: MovingRows.Item, _ taken: Dot?, _ next: Key, _ edits: inout Edits,
    _ application: inout Application
  ) throws {
    guard store.viewpoint.isOwn(item.version.edit.origin),
      let table = store.tables.byID[item.table],
      let standing = try store.versions.version(table: item.table, key: next),
      let before = try store.kinship.moving.entry(item)
    else { return }
    if taken != item.version.edit {
      guard let taken, item.version.hasSeen(taken),
        standing.created == standing.edit, !standing.isDeleted
      else { return }
      var content = before
      pointToItself(&content, item.version, table, from: item.key, to: next)
      try renewReferences(&content, item.version, table)
      for (place, value) in (next.values ?? []).enumerated() {
        content.values[place].value = value
      }
      let row = Row(
        table: table, key: next, version: standing, edit: item.version, before: before,
        entry: content, next: next)
      try make(row, &edits, &application)
    }
    try store.conflicts.noteRekeyed(item.version.first, next: next, rows: 0)
  }

  /// A row that refers to itself goes on to do so: one that names no other where it has its own
  /// number.
  func pointToItself(
    _ entry: inout Shelf.Entry, _ version: Version, _ table: ReplicaTable, from key: Key,
    to next: Key
  ) {
    guard let statements = table.statements, let number = next.values?.first else { return }
    for link in parentage.links(of: table.id) where link.parent == table.id {
      guard !version.numbering.parents.contains(where: link.isMeant),
        let place = link.place(in: entry, statements),
        table.key(referredToBy: entry.values[place].value) == key
      else { continue }
      entry.values[place].value = number.asNumber(like: entry.values[place].value)
    }
  }

  /// No fresh key can be found, or what it refers to has not moved: it is one row, written twice.
  private func giveUp(_ item: MovingRows.Item) throws {
    guard let table = store.tables.byID[item.table],
      let standing = try store.versions.version(table: item.table, key: item.key),
      let entry = try store.kinship.moving.entry(item)
    else { return }
    if standing.hash == item.version.hash {
      return try store.moved.noteTwin(item.version, of: standing, table, item.key)
    }
    try logCollision(item.version, entry, table, item.key, under: item.key)
  }

  /// Puts a row into the conflict log that has given way to the one that stands under a key.
  func logCollision(
    _ loser: Version, _ content: Shelf.Entry, _ table: ReplicaTable, _ key: Key,
    under standing: Key
  ) throws {
    try store.conflicts.put(
      table.name, key, at: now.moment, .keyCollision, rule: store.anchor.actingRule(of: table).name,
      loser: ConflictSide(loser, content), winner: store.standingSide(table, standing))
  }
}
