import Replication
import SQLite

/// Decides which rows may stand by what they refer to, after some have changed.
///
/// Which rows stand follows from the versions alone, in three steps. First the greatest set of
/// rows that refer to rows of the set; so rows that refer to each other stand together, and what is
/// outside waits (`Why.reference`). Of those that claim one unique value one is chosen
/// (`Settlement.unpark`). Then of what is left once more the greatest such set: what falls now
/// (`Why.parent`) still claims its values, else a child could turn out its own parent.
///
/// It is kept incrementally. Each row that waits has a watch on one thing that it lacks; that was
/// missing before the row was put to wait, so chains of watches never close, and a change finds by
/// them all that it may bring back.
final class ReferenceSettlement {
  let settlement: Settlement
  let references: References
  private let strays: StrayRows
  /// Tables in which rows came or went, so that their parked rows are to be tried.
  private(set) var changed: Set<Int64> = []
  /// Rows in their tables whose parents may be parked.
  private var suspects: Set<Export.RowID> = []
  /// Rows that waited for parked parents, and are in their tables because of what they claim.
  var restored: Set<Export.RowID> = []
  /// Tables of which all of these are.
  var restoredTables: Set<Int64> = []
  /// Those of them that lack their parents still.
  private var hanging: Set<Export.RowID> = []
  /// What the indexes of tables make of rows, once it was asked.
  var claimsByTable: [Int64: Claims] = [:]
  /// Rows that a constraint may keep out now.
  private var unplaced: Set<Export.RowID> = []
  /// Rows that are there, for which others may wait.
  private var queue: [Export.RowID] = []
  /// By the number of a reference to other columns than a key: the rows that wait, by what others
  /// watch in them.
  var providers: [Int: [Int64: Export.RowID]] = [:]
  /// So many rows that have not changed themselves may be put to wait; beyond it what refers to
  /// them is to be parked before.
  private var limit: Int

  init(_ settlement: Settlement, _ references: References) throws(SQLiteError) {
    (self.settlement, self.references) = (settlement, references)
    strays = try settlement.strays
    limit = settlement.parking.crowd.limit ?? .max
  }

  var shelf: Shelf { settlement.shelf }
  var connection: Connection { settlement.connection }
  var parking: Parking { settlement.parking }

  /// The first step, for rows that have changed. `isAnew`: by other foreign keys than before.
  func begin(_ parking: Parking, isAnew: Bool = false) throws {
    var wave: Set<Export.RowID> = []
    var gone: [Gone] = []
    for (row, isGone) in parking.touched where references.concern(row.table) {
      if !references.of(row.table).isEmpty { wave.insert(row) }
      guard !references.to(row.table).isEmpty else { continue }
      let isAway = try isGone ?? !isHere(row)
      if !isAway { queue.append(row) }
      if isAway || parking.before[row] != nil {
        gone.append(Gone(row: row, before: parking.before[row], isHere: !isAway))
      }
      unplaced.insert(row)
    }
    if try shelf.hasWaiting {
      let isChanged = parking.touched.contains { references.concern($0.key.table) }
      if isAnew { try recallAll() } else { try recallSlice(isChanged: isChanged) }
      try admit([.reference, .parent])
    } else {
      parking.goOn(nil)
    }
    queue = []
    if isAnew || parking.isUnsure {
      for table in Set(references.all.map(\.child.id)) { wave.formUnion(try parked(table)) }
    }
    if isAnew {
      for reference in references.all {
        let found = try connection.rows(reference.dangling)
        wave.formUnion(rows(found, of: reference.child))
      }
    }
    wave.formUnion(suspects)
    wave.formUnion(try children(of: gone, isLimited: true))
    for row in parking.replaced {
      let found = try strays.referring(to: row)
      wave.formUnion(found.rows)
      for child in found.tables { wave.formUnion(try parked(child)) }
    }
    try expel(wave)
  }

  // MARK: Who comes back

  /// Puts rows into their tables that wait for these, and those that wait for them in turn.
  private func admit(_ reasons: Set<Shelf.Why>) throws {
    while let row = queue.popLast() {
      for reference in references.to(row.table) {
        guard let values = try targetValues(reference, row), !values.contains(.null),
          let watch = try reference.watch(values, on: connection)
        else { continue }
        let room = parking.room
        let all = try shelf.waiting(for: watch, limit: room + 1)
        if all.count > room { parking.recallAgain() }
        for waiting in all.prefix(room) {
          parking.room -= 1
          guard let entry = try shelf.entry(table: waiting.table, key: waiting.key),
            reasons.contains(entry.why)
          else { continue }
          try lift(waiting, entry)
        }
      }
    }
  }

  /// Takes a row off the shelf that waits for another one, if its table is here.
  /// `isForClaims`: that one is not there.
  func lift(_ row: Export.RowID, _ entry: Shelf.Entry, isForClaims: Bool = false) throws {
    guard [.reference, .parent].contains(entry.why), let table = settlement.tables.byID[row.table],
      let statements = table.statements, table.isTracked,
      let version = try settlement.versions.version(table: row.table, key: row.key),
      try version.isDangling || strays.link(of: version, table, row.key) == nil
    else { return }
    try shelf.remove(table: row.table, key: row.key)
    let placement = Placement(entry, version, table, row.key)
    let fits = try settlement.contents.place(placement, statements, table, row.key)
    if !fits {
      var entry = entry
      entry.why = .constraint
      try shelf.put(entry, table: row.table, key: row.key)
      unplaced.insert(row)
    }
    // What waits for a parked parent has claimed its values all the time.
    if !fits || entry.why == .reference { note(row) }
    suspects.insert(row)
    if isForClaims { hanging.insert(row) } else { queue.append(row) }
  }

  private func note(_ row: Export.RowID) {
    changed.insert(row.table)
    parking.obstacles[row.table]?.changed(row.key)
  }

  /// What has come to stand by its unique values brings back what waits for it; gives the tables
  /// in which that has changed something.
  func follow(_ moved: Set<Export.RowID>) throws -> Set<Int64> {
    guard !moved.isEmpty || !queue.isEmpty || !hanging.isEmpty else { return [] }
    changed = []
    unplaced.formUnion(moved)
    suspects.formUnion(moved)
    for row in moved where try shelf.why(table: row.table, key: row.key)?.isWhole != true {
      queue.append(row)
    }
    repeat {
      // What waits for something that nobody has was looked at in the first step.
      try admit([.parent])
      for row in hanging {
        let key = (row.key.values ?? []).map(\.sqlite)
        guard try references.isDangling(row.table, key, on: connection) == false else { continue }
        hanging.remove(row)
        queue.append(row)
      }
    } while !queue.isEmpty
    return changed
  }

  // MARK: Who waits

  /// So many times what refers to what has gone is looked for by itself. Then the chain is long.
  private static let shortChain = 3

  /// Puts rows to wait that refer to nothing, and what refers to them.
  private func expel(_ rows: Set<Export.RowID>) throws {
    var (wave, length) = (Array(rows), 0)
    while !wave.isEmpty {
      var out: [Gone] = []
      for row in wave {
        if let gone = try expel(row) { out.append(gone) }
      }
      length += 1
      wave = try children(of: out, isLimited: true, isLong: length > Self.shortChain)
    }
  }

  private func expel(_ row: Export.RowID) throws -> Gone? {
    let key = (row.key.values ?? []).map(\.sqlite)
    let isDangling = try references.isDangling(row.table, key, on: connection)
    guard isDangling != false || strays.concern(row.table),
      let (table, version) = try standing(row)
    else { return nil }
    let stray = try strays.link(
      of: version, table, row.key, isPlaced: isDangling != nil)
    if let stray, isDangling != nil {
      // Another row has the number now; the one that is meant comes back with a number of its own.
      for reference in references.of(row.table) where reference.holds(stray) {
        guard let values = try connection.row(reference.selectValues, key), !values.contains(.null)
        else { continue }
        return try expel(row, table, version, behind: reference, values)
      }
    }
    if isDangling == false { return nil }
    if isDangling == true {
      for reference in references.of(row.table) {
        guard let values = try connection.row(reference.selectValues, key),
          !values.contains(.null), try !leads(reference, values)
        else { continue }
        return try expel(row, table, version, behind: reference, values)
      }
      // All that it refers to is there, but not all in its table.
      suspects.insert(row)
      return nil
    }
    guard var entry = try shelf.entry(table: row.table, key: row.key),
      [.constraint, .parent].contains(entry.why)
    else { return nil }
    for reference in references.of(row.table) {
      guard let values = reference.values(of: entry),
        try stray.map(reference.holds) ?? false || !leads(reference, values)
      else { continue }
      entry.why = .reference
      try shelf.put(
        entry, table: row.table, key: row.key, watch: try reference.watch(values, on: connection))
      note(row)
      return Gone(row: row, entry: entry)
    }
    return nil
  }

  private func expel(
    _ row: Export.RowID, _ table: ReplicaTable, _ version: Version, behind reference: Reference,
    _ values: [SQLite.Value]
  ) throws -> Gone? {
    try count(row, behind: reference, values)
    return try park(row, table, version, .reference, behind: reference, values)
  }

  /// A row is put to wait; throws if it has not changed itself, and is one too many.
  private func count(
    _ row: Export.RowID, behind reference: Reference, _ values: [SQLite.Value]
  ) throws {
    guard parking.touched[row] == nil else { return }
    guard limit > 0 else { throw settlement.crowded([Crowd.Target(reference, values)]) }
    limit -= 1
  }

  /// Puts a row to wait for what it refers to by one reference, which is about to go; false if that
  /// is not for this node to do.
  func park(_ row: Export.RowID, ahead reference: Reference) throws -> Bool {
    let key = (row.key.values ?? []).map(\.sqlite)
    guard let (table, version) = try standing(row),
      let values = try connection.row(reference.selectValues, key), !values.contains(.null)
    else { return false }
    return try park(row, table, version, .reference, behind: reference, values) != nil
  }

  /// The last step: what refers to rows that are parked is parked with them.
  func end() throws {
    var out: [Gone] = []
    for row in try shelf.isEmpty ? [] : unplaced {
      guard let entry = try shelf.entry(table: row.table, key: row.key), entry.why == .constraint
      else { continue }
      out.append(Gone(row: row, entry: entry))
    }
    var (wave, length) = (Array(suspects.union(try children(of: out, isLimited: true))), 0)
    while !wave.isEmpty {
      var fallen: [Gone] = []
      for row in wave {
        let key = (row.key.values ?? []).map(\.sqlite)
        guard try references.isDangling(row.table, key, on: connection) == true,
          let (table, version) = try standing(row)
        else { continue }
        for reference in references.of(row.table) {
          guard let values = try connection.row(reference.selectValues, key),
            !values.contains(.null), try connection.row(reference.exists, values) == nil
          else { continue }
          // It waits on as before.
          if !restored.contains(row) { try count(row, behind: reference, values) }
          if let gone = try park(row, table, version, .parent, behind: reference, values) {
            try gone.entry.map { try noteClaims(of: row, $0, version) }
            fallen.append(gone)
          }
          break
        }
      }
      length += 1
      wave = try children(of: fallen, isLimited: true, isLong: length > Self.shortChain)
    }
  }

  /// Takes a row out of its table.
  private func park(
    _ row: Export.RowID, _ table: ReplicaTable, _ version: Version, _ why: Shelf.Why,
    behind reference: Reference, _ values: [SQLite.Value]
  ) throws -> Gone? {
    guard var entry = try settlement.contents.content(of: version, table, row.key),
      let sql = table.statements
    else { return nil }
    entry.why = why
    _ = try settlement.contents.writing(table, row.key) { () throws(SQLiteError) in
      try connection.run(sql.deleteByKey, (row.key.values ?? []).map(\.sqlite))
    }
    try shelf.put(
      entry, table: row.table, key: row.key, watch: try reference.watch(values, on: connection))
    if why == .reference { note(row) }
    return Gone(row: row, entry: entry)
  }

  /// A row that must refer to something: the version that stands, unless its author has broken its
  /// references.
  private func standing(
    _ row: Export.RowID
  ) throws -> (table: ReplicaTable, version: Version)? {
    guard let table = settlement.tables.byID[row.table], table.isTracked,
      let version = try settlement.versions.version(table: row.table, key: row.key),
      !version.isDeleted, !version.isDangling
    else { return nil }
    return (table, version)
  }

  // MARK: Parents and children

  /// A row that is in its table no more, and what others may have referred to in it.
  private struct Gone {
    var row: Export.RowID
    var entry: Shelf.Entry?
    /// What it had before it changed, by the number of the reference.
    var before: [Int: [SQLite.Value]]?
    /// Whether it is there with other values: then only its old ones are of interest.
    var isHere = false
  }

  /// The rows that may have referred to what is gone: in their tables, or parked. `isLong`: with
  /// what refers to these.
  private func children(
    of gone: [Gone], isLimited: Bool = false, isLong: Bool = false
  ) throws -> [Export.RowID] {
    guard !gone.isEmpty else { return [] }
    var found: [Export.RowID] = []
    var children: Set<Int64> = []
    for reference in references.all {
      var values: [[SQLite.Value]?] = []
      for item in gone where item.row.table == reference.parent.id {
        if item.isHere {
          item.before?[reference.number].map { values.append($0) }
        } else {
          values.append(
            reference.values(ofKey: item.row.key) ?? item.before?[reference.number]
              ?? item.entry.flatMap { reference.targetValues(of: $0) })
        }
      }
      guard !values.isEmpty else { continue }
      children.insert(reference.child.id)
      let most = isLimited ? limit : .max
      let keys = try references.children(
        of: reference, values, most: most, isLong: isLong, on: connection)
      guard keys.count <= most else {
        let known = values.compactMap(\.self).filter { !$0.contains(.null) }
        throw settlement.crowded(known.map { Crowd.Target(reference, $0) })
      }
      found += rows(keys, of: reference.child)
    }
    for child in children { found += try parked(child) }
    var known: Set<Export.RowID> = []
    return found.filter { known.insert($0).inserted }
  }

  private func rows(_ keys: [[SQLite.Value]], of table: ReplicaTable) -> [Export.RowID] {
    keys.compactMap { values in
      table.key(values.map(Replication.Value.init)).map { Export.RowID(table: table.id, key: $0) }
    }
  }
}
