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
  /// So many entries of a journal are looked at beside what goes out.
  private static let mostLooked = 5_000

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
        (held, gone) = (before, [])
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
    for row in gone {
      // Where the place in the feed stays, the feed names the row again: what both sides have by
      // now is no change of the site then.
      let isNamedAgain = next == nil && known.count < Self.mostKnown / 2
      known[row.name] = isNamedAgain ? Known(print: row.print, turn: turn) : nil
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

  private static let blocked = ServerError.own("the journal holds one of these rows")

  private func sendOnce(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]], ignoring others: [Int: [Int64]],
    holding: [(row: MirroredRow, reason: String)], cursor next: String?
  ) throws(ServerError) -> MirrorState.Contact {
    let at = try ledger.hold()
    for (number, ids) in entries { try forget(ids, in: number) }
    for (row, reason) in holding { try hold(row, .inward, reason) }
    let groups = Dictionary(grouping: rows, by: \.link.number)
    for number in groups.keys.sorted() {
      guard let link = byNumber[number], let group = groups[number] else { continue }
      let isSilent = !link.server.changesRows
      try server.execute("SET @flotilla = \(isSilent ? String(number) : "NULL")")
      let ignored = Set(others[number] ?? [])
      if !isSilent { try lock(group, link, ignored) }
      try write(group, link)
      if isSilent { try requireFree(group, link, ignored) }
      try server.execute("SET @flotilla = NULL")
    }
    try ledger.advance(cursor: next ?? cursor, life: life, number: number + 1)
    return MirrorState.Contact(number: number + 1, at: at)
  }

  private func forget(_ ids: [Int64], in number: Int) throws(ServerError) {
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)]
      try server.execute(
        "DELETE FROM \(capture.journal(number)) WHERE id IN "
          + "(\(part.map(String.init).joined(separator: ",")))")
    }
  }

  /// The rows are locked by now: what programs of the server have committed of them is seen, and
  /// what they do from now on comes after us.
  private func requireFree(
    _ rows: [MirroredRow], _ link: TableLink, _ ignored: Set<Int64>
  ) throws(ServerError) {
    let keys = Capture.keyNames(link).joined(separator: ", ")
    let entries = try server.rows(
      of: link.key.count + 1,
      "SELECT \(keys), id FROM \(capture.journal(link.number)) LIMIT \(Self.mostLooked)")
    guard !entries.isEmpty else { return }
    guard entries.count < Self.mostLooked else { throw Self.blocked }
    let names = Set(rows.map(\.name))
    for entry in entries where !ignored.contains(entry.last?.integer ?? 0) {
      guard let key = try? Self.decode(key: entry, link) else { continue }
      if names.contains(RowKey(link.number, key)) { throw Self.blocked }
    }
  }

  /// Where the server's own triggers change what is written, that is noted as others' changes are:
  /// so the rows are locked, and looked for in the journal, before.
  private func lock(
    _ rows: [MirroredRow], _ link: TableLink, _ ignored: Set<Int64>
  ) throws(ServerError) {
    for row in rows {
      guard let key = try? encodedKey(row) else { continue }
      _ = try server.rows(
        of: 1, "SELECT 1 FROM \(link.server.sqlName) WHERE \(Self.condition(link)) FOR UPDATE", key)
    }
    try requireFree(rows, link, ignored)
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

  /// The rows of these keys as the server has them; raw, and those that SQLite cannot hold, too.
  func standing(
    _ keys: [[Value]], _ link: TableLink
  ) throws(ServerError) -> [RowKey: [Value]] {
    var rows: [RowKey: [Value]] = [:]
    let selection = Self.selection(link, of: "t")
    try forEach(of: keys, link, link.columns.count, selection, "") { row in
      guard let key = try? Self.decode(key: link.key(of: row), link) else { return }
      rows[RowKey(link.number, key)] = row
    }
    return rows
  }

  /// So many keys are looked for in one go. "For […] IN predicates […] with many values" a server
  /// may make a table of 1,000 and more (mariadb.com, "Conversion of Big IN Predicates").
  private static let mostKeys = 512

  /// Has the server find rows by their keys. The last key stands there again until the number of
  /// them is a power of two: so there are few statements to prepare.
  private func forEach(
    of keys: [[Value]], _ link: TableLink, _ width: Int, _ selection: String, _ ending: String,
    _ body: ([Value]) -> Void
  ) throws(ServerError) {
    let names = link.serverKey.map { "t.\(serverName($0))" }.joined(separator: ", ")
    let marks = "(\(link.key.map { _ in "?" }.joined(separator: ", ")))"
    let encoded = keys.compactMap { try? encodedKey(MirroredRow(link, key: $0, row: nil)) }
    for start in stride(from: 0, to: encoded.count, by: Self.mostKeys) {
      var part = Array(encoded[start..<min(start + Self.mostKeys, encoded.count)])
      while part.count & (part.count - 1) != 0 { part.append(part[part.count - 1]) }
      let list = Array(repeating: marks, count: part.count).joined(separator: ", ")
      try server.forEachRow(
        of: width,
        "SELECT \(selection) FROM \(link.server.sqlName) t WHERE (\(names)) IN (\(list))\(ending)",
        part.flatMap { $0 }, body)
    }
  }
}
