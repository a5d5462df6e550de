import SQLite

/// The statements that make rows of the server what those of the site are.
extension MirrorSession {
  /// A row and what is sent of it.
  typealias Written = (row: MirroredRow, values: [Value])

  /// So many rows are sent in one go, and so many bytes.
  static let mostRows = 4_000
  static let mostSentBytes = 4 << 20
  /// So often a transaction waits for a lock; then all that is left of a part is owed.
  private static let mostWaits = 3
  /// So often it makes way for programs that are quicker.
  private static let mostRounds = 5
  /// So long, in ms, a row waits for a value that another one keeps.
  private static let longestWish: Int64 = 3_000
  /// Of so many rows, all of which the server refuses for one reason that nobody has foreseen, it
  /// is the table that is not in order.
  private static let fewRows = 8
  private static let manyRows = 256

  /// Writes rows of one table. Those that others of the server are busy with are set aside; and all
  /// of them if the table takes nothing.
  func write(_ rows: [MirroredRow], of link: TableLink) throws(ServerError) {
    if let rest = resting[link.number], rest.until > .now {
      return outcome.setAside(rows, rest.error.text)
    }
    if resting[link.number] != nil {
      // Rights to a database count from the next USE on (mariadb.com, "GRANT").
      try? server.execute("USE \(serverName(capture.database))")
    }
    func setAside(_ error: ServerError) {
      rest(link.number, error)
      outcome.setAside(rows, error.text)
    }
    do throws(ServerError) {
      try planned.require(link, on: server)
    } catch {
      guard error.isOfTable else { throw error }
      return setAside(error)
    }
    try server.execute("SAVEPOINT flotilla_table")
    let before = outcome.mark(held)
    func undo() throws(ServerError) {
      try server.execute("ROLLBACK TO SAVEPOINT flotilla_table")
      held = outcome.undo(to: before)
    }
    do throws(ServerError) {
      var open = rows
      var busy: [(row: MirroredRow, isChanged: Bool)] = []
      if try !insert(open, link, undo) {
        for round in 1... {
          let (free, standing) = try lock(open, link)
          try keepStrange(free, link)
          try write(free, standing, link)
          // What programs have committed since is seen now: each row is locked.
          let changed = try changedThere(free, link)
          guard !changed.isEmpty else { break }
          try undo()
          let late = open.filter { changed.contains($0.name) || round >= Self.mostRounds }
          open.removeAll { changed.contains($0.name) || round >= Self.mostRounds }
          busy += late.map { ($0, changed.contains($0.name)) }
        }
      }
      for (row, isChanged) in busy {
        outcome.setAside(row, Self.changed, isChanged: isChanged)
      }
      resting[link.number] = nil
    } catch {
      guard error.isOfTable else { throw error }
      // Some servers undo all of it for a lock that is waited for too long.
      guard (try? undo()) != nil else { throw error }
      setAside(error)
    }
  }

  static let changed = "a program of the server has changed it, which comes in first"
  static let locked = "another transaction of the server has it locked"

  /// Inserts rows without a look whether they stand there, where none did the last time: that look
  /// takes the server a third of its time. False, and nothing is done, if one does stand there, is
  /// locked, or was changed by a program.
  private func insert(
    _ rows: [MirroredRow], _ link: TableLink, _ undo: () throws(ServerError) -> Void
  ) throws(ServerError) -> Bool {
    guard haste.tables.contains(link.number), held.entries.isEmpty, rows.count >= Haste.fewRows,
      rows.allSatisfy({ $0.row != nil })
    else { return false }
    haste.isOn = true
    defer { haste.isOn = false }
    do throws(ServerError) {
      try write(rows, [], link)
      if try changedThere(rows, link).isEmpty { return true }
    } catch {
      guard error.isTaken || error.isLock else { throw error }
    }
    haste.forget([link.number])
    try undo()
    return false
  }

  /// Locks what the server has of the rows. Gives those that may be written, and which stand there.
  private func lock(
    _ rows: [MirroredRow], _ link: TableLink
  ) throws(ServerError) -> (free: [MirroredRow], standing: Set<RowKey>) {
    guard !rows.isEmpty else { return ([], []) }
    var standing = try existing(rows, link, "")
    if rows.allSatisfy({ $0.row != nil }) {
      haste.note(link, stood: standing.count, of: rows.count)
    } else {
      haste.forget([link.number])
    }
    var free = rows
    if standing.isEmpty {
      // There is nothing to lock.
    } else if server.limits.skipsLocked {
      let there = rows.filter { standing.contains($0.name) }
      let ours = try existing(there, link, " FOR UPDATE SKIP LOCKED")
      for row in there where !ours.contains(row.name) {
        outcome.setAside(row, Self.locked)
      }
      free.removeAll { standing.contains($0.name) && !ours.contains($0.name) }
      standing = ours
    } else {
      standing = try existing(rows, link, " FOR UPDATE")
    }
    let changed = try changedThere(free, link)
    guard !changed.isEmpty else { return (free, standing) }
    for row in free where changed.contains(row.name) {
      outcome.setAside(row, Self.changed, isChanged: true)
    }
    free.removeAll { changed.contains($0.name) }
    return (free, standing)
  }

  /// Locks what the server has of the rows; gives those that no other transaction has locked.
  func locking(_ rows: [MirroredRow], _ link: TableLink) throws(ServerError) -> Set<RowKey> {
    try existing(rows, link, " FOR UPDATE" + (server.limits.skipsLocked ? " SKIP LOCKED" : ""))
  }

  /// Which of the rows stand on the server.
  private func existing(
    _ rows: [MirroredRow], _ link: TableLink, _ ending: String
  ) throws(ServerError) -> Set<RowKey> {
    let names = link.serverKey.map { "t.\(serverName($0))" }.joined(separator: ", ")
    var standing: Set<RowKey> = []
    try forEach(of: rows.map(\.key), link, link.key.count, names, ending) { row in
      guard let key = try? Self.decode(key: row, link) else { return }
      standing.insert(RowKey(link.number, key))
    }
    return standing
  }

  /// What the site could not take of the server, or never had of it, is in the conflict log before
  /// it is overwritten.
  private func keepStrange(_ rows: [MirroredRow], _ link: TableLink) throws(ServerError) {
    var strange = try onSite { () throws(SQLiteError) in try meeting.strange(among: rows) }
    if !held.entries.isEmpty {
      strange += rows.filter { held.entries[HeldRows.Name($0)]?.direction == .inward }
    }
    guard !strange.isEmpty else { return }
    let there = try standing(strange.map(\.key), link)
    for (name, raw) in there {
      outcome.meet(name, (try? Self.decode(raw, link)) ?? raw)
    }
  }

  /// Deletes first: what they leave free others may take.
  private func write(
    _ rows: [MirroredRow], _ there: Set<RowKey>, _ link: TableLink
  ) throws(ServerError) {
    var deletes: [Written] = []
    var writes: [Written] = []
    for row in rows {
      do throws(ColumnForm.Objection) {
        if let values = row.row {
          writes.append((row, try encoded(row, values)))
        } else {
          deletes.append((row, try Self.encoded(key: row.key, link)))
        }
      } catch {
        if row.row == nil {
          try release(row)
        } else {
          try hold(row, .outward, error.reason)
        }
        outcome.drop(row)
      }
    }
    outcome.odd = OpenTransaction.Odd(rows: deletes.count + writes.count)
    outcome.refused = []
    try run("DELETE FROM \(link.server.sqlName) WHERE \(Self.condition(link))", deletes)
    var (open, standing, passes) = (writes, there, 0)
    let start = outcome.gone.count
    // One may want what the next has, and gives up: so they are tried again, the other way round.
    while !open.isEmpty {
      passes += 1
      outcome.refused = []
      // Never an upsert: it would change a row that has the same value in another unique column.
      let update = standing.isEmpty ? [] : open.filter { standing.contains($0.row.name) }
      try run(
        Self.update(link), update.map { ($0.row, Self.valuesThenKey($0.values, link)) })
      try run(
        Self.insert(link),
        standing.isEmpty ? open : open.filter { !standing.contains($0.row.name) })
      guard !outcome.refused.isEmpty else { return }
      let names = Set(outcome.refused.map(\.row.name))
      let left = Array(open.filter { names.contains($0.row.name) }.reversed())
      guard left.count < open.count, passes < Self.mostRounds else { break }
      open = left
      // Another one may have been quicker with the key.
      standing = try existing(open.map(\.row), link, "")
    }
    let reasons = outcome.refused
    let names = Set(reasons.map(\.row.name))
    let replaced = try replace(
      open.filter { standing.contains($0.row.name) && names.contains($0.row.name) }, link)
    // What one wants may be free when more has gone out.
    let isMoving =
      outcome.gone.count > start
      || debts.contains { $0.link.number == link.number && !names.contains($0.name) }
    for (row, error) in reasons where !replaced.contains(row.name) {
      if isMoving || debts[row.name].map({ $0.age < Self.longestWish }) ?? true {
        outcome.setAside(row, error.text)
      } else {
        try hold(row, .outward, error.text)
        outcome.drop(row)
      }
    }
  }

  /// Rows that want each other's values are taken away and put back, where nothing else goes with
  /// them. Gives those with which that was done.
  private func replace(_ rows: [Written], _ link: TableLink) throws(ServerError) -> Set<RowKey> {
    guard link.isWhole, !link.server.hasTriggers else { return [] }
    var ring = rows
    for _ in 0..<Self.mostRounds where ring.count > 1 {
      try server.execute("SAVEPOINT flotilla_ring")
      let before = outcome.mark(held)
      outcome.refused = []
      let delete = "DELETE FROM \(link.server.sqlName) WHERE \(Self.condition(link))"
      for start in stride(from: 0, to: ring.count, by: Self.mostRows) {
        let part = ring[start..<min(start + Self.mostRows, ring.count)]
        try server.run(delete, each: part.map { link.key(of: $0.values) })
      }
      try run(Self.insert(link), ring)
      if outcome.gone(since: before).count == ring.count { return Set(ring.map(\.row.name)) }
      try server.execute("ROLLBACK TO SAVEPOINT flotilla_ring")
      let went = Set(outcome.gone(since: before).map(\.name))
      held = outcome.undo(to: before)
      ring.removeAll { !went.contains($0.row.name) }
    }
    return []
  }

  static func condition(_ link: TableLink) -> String {
    zip(link.serverKey, link.keyMarks).map { "\(serverName($0)) = \($1)" }
      .joined(separator: " AND ")
  }

  static func encoded(
    key values: [Value], _ link: TableLink
  ) throws(ColumnForm.Objection) -> [Value] {
    var key: [Value] = []
    for (value, place) in zip(values, link.key) {
      key.append(try link.columns[place].form.encode(value))
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

  static func insert(_ link: TableLink) -> String {
    let names = link.columns.map { serverName($0.serverName) }.joined(separator: ", ")
    let marks = link.columns.map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO \(link.server.sqlName)(\(names)) VALUES (\(marks))"
  }

  static func others(_ link: TableLink) -> [Int] {
    let others = link.columns.indices.filter { !link.key.contains($0) }
    return others.isEmpty ? link.key : others
  }

  static func update(_ link: TableLink) -> String {
    let settings = others(link).map { "\(serverName(link.columns[$0].serverName)) = ?" }
    return "UPDATE \(link.server.sqlName) SET \(settings.joined(separator: ", ")) "
      + "WHERE \(condition(link))"
  }

  private static func valuesThenKey(_ values: [Value], _ link: TableLink) -> [Value] {
    others(link).map { values[$0] } + link.key.map { values[$0] }
  }

  /// Runs a statement for each row, in parts that fit.
  private func run(_ sql: String, _ rows: [Written]) throws(ServerError) {
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

  /// "one error per batch": halves it until the row is found that does not fit.
  private func attempt(_ sql: String, _ rows: ArraySlice<Written>) throws(ServerError) {
    guard !rows.isEmpty else { return }
    try server.execute("SAVEPOINT flotilla")
    do throws(ServerError) {
      try server.run(sql, each: rows.map(\.values))
    } catch {
      guard !haste.isOn || !error.isTaken && !error.isLock else { throw error }
      // What nobody has foreseen, such as a SIGNAL of a trigger, is the fault of a row, too.
      guard error.isLock || [.row, .other].contains(error.kind), error.code != 0 else {
        throw error
      }
      guard (try? server.execute("ROLLBACK TO SAVEPOINT flotilla")) != nil else { throw error }
      if error.isLock { outcome.waits += 1 }
      if error.isLock, rows.count == 1 || outcome.waits > Self.mostWaits {
        return outcome.setAside(rows.map(\.row), Self.locked)
      }
      guard rows.count > 1 else {
        if let row = rows.first?.row { try refuse(row, error) }
        return
      }
      let middle = rows.startIndex + rows.count / 2
      try attempt(sql, rows[..<middle])
      return try attempt(sql, rows[middle...])
    }
    outcome.odd.isOver = true
    for (row, _) in rows {
      outcome.go(row)
      try release(row)
    }
  }

  private func refuse(_ row: MirroredRow, _ error: ServerError) throws(ServerError) {
    guard !error.isTaken else { return outcome.refused.append((row, error)) }
    if error.kind == .other {
      outcome.odd.count = outcome.odd.code == error.code ? outcome.odd.count + 1 : 1
      outcome.odd.code = error.code
      let odd = outcome.odd
      let isAll = odd.count >= min(odd.rows, Self.manyRows)
      guard odd.isOver || odd.rows < Self.fewRows || !isAll else { throw error.ofTable }
    }
    try hold(row, .outward, error.text)
    outcome.drop(row)
  }
}
