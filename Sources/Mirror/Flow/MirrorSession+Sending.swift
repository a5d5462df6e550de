import Flotilla
import SQLite

/// From the replica to the server.
extension MirrorSession {
  /// What became of rows that were to go out.
  enum Sending {
    case done
    /// A program of the server has changed one of the rows, and that has not been taken in.
    case blocked
  }

  /// So many rows are sent in one go, and so many bytes.
  private static let mostRows = 4_000
  private static let mostSentBytes = 4 << 20
  /// Writes rows, takes entries out of the journals and moves the cursor on: all or nothing.
  func send(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]] = [:],
    ignoring others: [Int: [Int64]] = [:],
    holding: [(row: MirroredRow, reason: String)] = [], agreeing: [HeldRows.Name] = [],
    cursor next: String? = nil
  ) throws(ServerError) -> Sending {
    let before = held
    var contact = contact
    do throws(ServerError) {
      contact = try transaction { () throws(ServerError) in
        (held, gone, blocking) = (before, [], [:])
        for name in agreeing { try release(name) }
        return try sendOnce(
          rows, forgetting: entries, ignoring: others, holding: holding, cursor: next)
      }
    } catch {
      held = before
      guard error == Self.blocked else { throw error }
      return .blocked
    }
    // Only what is known to be committed counts.
    (self.contact, number) = (contact, contact.number)
    if let next { cursor = next }
    for row in gone where next == nil || !known.isEmpty {
      // Where the place in the feed stays, the feed names the row again: what both sides have by
      // now is no change of the site then.
      let isNoted = known[row.name]?.isNoted ?? false
      let isNamedAgain = next == nil && known.count < Self.mostKnown / 2
      known[row.name] =
        isNamedAgain || isNoted
        ? Known(print: row.print, turn: turn, isThere: true, isNoted: isNoted) : nil
    }
    sent += gone.count
    lastWord = .now
    return .done
  }

  /// The rows at these places, from one of them on, that the server does not have already, up to
  /// a bound of bytes; and where the next ones begin. They are read in one transaction.
  func openRows(
    _ places: [RowPlace], from start: Int
  ) throws(SQLiteError) -> (rows: [MirroredRow], end: Int) {
    guard start < places.count else { return ([], start) }
    return try site.connection.transaction(.deferred) { () throws(SQLiteError) in
      var (rows, bytes, end) = ([MirroredRow](), 0, start)
      while end < places.count, bytes <= Self.mostBytes {
        let place = places[end]
        end += 1
        let values = try site.row(place.link, place.key)
        let row = MirroredRow(place.link, key: place.key, row: values)
        guard !isKnown(row) else { continue }
        rows.append(row)
        bytes += values?.reduce(64) { $0 + $1.byteCount + 16 } ?? 64
      }
      return (rows, end)
    }
  }

  /// Sends what can be sent: a row that a program of the server has changed again is left out, for
  /// that is in the journal. The entries are forgotten in the same transaction as the last of it.
  func sendFree(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]],
    holding: [(row: MirroredRow, reason: String)] = [], agreeing: [HeldRows.Name] = []
  ) throws(ServerError) {
    let sending = try send(rows, forgetting: entries, holding: holding, agreeing: agreeing)
    guard case .blocked = sending else { return }
    for row in rows { _ = try send([row], ignoring: entries) }
    _ = try send([], forgetting: entries, holding: holding, agreeing: agreeing)
  }

  private func sendOnce(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]], ignoring others: [Int: [Int64]],
    holding: [(row: MirroredRow, reason: String)], cursor next: String?
  ) throws(ServerError) -> MirrorState.Contact {
    let at = try ledger.hold()
    for (number, ids) in entries { try forget(ids, in: number) }
    for (row, reason) in holding { try hold(row, .inward, reason) }
    if !rows.isEmpty {
      try server.execute("SET \(capture.turn) = \(Int64.random(in: 1...Int64.max))")
    }
    let groups = Dictionary(grouping: rows, by: \.link.number)
    for number in groups.keys.sorted() {
      guard let link = byNumber[number], let group = groups[number] else { continue }
      // Where the server's own triggers change what is written, that is noted as others' changes.
      let name = link.server.changesRows ? "NULL" : String(number)
      try server.execute("SET \(capture.own) = \(name)")
      try write(group, link)
      try requireFree(group, link, Set(others[number] ?? []))
    }
    if !rows.isEmpty { try server.execute("SET \(capture.own) = NULL, \(capture.turn) = NULL") }
    try ledger.advance(cursor: next ?? cursor, life: life, number: number + 1)
    return MirrorState.Contact(number: number + 1, at: at)
  }

  static func condition(_ link: TableLink) -> String {
    link.serverKey.map { "\(serverName($0)) = ?" }.joined(separator: " AND ")
  }

  func encodedKey(_ row: MirroredRow) throws(ColumnForm.Objection) -> [Value] {
    var key: [Value] = []
    for (value, place) in zip(row.key, row.link.key) {
      key.append(try row.link.columns[place].form.encode(value))
    }
    return key
  }

  private func encoded(_ row: MirroredRow, _ values: [Value]) throws(ColumnForm.Objection)
    -> [Value]
  {
    var encoded: [Value] = []
    encoded.reserveCapacity(values.count)
    var size = 0
    for (value, column) in zip(values, row.link.columns) {
      do throws(ColumnForm.Objection) {
        // Some servers make a moment of a NULL that they do not take.
        guard column.takesNull || !value.isNull else {
          throw ColumnForm.Objection("the server takes no NULL there")
        }
        encoded.append(try column.form.encode(value))
        size += value.byteCount + 16
      } catch {
        throw ColumnForm.Objection("\(column.name): \(error.reason)")
      }
    }
    guard size < server.limits.packet - (64 << 10) else {
      throw ColumnForm.Objection(
        "the row has \(size) bytes, and max_allowed_packet of the server is "
          + "\(server.limits.packet)")
    }
    return encoded
  }

  /// Deletes first: what they leave free others may take.
  private func write(_ rows: [MirroredRow], _ link: TableLink) throws(ServerError) {
    var deletes: [(row: MirroredRow, values: [Value])] = []
    var writes: [(row: MirroredRow, values: [Value])] = []
    for row in rows {
      do throws(ColumnForm.Objection) {
        if let values = row.row {
          writes.append((row, try encoded(row, values)))
        } else {
          deletes.append((row, try encodedKey(row)))
        }
      } catch {
        if row.row == nil {
          try release(row)
        } else {
          try hold(row, .outward, error.reason)
        }
      }
    }
    try run(
      "DELETE FROM \(link.server.sqlName) WHERE \(Self.condition(link))", deletes)
    // Never an upsert: it would change a row that has the same value in another unique column.
    let standing = try existing(writes.map(\.row), link)
    try run(
      Self.update(link),
      writes.filter { standing.contains($0.row.name) }.map {
        ($0.row, Self.valuesThenKey($0.values, link))
      })
    try run(Self.insert(link), writes.filter { !standing.contains($0.row.name) })
  }

  private static func insert(_ link: TableLink) -> String {
    let names = link.columns.map { serverName($0.serverName) }.joined(separator: ", ")
    let marks = link.columns.map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO \(link.server.sqlName)(\(names)) VALUES (\(marks))"
  }

  private static func others(_ link: TableLink) -> [Int] {
    let others = link.columns.indices.filter { !link.key.contains($0) }
    return others.isEmpty ? link.key : others
  }

  private static func update(_ link: TableLink) -> String {
    let settings = others(link).map { "\(serverName(link.columns[$0].serverName)) = ?" }
    return "UPDATE \(link.server.sqlName) SET \(settings.joined(separator: ", ")) "
      + "WHERE \(condition(link))"
  }

  private static func valuesThenKey(_ values: [Value], _ link: TableLink) -> [Value] {
    others(link).map { values[$0] } + link.key.map { values[$0] }
  }

  /// Which of the rows stand on the server; those are locked.
  private func existing(
    _ rows: [MirroredRow], _ link: TableLink
  ) throws(ServerError) -> Set<RowKey> {
    let names = link.serverKey.map { "t.\(serverName($0))" }.joined(separator: ", ")
    var standing: Set<RowKey> = []
    try forEach(of: rows.map(\.key), link, link.key.count, names, " FOR UPDATE") { row in
      guard let key = try? Self.decode(key: row, link) else { return }
      standing.insert(RowKey(link.number, key))
    }
    return standing
  }

  /// Runs a statement for each row, in parts that fit.
  private func run(
    _ sql: String, _ rows: [(row: MirroredRow, values: [Value])]
  ) throws(ServerError) {
    let mostBytes = min(Self.mostSentBytes, server.limits.packet / 2)
    var (start, bytes) = (0, 0)
    for (place, row) in rows.enumerated() {
      let size = row.values.reduce(16) { $0 + $1.byteCount + 16 }
      if place > start, place - start >= Self.mostRows || bytes + size > mostBytes {
        try attempt(sql, rows[start..<place])
        (start, bytes) = (place, 0)
      }
      bytes += size
    }
    try attempt(sql, rows[start...])
  }

  /// "one error per batch": halves it until the row is found that does not fit, and holds that.
  private func attempt(
    _ sql: String, _ rows: ArraySlice<(row: MirroredRow, values: [Value])>
  ) throws(ServerError) {
    guard !rows.isEmpty else { return }
    try server.execute("SAVEPOINT flotilla")
    do throws(ServerError) {
      try server.run(sql, each: rows.map(\.values))
    } catch {
      // What nobody has foreseen, such as a SIGNAL of a trigger, is the fault of a row, too.
      guard [.row, .other].contains(error.kind), error.code != 0 else { throw error }
      try server.execute("ROLLBACK TO SAVEPOINT flotilla")
      guard rows.count > 1 else {
        if let row = rows.first?.row { try hold(row, .outward, error.text) }
        return
      }
      let middle = rows.startIndex + rows.count / 2
      try attempt(sql, rows[..<middle])
      return try attempt(sql, rows[middle...])
    }
    for (row, _) in rows {
      gone.append(row)
      try release(row)
    }
  }
}
