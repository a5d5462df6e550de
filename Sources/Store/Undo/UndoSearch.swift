import Replication
import SQLite

/// A row that a member has written since a moment, and what can be done about it.
package struct UndoableRow: Sendable {
  package enum Way: String, Sendable {
    /// What stood before is known.
    case putBack = "put-back"
    /// The member has made the row: nothing stood before.
    case remove
    /// What is known of the row is older than what stood before.
    case older
    case unknown
    /// Others have written it since, and had seen what the member wrote.
    case editedSince = "edited-since"
    /// The row does not stand in its table.
    case parked
    /// It is no row of a table, but a choice for the whole site.
    case setting

    /// Whether it can be undone without a person.
    var isOpen: Bool { self == .putBack || self == .remove }
  }

  package var table: String
  package var key: Key
  package var way: Way
  /// The member's edit, or that of others which rests on it.
  package var stands: ConflictSide?
  package var isNew: Bool
  package var isDeleted: Bool
  package var stamp: Stamp
  /// It is dated before the moment, and came in here after it.
  package var isLate: Bool
  /// What stood before, as far as that is known.
  package var before: ConflictSide?
  /// The version in this file, to see that it still stands.
  package var place: Place

  package struct Place: Sendable {
    package var table: Int64
    package var origin: Int64
    package var seq: Int64
  }

  /// About how many bytes it takes.
  fileprivate var size: Int {
    key.bytes.count + [stands, before].reduce(0) { $0 + ($1?.entry.size ?? 0) }
  }
}

/// What a member has written since a moment.
package struct UndoableRows: Sendable {
  /// How much is told of in one go.
  package struct Bounds: Sendable {
    /// Rows that can be put back. Once they are, the next ones are told of.
    package var rows = 100_000
    /// Rows about which a person decides; more are only counted.
    package var others = 10_000
    /// Of each of the two, in bytes of what stands and what stood.
    package var bytes = 256 << 20

    package init() {}
  }

  package var rows: [UndoableRow] = []
  /// Rows that are only counted: a person decides about them.
  package var untold = 0
  /// Whether there are more.
  package var isCut = false
  /// Whether this node knows what had come in by then; else stamps alone tell.
  package var knowsArrivals = true
}

/// Looks for the rows that a member has written since a moment.
struct UndoSearch {
  private let store: Store
  private let since: Int64
  /// The member's origins, and the last edit of each that is older.
  private let marks: [Origin: UndoBook.Reach]
  private var known: [Place: [Known]] = [:]

  private struct Place: Hashable {
    var table: String
    var key: Key
  }

  /// A state of a row that somebody has kept.
  private struct Known {
    var side: ConflictSide
    var edit: Dot
    /// Whether an edit that is to be undone took its place here.
    var gaveWay: Bool
  }

  init(_ store: Store, of node: Identity, since: Int64) throws(SQLiteError) {
    (self.store, self.since) = (store, since)
    // A life that it has shown to nobody it has signed for, or nothing of it would be here.
    let rows = try store.connection.rows(
      """
      SELECT origin FROM _flotilla_author WHERE node = ?1
      UNION SELECT origin FROM _flotilla_reach WHERE node = ?1
      """, [.string(node.description)])
    var marks: [Origin: UndoBook.Reach] = [:]
    for case let raw? in rows.map(\.[0].integer) {
      let origin = Origin(rawValue: UInt64(bitPattern: raw))
      marks[origin] = try store.undo.reach(origin, at: since)
    }
    self.marks = marks
    try readKnown()
  }

  private var moment: Stamp { Stamp(millisecondsSince1970: since) }

  private func isTheirs(_ edit: Dot?) -> Bool { edit.map { marks[$0.origin] != nil } ?? false }

  /// Whether an edit of the member came in here after what was last written down before the moment;
  /// false if nobody knows.
  private func cameSince(_ edit: Dot) -> Bool {
    guard case .through(let seq, _)? = marks[edit.origin] else { return false }
    return edit.seq > seq
  }

  /// Whether others have written a row since, over an edit of the member that came since; or that
  /// may have, where nobody knows.
  private func restsOn(_ edit: Dot, _ version: Version) -> Bool {
    guard marks[edit.origin] == .unknown else { return cameSince(edit) }
    return !isTheirs(version.edit) && version.stamp >= moment
  }

  /// What is dated between that and the moment has come in time, as far as anybody knows.
  private func isToUndo(_ edit: Dot?, _ stamp: Stamp?) -> Bool {
    guard let edit, let mark = marks[edit.origin] else { return false }
    guard let stamp else { return cameSince(edit) }
    if stamp >= moment { return true }
    guard case .through(_, let noted) = mark else { return false }
    return cameSince(edit) && stamp < Stamp(millisecondsSince1970: noted)
  }

  /// What conflicts tell of rows, and what was kept when others wrote over them.
  private mutating func readKnown() throws(SQLiteError) {
    guard !marks.isEmpty else { return }
    var found: [Place: [Known]] = [:]
    func note(_ side: ConflictSide?, _ table: String, _ key: Key, gaveWay: Bool) {
      guard let side, let edit = side.edit, !isToUndo(edit, side.stamp),
        !gaveWay || !store.tables.isKeyAlone(side, of: table)
      else { return }
      found[Place(table: folded(table), key: key), default: []]
        .append(Known(side: side, edit: edit, gaveWay: gaveWay))
    }
    for conflict in try store.conflicts.list("ORDER BY id", []) {
      let (loser, winner) = (conflict.loser, conflict.winner)
      // What nobody was allowed to write, or could not stand, has never stood.
      let stood = ![Reason.notAllowed, .parked, .keyCollision].map(\.name)
        .contains(conflict.reason)
      if stood {
        note(
          loser, conflict.table, conflict.key, gaveWay: isToUndo(winner?.edit, winner?.stamp))
      }
      note(winner, conflict.table, conflict.key, gaveWay: false)
    }
    try store.undo.forEach { table, key, kept in
      note(kept.side, table, key, gaveWay: isToUndo(kept.by, kept.stamp))
    }
    known = found
  }

  func rows(_ bounds: UndoableRows.Bounds) throws -> UndoableRows {
    var found = UndoableRows()
    var (ways, others) = ((rows: 0, bytes: 0), (rows: 0, bytes: 0))
    guard !marks.isEmpty else { return found }
    found.knowsArrivals = !marks.values.contains(.unknown)
    var place: VersionTable.Place?
    repeat {
      let (items, next) = try store.versions.slice(after: place, limit: 1_000)
      for item in items {
        guard let table = store.tables.byID[item.table] else { continue }
        guard let row = try row(item.version, table, item.key) else { continue }
        let size = row.size
        if row.way.isOpen {
          let isFull = ways.rows == bounds.rows || ways.bytes + size > bounds.bytes
          guard !isFull || ways.rows == 0 else {
            found.isCut = true
            return found
          }
          ways = (ways.rows + 1, ways.bytes + size)
        } else {
          guard others.rows < bounds.others, others.bytes + size <= bounds.bytes else {
            found.untold += 1
            continue
          }
          others = (others.rows + 1, others.bytes + size)
        }
        found.rows.append(row)
      }
      place = next
    } while place != nil
    return found
  }

  private func row(
    _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws -> UndoableRow? {
    let isOwn = isToUndo(version.edit, version.stamp)
    guard isOwn || version.context.dots.contains(where: { restsOn($0, version) })
    else { return nil }
    let isNew = isToUndo(version.created, version.createdAt)
    let (before, isLast) = try before(version, table, key)
    // What it has made and taken away itself is as it was before, unless a row gave way to it.
    if isOwn, isNew, version.isDeleted, version.context.dots.allSatisfy({ isTheirs($0) }),
      before?.isDeleted ?? true
    {
      return nil
    }
    var row = UndoableRow(
      table: table.nameHere, key: key, way: .unknown, stands: nil, isNew: isNew,
      isDeleted: version.isDeleted, stamp: version.stamp, isLate: version.stamp < moment,
      place: UndoableRow.Place(
        table: table.id, origin: store.origins.knownNumber(of: version.dot.origin) ?? 0,
        seq: Int64(version.dot.seq)))
    let content = try store.contents.content(of: version, table, key)
    let stands = ConflictSide(version, content ?? table.keyEntry(key))
    if !isOwn {
      // Somebody has put it back, or taken it out.
      let isUndone = before.map { $0.showsTheSame(as: stands) } ?? (isNew && version.isDeleted)
      if isUndone { return nil }
    }
    row.stands = named(stands, table)
    row.before = before.map { named($0, table) }
    if table.isSettings {
      row.way = .setting
    } else if !isOwn {
      row.way = .editedSince
    } else if try isParked(table, key) || table.statements == nil {
      row.way = .parked
    } else if before != nil {
      row.way = isLast ? .putBack : .older
    } else if isNew, !version.context.dots.contains(where: { !isTheirs($0) }) {
      row.way = .remove
    }
    return row
  }

  /// With the names that the columns have in this file.
  private func named(_ side: ConflictSide, _ table: ReplicaTable) -> ConflictSide {
    var side = side
    side.values = store.tables.namedHere(side.values, in: table.name)
    return side
  }

  /// The newest state that is known and not to be undone, and whether nothing tells of a later one.
  private func before(
    _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> (side: ConflictSide?, isLast: Bool) {
    var all: [Known] = []
    // A row that had to leave its key to this one stands under another one, and is not gone.
    for one in known[Place(table: folded(table.name), key: key)] ?? []
    where try !store.kinship.former.hasLeft(key, of: table.id, one.edit) { all.append(one) }
    func isKnown(_ one: Known) -> Bool { !store.tables.isKeyAlone(one.side, of: table.name) }
    // Of one state that is known twice the one counts that says what it was.
    let newest = all.max {
      ($0.side.stamp ?? .zero, $0.edit.seq, isKnown($0) ? 1 : 0)
        < ($1.side.stamp ?? .zero, $1.edit.seq, isKnown($1) ? 1 : 0)
    }
    guard let newest else { return (nil, false) }
    guard isKnown(newest) else { return (newest.side, false) }
    // What the version descends from, but for the member's own: each must be known, or a later one.
    let isCovered = version.context.dots.allSatisfy { dot in
      isTheirs(dot) || all.contains { $0.edit.origin == dot.origin && $0.edit.seq >= dot.seq }
    }
    let gaveWay = all.contains { $0.edit == newest.edit && $0.gaveWay }
    return (newest.side, isCovered && gaveWay)
  }

  private func isParked(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    try store.shelf.why(table: table.id, key: key)?.isWhole ?? false
  }
}

extension Store {
  /// Keeps a row as it stood, if one may want it back once another version has taken its place.
  func keepReplaced(
    _ left: Leaving, by version: Version, _ table: ReplicaTable, _ key: Key, at now: Instant
  ) throws {
    guard let content = left.content, mayWantBack(left.version, under: version, table)
    else { return }
    try undo.keep(
      ConflictSide(left.version, content), of: table.name, key, by: version, at: now.moment)
  }

  func mayWantBack(_ old: Version, under version: Version, _ table: ReplicaTable) -> Bool {
    undo.wants(old, under: version) && !table.isSettings
  }

  /// Writes down how far each author has come here.
  package func tendUndo(at now: Instant) throws(StoreError) {
    try undo.tend(origins.frontier, at: now)
  }

  /// The rows that a member has written since a moment, in ms since 1970, with what stood before.
  package func undoable(
    of node: Identity, since moment: Int64, _ bounds: UndoableRows.Bounds = UndoableRows.Bounds()
  ) throws(StoreError) -> UndoableRows {
    do {
      return try UndoSearch(self, of: node, since: moment).rows(bounds)
    } catch {
      throw StoreError.wrapping(error)
    }
  }
}
