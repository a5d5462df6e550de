import Replication
import SQLite

/// What a settlement asks of tables and shelf, and who comes back.
extension ReferenceSettlement {
  /// All rows that wait, by other foreign keys than before.
  func recallAll() throws {
    for item in try shelf.waiting() {
      guard let entry = try shelf.entry(table: item.row.table, key: item.row.key)
      else { continue }
      try lift(item.row, entry)
    }
  }

  /// So many bytes of rows that wait are read in a commit, and one row more.
  private static let mostRead = 4 << 20

  /// Looks at a slice of the rows that wait: what they watch may be there. `isChanged`: other rows
  /// have changed since the last slice, and may have closed a ring.
  func recallSlice(isChanged: Bool) throws {
    let crowd = parking.crowd
    guard var recall = parking.recall, !crowd.isUnderWay, !crowd.isResting
    else { return }
    let limit = 4 * parking.limit
    let slice = try shelf.waiting(after: recall.last, limit: limit)
    var isAll = slice.count < limit
    if isChanged, recall.rings != nil { recall.rings = RingSearch() }
    recall.rings?.room = parking.limit
    // Thousands may wait for the same.
    var before: (item: Shelf.Waiting, isMet: Bool)?
    var read = 0
    for item in slice {
      guard parking.room > 0, read < Self.mostRead else {
        isAll = false
        break
      }
      if let before, !before.isMet, before.item.isForTheSame(as: item) {
        recall.last = item
        continue
      }
      guard let entry = try shelf.entry(table: item.row.table, key: item.row.key) else {
        recall.last = item
        continue
      }
      read += entry.size
      let isMet = try isMet(item.watch, entry, item.row)
      guard let lifted = try isMet ? [(item.row, entry)] : ring(behind: item, &recall.rings) else {
        isAll = false
        break
      }
      before = (item, isMet)
      recall.last = item
      for (row, entry) in lifted {
        parking.room = max(0, parking.room - 1)
        try lift(row, entry)
      }
    }
    if isAll { parking.endWalk() } else { parking.goOn(recall) }
  }

  /// Whether what a row watches is there: in its table, if the row claims its values meanwhile.
  func isMet(
    _ watch: Int64, _ entry: Shelf.Entry, _ row: Export.RowID
  ) throws -> Bool {
    let own = references.of(row.table)
    for reference in own {
      guard let values = reference.values(of: entry),
        try reference.watch(values, on: connection) == watch
      else { continue }
      guard entry.why != .parent else {
        return try connection.row(reference.exists, values) != nil
      }
      return try leads(reference, values)
    }
    // It waits for something that the table does not refer to any more, or cannot be told here.
    return true
  }

  /// The rows that wait for each other in a ring, and for nothing else, if a row waits for one of
  /// them; nil if the way there is so long that the next slice goes on with it.
  ///
  /// An invoice is left waiting though its customer is there, for not all come back at once. Then a
  /// new content of the customer comes, which refers to that invoice, and waits for it.
  private func ring(
    behind item: Shelf.Waiting, _ search: inout RingSearch?
  ) throws -> [(row: Export.RowID, entry: Shelf.Entry)]? {
    guard search != nil else { return [] }
    var place: RingSearch.Place? = search?.takePlace(behind: item)
    while let (row, watch) = place, search?.isKnown(row) == false,
      let entry = try shelf.entry(table: row.table, key: row.key), entry.why == .reference
    {
      guard search?.pass(row) == true else {
        search?.endWay()
        return try ring(of: row, watch)
      }
      guard let watch, let next = try waiting(for: watch, entry, of: row) else { break }
      place = (next, try shelf.watch(of: next))
      guard search?.hasRoom == true else {
        search?.place = place
        return nil
      }
    }
    search?.endWay()
    return []
  }

  /// All rows of the ring in which a row is.
  private func ring(
    of start: Export.RowID, _ watch: Int64?
  ) throws -> [(row: Export.RowID, entry: Shelf.Entry)] {
    var (row, watch, ring) = (start, watch, [(row: Export.RowID, entry: Shelf.Entry)]())
    while let seen = watch, let entry = try shelf.entry(table: row.table, key: row.key),
      entry.why == .reference
    {
      ring.append((row, entry))
      guard let next = try waiting(for: seen, entry, of: row) else { break }
      if next == start { return ring }
      (row, watch) = (next, try shelf.watch(of: next))
    }
    return []
  }

  /// The waiting row for which a row waits.
  private func waiting(
    for watch: Int64, _ entry: Shelf.Entry, of row: Export.RowID
  ) throws -> Export.RowID? {
    for own in references.of(row.table) {
      guard let values = own.values(of: entry),
        try own.watch(values, on: connection) == watch
      else { continue }
      return try waiting(with: values, own)
    }
    return nil
  }

  /// The row with these values that waits for another one.
  private func waiting(
    with values: [SQLite.Value], _ reference: Reference
  ) throws -> Export.RowID? {
    let parent = reference.parent.id
    if reference.isToKey {
      return try key(of: reference, values).map { Export.RowID(table: parent, key: $0) }
    }
    if providers[reference.number] == nil {
      var rows: [Int64: Export.RowID] = [:]
      for key in try shelf.keys(of: parent, why: .reference) {
        guard let entry = try shelf.entry(table: parent, key: key),
          let own = reference.targetValues(of: entry), !own.contains(.null),
          let watch = try reference.watch(own, on: connection)
        else { continue }
        rows[watch] = Export.RowID(table: parent, key: key)
      }
      providers[reference.number] = rows
    }
    return try reference.watch(values, on: connection).flatMap {
      providers[reference.number]?[$0]
    }
  }

  /// The key of the row that a reference to a key leads to.
  private func key(of reference: Reference, _ values: [SQLite.Value]) throws -> Key? {
    var key = [Replication.Value](repeating: .null, count: values.count)
    for (target, value) in zip(reference.targets, values) {
      guard let place = target.keyPlace else { return nil }
      key[place] = Replication.Value(try target.stored(value, on: connection))
    }
    return reference.parent.key(key)
  }

  /// Whether the row is in its table, or would be but for other rows.
  func isHere(_ row: Export.RowID) throws -> Bool {
    guard let statements = settlement.tables.byID[row.table]?.statements else { return false }
    let key = (row.key.values ?? []).map(\.sqlite)
    if try connection.row(statements.existsByKey, key) != nil { return true }
    return try shelf.why(table: row.table, key: row.key)?.hasParents == true
  }

  /// Whether a row with these values is in its table, or would be but for other rows.
  func leads(_ reference: Reference, _ values: [SQLite.Value]) throws -> Bool {
    if try connection.row(reference.exists, values) != nil { return true }
    let parent = reference.parent.id
    if reference.isToKey {
      guard let key = try key(of: reference, values) else { return false }
      return try shelf.why(table: parent, key: key)?.hasParents == true
    }
    guard let watch = try reference.watch(values, on: connection) else { return false }
    for row in try parked(parent) {
      guard let entry = try shelf.entry(table: parent, key: row.key),
        let own = reference.targetValues(of: entry), !own.contains(.null)
      else { continue }
      if try reference.watch(own, on: connection) == watch { return true }
    }
    return false
  }

  /// What children refer to in a row: of its table, or of the shelf.
  func targetValues(
    _ reference: Reference, _ row: Export.RowID
  ) throws -> [SQLite.Value]? {
    if let values = reference.values(ofKey: row.key) { return values }
    let key = (row.key.values ?? []).map(\.sqlite)
    if let values = try connection.row(reference.selectTargets, key) { return values }
    return try shelf.entry(table: row.table, key: row.key)
      .flatMap { reference.targetValues(of: $0) }
  }

  /// The rows of a table that a constraint keeps out, or a parent.
  func parked(_ table: Int64) throws -> [Export.RowID] {
    try [Shelf.Why.constraint, .parent].flatMap { why in
      try shelf.keys(of: table, why: why).map { Export.RowID(table: table, key: $0) }
    }
  }
}
