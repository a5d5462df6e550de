import Replication
import SQLite

/// Where rows are that had to leave their numbers, and who refers to them (docs/keys.md).
struct MovedRows {
  let tables: Tables
  let versions: VersionTable
  let kinship: Kinship
  let pending: PendingTable
  let origins: Origins
  let conflicts: ConflictLog
  let parking: Parking

  /// Whether the row is meant that stands under a number, as far as is known; if the one that is
  /// meant has another one now, that is news.
  func isMet(
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
    guard !kinship.former.isEmpty else { return .here }
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
    /// One may yet come to stand; until then another row has its number.
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
        mayCome = mayCome || isTaken
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
    guard !kinship.former.isEmpty else { return }
    // Where nobody ever was the anchor none is certified: long chains need not be walked through.
    if !versions.terms.isEmpty { try turnBack(to: place) }
    guard let entry = row.entry else { return }
    let parentage = try kinship.parentage(tables)
    for meant in parentage.meant(by: version, entry, table, among: tables)
    where try kinship.former.knows(meant.place) { kinship.hear(of: meant.place) }
  }

  /// If the anchor has certified the row under a key that it has left, it has that one again.
  private func turnBack(to place: FormerKeys.Place) throws(SQLiteError) {
    for place in [place] + (try kinship.former.before(place)) where try isFixed(place) {
      let left = try kinship.former.after(place)
      try kinship.former.turnBack(to: place)
      guard let last = left.last else { continue }
      left.forEach(kinship.hear)
      kinship.returns.append((last, place))
    }
  }
}
