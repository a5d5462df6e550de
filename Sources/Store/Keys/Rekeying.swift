import Replication
import SQLite

/// Makes rows that lost their key again under fresh ones, in one transaction with all that their
/// author hung under them. It also lets rows follow a row that somebody else has made again.
struct Rekeying {
  /// A row that goes on under another key.
  struct Move {
    var place: FormerKeys.Place
    var next: Key
    /// Whether this replica makes it again, or has done so.
    var isOwn: Bool
    /// Which of the losers it follows from.
    var root: Int?
    /// The same of one that was made again in a transaction before.
    var loser: Dot?
  }

  /// A row that is written again.
  struct Row {
    var table: ReplicaTable
    var key: Key
    var version: Version
    /// The edit that is written into it, if it is another one.
    var edit: Version?
    /// As it was, and as it becomes.
    let before: Shelf.Entry
    var entry: Shelf.Entry
    /// Nil if it stands under its key; else what it was kept as.
    var item: MovingRows.Item?
    /// It waited for the anchor, which has not taken it as it was.
    var waiting: PendingTable.Item?
    /// Nothing stands under its key: it may have it again.
    var isFree = false
    var next: Key
    var roots: Set<Int> = []
    var losers: Set<Dot> = []

    /// Whose references it has.
    var source: Version { edit ?? version }
  }

  struct Name: Hashable {
    var table: Int64
    var key: Key
    var origin: Origin?
  }

  let store: Store
  let parentage: Parentage
  let now: Instant
  var rows: [Name: Row] = [:]
  private(set) var order: [Name] = []
  /// Rows that have a number which another one takes back.
  private(set) var overruled: [Row] = []
  var moves: [FormerKeys.Place: Move] = [:]
  private var queue: [FormerKeys.Place] = []
  /// The rows from which all follows, by their numbers.
  var roots: [Name] = []
  private var keys: FreshKeys
  private let items: [MovingRows.Item]
  /// Of these, what was looked at.
  private(set) var started: Set<Name> = []
  var following: FollowingRows

  init(_ store: Store, _ parentage: Parentage, at now: Instant) throws {
    (self.store, self.parentage, self.now) = (store, parentage, now)
    keys = FreshKeys(store)
    items = try store.kinship.moving.all()
    following = FollowingRows(store, items)
  }

  mutating func run(_ edits: inout Edits) throws {
    let (news, returns) = (store.kinship.news, store.kinship.returns)
    store.kinship.end()
    for (from, to) in returns { try giveBack(from, to) }
    for item in items where !isFull { try startOnce(item) }
    for rest in store.kinship.takeUnfinished() { try heard(rest.place, loser: rest.loser) }
    for place in news { try heard(place) }
    var steps = 0
    while steps < queue.count, !isFull {
      if let move = moves[queue[steps]] { try follow(move) }
      if !isFull { steps += 1 }
    }
    let before = edits.count
    var application = Application()
    let settled = try write(&edits, &application)
    try tell()
    try settle(items.filter { started.contains(name(of: $0)) }, &edits, &application)
    try store.settlement.settle(&application)
    // What nothing has come of would come to nothing again.
    let hasGoneOn = edits.count > before || settled > 0
    if isFull, hasGoneOn { store.kinship.goOn(with: queue[steps...].map(unfinished)) }
  }

  /// As many rows are written in one transaction as are parked in one: a single row may have any
  /// number of them move, and programs wait for the write lock.
  var isFull: Bool { order.count >= store.pace.parkedRows }

  private func unfinished(_ place: FormerKeys.Place) -> Kinship.Unfinished {
    let move = moves[place]
    let root = move?.root.flatMap { rows[roots[$0]]?.version.first }
    return Kinship.Unfinished(place: place, loser: move?.loser ?? root)
  }

  func name(of item: MovingRows.Item) -> Name {
    Name(table: item.table, key: item.key, origin: item.version.dot.origin)
  }

  mutating func startOnce(_ item: MovingRows.Item) throws {
    if started.insert(name(of: item)).inserted { try start(item) }
  }

  private mutating func heard(_ place: FormerKeys.Place, loser: Dot? = nil) throws {
    guard moves[place] == nil else { return }
    let stands = try self.stands(place)
    // Where nobody ever was the anchor no row goes back: long chains need not be walked through.
    if stands, store.versions.terms.isEmpty { return }
    let next: FormerKeys.Place?
    switch try store.moved.whereabouts(place) {
    case .here: return
    case .moving: next = try store.kinship.former.after(place).last
    case .moved(let found):
      if try stands && !store.moved.isFixed(found) { return }
      next = found
    }
    guard let next, try !isGone(next) else { return }
    add(
      Move(
        place: place, next: moves[next]?.next ?? next.key,
        isOwn: store.viewpoint.isOwn(next.created.origin), root: nil, loser: loser))
  }

  /// Whether a row still stands where it is said to have left. Unless the anchor says so, nothing
  /// follows it before another one has its place: then it is heard of again.
  private func stands(_ place: FormerKeys.Place) throws -> Bool {
    guard let standing = try store.versions.version(table: place.table, key: place.key),
      !standing.isDeleted
    else { return false }
    return standing.created == place.created
  }

  /// Whether a row was deleted where it went, or the anchor has not taken it: nothing follows it.
  func isGone(_ place: FormerKeys.Place) throws -> Bool {
    try store.versions.version(table: place.table, key: place.key)?.isDeleted == true
  }

  mutating func add(_ move: Move) {
    moves[move.place] = move
    queue.append(move.place)
  }

  /// A row of a number of its own that another one has got as well: it takes a fresh one.
  ///
  /// One that has moved as often as it can tell takes its number back instead. Whoever dates rows
  /// back could drive it from number to number, for ever.
  private mutating func start(_ item: MovingRows.Item) throws {
    guard let table = store.tables.byID[item.table], store.mayWrite(table) else { return }
    guard parentage.numbered.contains(item.table) else { return try startAgain(item, table) }
    let from = FormerKeys.Place(
      table: item.table, key: item.key, created: item.version.created)
    if case .moved(let place) = try store.moved.whereabouts(from) {
      // It was made again already, or the anchor has certified it before it was.
      guard try store.moved.isFixed(place), store.viewpoint.isOwn(item.version.created.origin)
      else {
        return
      }
      guard let entry = try store.kinship.moving.entry(item) else { return }
      try store.conflicts.noteReturned(table.name, from: from.key)
      giveBack(
        Row(
          table: table, key: item.key, version: item.version, before: entry, entry: entry,
          item: item, next: place.key), name(of: item))
      return add(Move(place: from, next: place.key, isOwn: true, root: nil))
    }
    // It has moved already, and leaves the key where it went: it is made again from there.
    if try store.kinship.former.entry(from)?.next != nil { return }
    // What this file had forgotten of it is yet to come.
    if item.version.created.origin != store.own, !store.kinship.isComplete, try store.isUnsure() {
      return
    }
    guard let standing = try store.versions.version(table: item.table, key: item.key),
      isForMe(item.version, under: standing), standing.hash != item.version.hash,
      // The row stands, and what waits is an edit of it that the anchor has not taken.
      standing.isDeleted || standing.created != item.version.created
    else { return }
    // The anchor has not taken it for the sake of what it refers to: it follows that.
    if standing.isDeleted, store.office.isHeld {
      let meant = try meant(by: item, table)
      guard try meant.allSatisfy(isInPlace) else {
        for row in meant { try heard(row.place) }
        return
      }
    }
    guard item.version.numbering.former.count < Numbering.mostFormer else {
      return try takeBack(item, table, from: standing)
    }
    try renumber(item, table, root: roots.count)
  }

  /// A row is made again under the number that it has lost, after the one that stands there: that
  /// one is deleted, and in the conflict log.
  private mutating func takeBack(
    _ item: MovingRows.Item, _ table: ReplicaTable, from standing: Version
  ) throws {
    // Of two that left the same number the second has its turn when it has heard of the first.
    guard !overruled.contains(where: { $0.table.id == table.id && $0.key == item.key }) else {
      return
    }
    if !standing.isDeleted {
      guard !standing.hasFixedNumber,
        let content = try store.contents.content(of: standing, table, item.key)
      else { return }
      overruled.append(
        Row(
          table: table, key: item.key, version: standing, before: content, entry: content,
          next: item.key))
    }
    try putAgain(item, table)
  }

  /// A row whose key holds the number of another one has it again once that is free: what was under
  /// it has gone with a row that had the same number. Any other that the anchor has not taken comes
  /// back if all to which it refers gets its number after all.
  private mutating func startAgain(_ item: MovingRows.Item, _ table: ReplicaTable) throws {
    guard let standing = try store.versions.version(table: table.id, key: item.key),
      standing.isDeleted, !standing.hasSeen(item.version.created),
      isForMe(item.version, under: standing)
    else { return }
    if parentage.derived.contains(table.id) {
      guard try isInPlace(item.version, table, under: item.key) else { return }
    } else {
      let meant = try meant(by: item, table)
      guard try !meant.isEmpty && meant.allSatisfy(isInPlace) else { return }
    }
    try putAgain(item, table)
  }

  private mutating func putAgain(_ item: MovingRows.Item, _ table: ReplicaTable) throws {
    guard let entry = try store.kinship.moving.entry(item) else { return }
    put(
      Row(
        table: table, key: item.key, version: item.version, before: entry, entry: entry,
        item: item, isFree: true, next: item.key), name(of: item))
  }

  /// The rows that one means which has lost its key.
  func meant(by item: MovingRows.Item, _ table: ReplicaTable) throws -> [Parentage.Meant] {
    guard let entry = try store.kinship.moving.entry(item) else { return [] }
    return parentage.meant(by: item.version, entry, table, among: store.tables)
  }

  private func isInPlace(_ meant: Parentage.Meant) throws -> Bool {
    let standing = try store.versions.version(table: meant.parent.id, key: meant.key)
    guard let standing, !standing.isDeleted else { return false }
    return meant.row.isMet(by: standing, under: meant.key)
  }

  /// Whether the rows whose numbers a key holds are those that a version means.
  func isInPlace(_ version: Version, _ table: ReplicaTable, under key: Key) throws -> Bool {
    let values = key.values ?? []
    let all = parentage.meant(by: version, of: table.id, among: store.tables) { _, link in
      link.isOfKey && link.column < values.count ? values[link.column] : nil
    }
    return try all.allSatisfy(isInPlace)
  }

  /// The anchor has certified a row under a key that it had left: it goes back, with what was
  /// written in it since.
  private mutating func giveBack(_ from: FormerKeys.Place, _ to: FormerKeys.Place) throws {
    guard let table = store.tables.byID[to.table], store.mayWrite(table),
      store.viewpoint.isOwn(from.created.origin), moves[from] == nil
    else { return }
    try store.conflicts.noteReturned(table.name, from: from.key)
    let standing = try store.versions.version(table: table.id, key: from.key)
    let waiting = try store.pending.all(table: table.id, key: from.key)
      .first { $0.version.created == from.created && !$0.version.isDeleted }
    if let standing, standing.created == from.created, !standing.isDeleted {
      guard let entry = try store.contents.content(of: standing, table, from.key) else { return }
      giveBack(
        Row(
          table: table, key: from.key, version: standing, before: entry, entry: entry,
          next: to.key),
        Name(table: table.id, key: from.key, origin: nil))
    } else if let waiting, let entry = try store.pending.entry(waiting) {
      giveBack(
        Row(
          table: table, key: from.key, version: waiting.version, before: entry, entry: entry,
          waiting: waiting, next: to.key),
        Name(table: table.id, key: from.key, origin: waiting.version.dot.origin))
    }
    add(Move(place: from, next: to.key, isOwn: true, root: nil))
  }

  private mutating func giveBack(_ row: Row, _ name: Name) {
    var row = row
    pointToItself(&row.entry, row.version, row.table, from: row.key, to: row.next)
    for (place, value) in (row.next.values ?? []).enumerated() {
      row.entry.values[place].value = value
    }
    put(row, name)
  }

  /// Who made a row makes it again; if that one has left for good, who made the one that stands.
  func isForMe(_ version: Version, under standing: Version) -> Bool {
    if store.viewpoint.isOwn(version.created.origin) { return true }
    return store.kinship.gone.contains(version.created.origin)
      && !store.kinship.revoked.contains(version.created.origin)
      && store.viewpoint.isOwn(standing.created.origin)
  }

  mutating func renumber(
    _ item: MovingRows.Item, _ table: ReplicaTable, root: Int
  ) throws {
    let name = name(of: item)
    let moves = item.version.numbering.former.count
    guard let entry = try store.kinship.moving.entry(item),
      let next = try keys.next(of: table, for: item.version.created, moves: moves)
    else { return }
    var row = Row(
      table: table, key: item.key, version: item.version, before: entry, entry: entry, item: item,
      next: next)
    row.entry.values[0].value = next.values?.first ?? .null
    roots.append(name)
    put(row, name)
    add(Move(place: place(of: row), next: next, isOwn: true, root: root))
  }

  func place(of row: Row) -> FormerKeys.Place {
    FormerKeys.Place(table: row.table.id, key: row.key, created: row.version.created)
  }

  mutating func put(_ row: Row, _ name: Name) {
    if rows[name] == nil { order.append(name) }
    rows[name] = row
  }
}
