import SQLite

/// Rows that the server is thought to lack, or to have, on the shortest way there. They go from
/// where SQLite holds their values into memory that the library reads, and into the table without
/// a look for them.
extension MirrorSession {
  /// Where that may be tried.
  struct Haste {
    /// So many rows at least.
    static let fewRows = 64

    /// Tables of which the server had none of the rows that it was asked for last.
    var tables: Set<Int> = []
    /// Those of which it had all of them.
    var standing: Set<Int> = []
    /// Those whose rows are so long that a page of them goes in parts.
    var long: Set<Int> = []
    /// Whether rows are inserted without a look whether they stand there.
    var isOn = false

    /// What came of a look for rows that all have content.
    mutating func note(_ link: TableLink, stood: Int, of count: Int) {
      forget([link.number])
      if stood == 0 { tables.insert(link.number) }
      if stood == count, link.key.count < link.columns.count { standing.insert(link.number) }
    }

    mutating func forget(_ numbers: [Int]) {
      tables.subtract(numbers)
      standing.subtract(numbers)
    }
  }

  /// A page of such rows.
  struct FreshRows {
    /// Those of one table.
    struct Group {
      let link: TableLink
      /// Whether they stand there, as far as is known.
      let areThere: Bool
      var keys: [[Value]] = []
      var blocks: [ParameterBlock] = []
    }

    var groups: [Group] = []
    var count: Int { groups.reduce(0) { $0 + $1.keys.count } }
  }

  /// The rows at these places, read in one transaction. Nil if nobody knows whether they stand
  /// there, or one does not fit; or if anything is held, owed or known of rows.
  func freshRows(_ places: [RowPlace]) throws(SQLiteError) -> FreshRows? {
    guard server.hasArrays, places.count >= Haste.fewRows, held.entries.isEmpty, known.isEmpty,
      debts.areNone, resting.isEmpty, meeting.isOver
    else { return nil }
    var (rows, bytes, start) = (FreshRows(), 0, 0)
    var hasAll = true
    try site.connection.transaction(.deferred) { () throws(SQLiteError) in
      while start < places.count, hasAll {
        let link = places[start].link
        let end = places[start...].firstIndex { $0.link !== link } ?? places.count
        hasAll = try read(places[start..<end], of: link, into: &rows, &bytes)
        start = end
      }
    }
    return hasAll ? rows : nil
  }

  /// False if they are to go the other way.
  private func read(
    _ places: ArraySlice<RowPlace>, of link: TableLink, into rows: inout FreshRows,
    _ bytes: inout Int
  ) throws(SQLiteError) -> Bool {
    let areThere = haste.standing.contains(link.number)
    guard areThere || haste.tables.contains(link.number), !haste.long.contains(link.number) else {
      return false
    }
    let begun = rows.groups.firstIndex { $0.link.number == link.number }
    let index = begun ?? rows.groups.count
    if begun == nil { rows.groups.append(FreshRows.Group(link: link, areThere: areThere)) }
    rows.groups[index].keys += places.map(\.key)
    let order = areThere ? Self.others(link) + link.key : nil
    let writer = BlockWriter(link, packet: server.limits.packet, order: order)
    let blocks = try site.blocks(of: link, places, by: writer, within: Self.mostBytes - bytes)
    switch blocks {
    case .all(let blocks, let count):
      rows.groups[index].blocks += blocks
      bytes += count
      return true
    case .tooLong: haste.long.insert(link.number)
    case .odd: haste.forget([link.number])
    }
    return false
  }

  /// Writes them and moves the cursor on: all or nothing. False, and nothing is done, if one does
  /// not fit, does stand there or does not, is locked, or was changed by a program.
  func send(_ rows: FreshRows, cursor next: String) throws(ServerError) -> Bool {
    var isMet = false
    do throws(ServerError) {
      let contact = try transaction { () throws(ServerError) in
        let at = try ledger.hold(after: lastNumber)
        do throws(ServerError) {
          isMet = try !write(rows)
        } catch {
          // What is to be done about it is known on the other way.
          isMet =
            error.isTaken || error.isLock || error.isOfTable
            || error.code != 0 && [.row, .other].contains(error.kind)
          guard isMet else { throw error }
        }
        if isMet { throw .own(Self.changed) }
        try ledger.advance(cursor: next, life: life, number: number + 1)
        return MirrorState.Contact(number: number + 1, at: at)
      }
      (self.contact, number, cursor) = (contact, contact.number, next)
    } catch {
      guard isMet else { throw error }
      haste.forget(rows.groups.map(\.link.number))
      return false
    }
    for group in rows.groups { lastSent.forget(group.keys, of: group.link) }
    sent += rows.count
    lastWord = .now
    return true
  }

  /// False if a program of the server has changed one of them, or one to be changed is not there.
  private func write(_ rows: FreshRows) throws(ServerError) -> Bool {
    var isUnchanged = true
    let groups = rows.groups.sorted { $0.link.number < $1.link.number }
    try asMirror(groups.map(\.link.number)) { link throws(ServerError) in
      guard let group = groups.first(where: { $0.link.number == link.number }) else { return }
      try planned.require(link, on: server)
      let sql = group.areThere ? Self.update(link) : Self.insert(link)
      for block in group.blocks where isUnchanged {
        let found = try server.run(sql, each: block)
        isUnchanged = !group.areThere || found == block.count
      }
      guard isUnchanged else { return }
      if try !changedThere(group.keys, link).isEmpty { isUnchanged = false }
    }
    return isUnchanged
  }
}

extension SiteFile {
  /// What reading rows into blocks came to.
  enum Reading {
    case all([ParameterBlock], bytes: Int)
    /// They have more bytes than are held in memory.
    case tooLong
    /// One of them is gone, or does not fit.
    case odd
  }

  /// The rows at these places of one table, in blocks that a statement may have.
  func blocks(
    of link: TableLink, _ places: ArraySlice<RowPlace>, by writer: BlockWriter, within most: Int
  ) throws(SQLiteError) -> Reading {
    var (blocks, bytes, count): ([ParameterBlock], Int, Int) = ([], 0, 0)
    /// What is in the way of the row that a statement has come to; nil if nothing is.
    func add(_ row: Statement) -> Reading? {
      if blocks.last.map(writer.isFull) ?? true {
        bytes += blocks.last?.bytes ?? 0
        blocks.append(writer.block(for: places.count - count))
      }
      let block = blocks[blocks.count - 1]
      guard bytes + block.bytes + writer.rowSize * count <= most else { return .tooLong }
      guard writer.add(row, to: block) else { return .odd }
      count += 1
      return nil
    }
    let obstacle =
      if let range = Self.range(of: link, places) {
        try scan(link, places, range, add)
      } else {
        try connection.with(text(of: link)) { (row) throws(SQLiteError) -> Reading? in
          for place in places {
            try row.bind(place.key)
            guard try row.step() else { return .odd }
            if let obstacle = add(row) { return obstacle }
            row.reset()
          }
          return nil
        }
      }
    if let obstacle { return obstacle }
    bytes += (blocks.last?.bytes ?? 0) + writer.rowSize * count
    return .all(blocks, bytes: bytes)
  }

  /// Between which integers the keys lie, if they rise and there are few others between them.
  private static func range(
    of link: TableLink, _ places: ArraySlice<RowPlace>
  ) -> ClosedRange<Int64>? {
    guard link.key.count == 1, link.affinity(ofKey: 0) == .integer,
      let first = places.first?.key[0].integer, let last = places.last?.key[0].integer
    else { return nil }
    let (span, isHuge) = last.subtractingReportingOverflow(first)
    guard !isHuge, span >= 0, span < 2 * places.count else { return nil }
    var before: Int64?
    for place in places {
      guard let key = place.key[0].integer, before.map({ $0 < key }) ?? true else { return nil }
      before = key
    }
    return first...last
  }

  /// Reads them in the order of their keys: a look-up of each takes twice as long.
  private func scan(
    _ link: TableLink, _ places: ArraySlice<RowPlace>, _ range: ClosedRange<Int64>,
    _ add: (Statement) -> Reading?
  ) throws(SQLiteError) -> Reading? {
    let ends: [Value] = [.integer(range.lowerBound), .integer(range.upperBound)]
    return try connection.with(scan(of: link), ends) { (row) throws(SQLiteError) -> Reading? in
      var rest = places
      while let key = rest.first?.key[0].integer, try row.step() {
        guard case .integer(let found) = row.content(link.key[0]), found >= key else { continue }
        guard found == key else { return .odd }
        if let obstacle = add(row) { return obstacle }
        rest.removeFirst()
      }
      return rest.isEmpty ? nil : .odd
    }
  }
}
