import Replication
import SQLite

/// What refers to a row that moves, and follows it.
extension Rekeying {
  mutating func follow(_ move: Move) throws {
    for link in parentage.links(to: move.place.table) {
      guard let table = store.tables.byID[link.child], store.mayWrite(table) else { continue }
      let meant = move.place.created
      for key in try children(of: move.place.key, by: link, meant, table) {
        if isFull { return }
        guard let version = try store.versions.version(table: table.id, key: key),
          isMine(version, move, link),
          let entry = try store.contents.content(of: version, table, key)
        else { continue }
        try repoint(
          Row(
            table: table, key: key, version: version, before: entry, entry: entry, next: key),
          Name(table: table.id, key: key, origin: nil), move, link)
      }
      let place = move.isOwn ? move.place : nil
      for (item, isItself) in following.moving(in: table.id, meant, at: place) {
        guard isItself || isMine(item.version, move, link) else { continue }
        if isFull { return }
        try startOnce(item)
        guard let entry = try store.kinship.moving.entry(item) else { continue }
        let standing = try store.versions.version(table: item.table, key: item.key)
        try repoint(
          Row(
            table: table, key: item.key, version: item.version, before: entry, entry: entry,
            item: item, isFree: standing?.isDeleted ?? true, next: item.key),
          name(of: item), move, link)
      }
      for waiting in try following.pending(in: table.id, meant)
      where isMine(waiting.version, move, link) {
        if isFull { return }
        let standing = try store.versions.version(table: table.id, key: waiting.key)
        guard standing?.isDeleted ?? true, let entry = try store.pending.entry(waiting)
        else { continue }
        try repoint(
          Row(
            table: table, key: waiting.key, version: waiting.version, before: entry,
            entry: entry, item: nil, waiting: waiting, isFree: true, next: waiting.key),
          Name(table: table.id, key: waiting.key, origin: waiting.version.dot.origin), move, link)
      }
    }
  }

  /// Rows in the table that refer to a key, and those that wait.
  private mutating func children(
    of key: Key, by link: Parentage.Link, _ meant: Dot, _ table: ReplicaTable
  ) throws -> [Key] {
    let values = (key.values ?? []).map(\.sqlite)
    let standing = try store.connection.rows(link.select, values)
      .compactMap { table.key($0.map(Replication.Value.init)) }
    let known = Set(standing)
    return standing + (try following.parked(in: table.id, meant)).filter { !known.contains($0) }
  }

  /// Whether a row means the one that moves, and is for this replica to write.
  private func isMine(_ version: Version, _ move: Move, _ link: Parentage.Link) -> Bool {
    let isMeant = version.numbering.parents.contains {
      link.isMeant(by: $0) && $0.row == move.place.created
    }
    guard !version.isDeleted, isMeant else { return false }
    let author = version.edit.origin
    return store.viewpoint.isOwn(author)
      || move.isOwn && store.kinship.gone.contains(author)
  }

  private mutating func repoint(
    _ found: Row, _ name: Name, _ move: Move, _ link: Parentage.Link
  ) throws {
    var row = rows[name] ?? found
    // The row that is meant is another one of equal content, under the same number.
    if move.next == move.place.key, row.item != nil, !row.isFree { return }
    guard let statements = row.table.statements, let number = move.next.values?.first,
      let place = link.place(in: row.before, statements),
      let parent = store.tables.byID[link.parent],
      parent.key(referredToBy: row.before.values[place].value) == move.place.key
    else { return }
    row.entry.values[place].value = number.asNumber(like: row.before.values[place].value)
    if let root = move.root { row.roots.insert(root) }
    if let loser = move.loser { row.losers.insert(loser) }
    let isNumbered = parentage.numbered.contains(row.table.id)
    if isNumbered, row.item != nil, !row.isFree, row.next == row.key {
      // Equal content under another parent: it is another row after all.
      guard let item = row.item,
        let standing = try store.versions.version(table: item.table, key: item.key),
        isForMe(item.version, under: standing)
      else { return }
      let kept = row.entry
      let number = move.root ?? roots.count
      try renumber(item, row.table, root: number)
      guard var made = rows[name] else { return }
      if move.root != nil { roots.removeLast() }
      made.entry.values.replaceSubrange(1..., with: kept.values.dropFirst())
      (made.roots, made.losers) = (row.roots, row.losers)
      return put(made, name)
    }
    let keyValues = Array(row.entry.values.prefix(row.entry.keyCount).map(\.value))
    let next = isNumbered ? row.next : row.table.key(keyValues) ?? row.next
    // A row that is made again under the key that it had is another one to those that refer to it.
    let isNew = rows[name] == nil && row.isFree
    let hasMoved = next != row.next
    // One that has the same number now, as another row, is named by its new name all the same.
    let isSame = Shelf.encode(row.entry) == Shelf.encode(row.before)
    if !row.isFree, !hasMoved, isSame, move.next != move.place.key { return }
    row.next = next
    put(row, name)
    if isNumbered, hasMoved || isNew {
      add(
        Move(
          place: self.place(of: row), next: next, isOwn: true, root: move.root, loser: move.loser))
    }
  }
}
