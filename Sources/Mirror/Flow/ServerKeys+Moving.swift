import SQLite

/// The statements that move rows of the server to other numbers.
extension ServerKeys {
  /// What a journal tells of one row.
  private struct Entries {
    var ids: [Int64] = []
    /// Whether the first of them says that a program has put the row where none was.
    var hasArrived = false
    /// When a program wrote it first and last, in µs since 1970.
    var first: Int64?
    var last: Int64?
    var former: Int64?
  }

  /// Has rows of the server make way for these rows of the site, as far as they are to; and what
  /// refers to rows that have moved follow them. True if something moved.
  func makeWay(
    for rows: [MirroredRow], missed: [Move] = [], _ session: MirrorSession
  ) throws(ServerError) -> Bool {
    let names = Set(rows.map(\.name))
    let others = open.subtracting(names).compactMap { name -> MirroredRow? in
      guard let link = numbered[name.number]?.link, let key = StoredKey.decode(name.bytes) else {
        return nil
      }
      return MirroredRow(link, key: key, row: nil)
    }
    open = []
    let here = try session.onSite { () throws(SQLiteError) in
      try (rows + others).map { row throws(SQLiteError) in
        MirroredRow(row.link, key: row.key, row: try site.row(row.link, row.key))
      }
    }.filter { $0.row != nil }
    var hasMoved = false
    for start in stride(from: 0, to: here.count, by: Self.most) {
      let part = Array(here[start..<min(start + Self.most, here.count)])
      if try attempt(part, [], session) { hasMoved = true }
    }
    if !missed.isEmpty, try attempt([], missed, session) { hasMoved = true }
    return hasMoved
  }

  /// So many rows are moved in one transaction.
  private static let most = 512

  private func attempt(
    _ rows: [MirroredRow], _ missed: [Move], _ session: MirrorSession
  ) throws(ServerError) -> Bool {
    guard !rows.isEmpty || !missed.isEmpty else { return false }
    do throws(ServerError) {
      var waiting: Set<RowKey> = []
      let (done, count) = try session.inTurn { now throws(ServerError) in
        waiting = []
        let due = try due(rows, at: now, &waiting, session)
        let (moved, count) = try move(due, missed, at: now, session)
        return ((moved, count), isEmpty: count == 0)
      }
      open.formUnion(waiting)
      note(done)
      return count > 0
    } catch {
      guard error.kind != .lost, error.code != 0 else { throw error }
      if error.kind == .again {
        open.formUnion(rows.map(\.name) + missed.map(\.name))
        return false
      }
      guard rows.count + missed.count <= 1 else {
        // One of them does not fit; the others may.
        var hasMoved = false
        for row in rows where try attempt([row], [], session) { hasMoved = true }
        for move in missed where try attempt([], [move], session) { hasMoved = true }
        return hasMoved
      }
      for row in rows { giveUp(row.name) }
      return false
    }
  }

  /// Which of the server's rows are to move now, with the number that each had first.
  private func due(
    _ rows: [MirroredRow], at now: Int64, _ waiting: inout Set<RowKey>, _ session: MirrorSession
  ) throws(ServerError) -> [(row: MirroredRow, first: Int64)] {
    var due: [(row: MirroredRow, first: Int64)] = []
    for (_, some) in Dictionary(grouping: rows, by: \.link.number) {
      let link = some[0].link
      let there = try session.standing(some.map(\.key), link)
      let entries = try entries(some.map(\.key), link, session)
      let meeting = some.filter { row in
        guard let raw = there[row.name], entries[row.name]?.hasArrived == true else { return false }
        // Two rows of equal content are one.
        if case .success(let values) = MirrorSession.result(raw, link) { return values != row.row }
        return true
      }
      guard !meeting.isEmpty else { continue }
      let free = try session.locking(meeting, link)
      for row in meeting {
        guard let known = entries[row.name], let number = row.key[0].integer else { continue }
        guard free.contains(row.name), now - (known.last ?? .min / 2) >= Self.rest else {
          waiting.insert(row.name)
          continue
        }
        due.append((row, known.former ?? number))
      }
    }
    return due
  }

  /// Moves them. Gives the moves, and how many rows were written.
  private func move(
    _ due: [(row: MirroredRow, first: Int64)], _ missed: [Move], at now: Int64,
    _ session: MirrorSession
  ) throws(ServerError) -> (moves: [Move], count: Int) {
    let capture = session.capture
    var moves: [Move] = []
    for (number, some) in Dictionary(grouping: due, by: \.row.link.number) {
      guard let table = numbered[number] else { continue }
      let top = try highest(table, session)
      guard var next = fresh(some.count, table, above: top) else {
        for (row, _) in some { giveUp(row.name) }
        continue
      }
      let numbers = some.compactMap { one in one.row.key[0].integer.map { ($0, one.first) } }
      for (former, first) in numbers.sorted(by: <) {
        moves.append(Move(link: table.link, former: former, next: next, at: now, first: first))
        next += 1
      }
    }
    guard !moves.isEmpty || !missed.isEmpty else { return ([], 0) }
    try session.server.execute(
      "SET \(capture.own) = NULL, \(capture.turn) = \(Capture.moved), \(capture.former) = NULL")
    do throws(ServerError) {
      var count = moves.count
      let followers = try follow(moves, isLate: false, session)
      for place in moves.indices {
        moves[place].count = followers[moves[place].name] ?? 0
        count += moves[place].count
      }
      count += try follow(missed, isLate: true, session).values.reduce(0, +)
      for move in moves { try put(move, session) }
      try forgetFormer(moves, session)
      try session.server.execute("SET \(capture.turn) = NULL, \(capture.former) = NULL")
      return (moves, count)
    } catch {
      if error.kind != .lost {
        try session.server.execute("SET \(capture.turn) = NULL, \(capture.former) = NULL")
      }
      throw error
    }
  }

  /// The highest number that the table has or has given, on either side.
  private func highest(
    _ table: Numbered, _ session: MirrorSession
  ) throws(ServerError) -> Int64 {
    let (link, server) = (table.link, session.server)
    let here = try session.onSite { () throws(SQLiteError) in
      try site.highest(link, below: Self.bound)
    }
    let column = serverName(link.serverKey[0])
    let there = try server.rows(
      of: 1,
      "SELECT CAST(IFNULL(MAX(\(column)), 0) AS SIGNED) FROM \(link.server.sqlName) "
        + "WHERE \(column) < \(Self.bound)"
    ).first?[0].integer
    let counter = try server.rows(
      of: 1,
      """
      SELECT CAST(IFNULL(auto_increment, 1) AS SIGNED) FROM information_schema.tables
      WHERE table_schema = ? AND table_name = ? AND IFNULL(auto_increment, 1) < \(Self.bound)
      """, [.string(link.server.schema), .string(link.server.name)]
    ).first?[0].integer
    return max(here, there ?? 0, (counter ?? 1) - 1)
  }

  /// Has what refers to rows refer to their next numbers; gives how many rows that were for each.
  private func follow(
    _ moves: [Move], isLate: Bool, _ session: MirrorSession
  ) throws(ServerError) -> [RowKey: Int] {
    var counts: [RowKey: Int] = [:]
    for (number, some) in Dictionary(grouping: moves, by: \.link.number) {
      let byFormer = Dictionary(some.map { ($0.former, $0) }) { first, _ in first }
      for holder in numbered[number]?.holders ?? [] {
        if let (link, place) = holder.mirrored {
          let children = try children(holder, link, place, byFormer, isLate: isLate, session)
          try write(children, holder, link, place, session)
          for child in children { counts[child.move.name, default: 0] += 1 }
        } else if !isLate {
          // The site has none of these rows: all of them mean the server's row.
          let sql = "UPDATE \(holder.table) SET \(holder.column) = ? WHERE \(holder.column) = ?"
          for move in some {
            let count = try session.server.run(sql, [.integer(move.next), .integer(move.former)])
            counts[move.name, default: 0] += count
          }
        }
      }
    }
    return counts
  }

  /// A row that refers to one that moves, by its key as the server has it.
  private struct Child {
    var key: [Value]
    var name: RowKey
    var move: Move
    /// Whether nobody but a program of the server has had it.
    var isNew: Bool
  }

  /// What refers to rows that move, and is not the site's own. A program has put it there, the site
  /// has none of that key, or the site's refers to another row.
  private func children(
    _ holder: Holder, _ link: TableLink, _ place: Int, _ moves: [Int64: Move], isLate: Bool,
    _ session: MirrorSession
  ) throws(ServerError) -> [Child] {
    let numbers = MirrorSession.filled(moves.keys.sorted().map(Value.integer))
    let marks = numbers.map { _ in "?" }.joined(separator: ", ")
    let names = link.serverKey.map { serverName($0) }.joined(separator: ", ")
    var found: [(key: [Value], move: Move)] = []
    try session.server.forEachRow(
      of: link.key.count + 1,
      "SELECT \(names), \(holder.column) FROM \(holder.table) "
        + "WHERE \(holder.column) IN (\(marks))",
      numbers, within: ServerConnection.mostHeld
    ) { row in
      guard let move = row.last?.integer.flatMap({ moves[$0] }) else { return }
      found.append((Array(row.dropLast()), move))
    }
    let keys = found.map { (try? MirrorSession.decode(key: $0.key, link)) ?? $0.key }
    let entries = try entries(keys, link, session)
    return try session.onSite { () throws(SQLiteError) in
      var children: [Child] = []
      for ((raw, move), key) in zip(found, keys) {
        let name = RowKey(link.number, key)
        let known = entries[name]
        if isLate {
          guard let first = known?.first, first <= move.at else { continue }
        }
        let isNew = known?.hasArrived ?? false
        if !isNew, let row = try site.row(link, key), row[place] == .integer(move.former) {
          continue
        }
        children.append(Child(key: raw, name: name, move: move, isNew: isNew))
      }
      return children
    }
  }

  private func write(
    _ children: [Child], _ holder: Holder, _ link: TableLink, _ place: Int,
    _ session: MirrorSession
  ) throws(ServerError) {
    guard !children.isEmpty else { return }
    try session.server.run(
      "UPDATE \(holder.table) SET \(holder.column) = ? WHERE \(MirrorSession.condition(link)) "
        + "AND \(holder.column) = ?",
      each: children.map { child in
        [.integer(child.move.next)] + child.key + [.integer(child.move.former)]
      })
    guard link.key.contains(place) else { return }
    try forget(children.filter(\.isNew).map(\.key), link, session)
  }

  private func put(_ move: Move, _ session: MirrorSession) throws(ServerError) {
    let (link, column) = (move.link, serverName(move.link.serverKey[0]))
    try session.server.execute("SET \(session.capture.former) = \(move.first)")
    let count = try session.server.run(
      "UPDATE \(link.server.sqlName) SET \(column) = ? WHERE \(column) = ?",
      [.integer(move.next), .integer(move.former)])
    // It is locked: nobody has taken it away in between.
    guard count == 1 else { throw ServerError.otherColumns }
  }

  /// No row of a program has these numbers any more: what the journals say of them would take the
  /// site's rows away.
  private func forgetFormer(
    _ moves: [Move], _ session: MirrorSession
  ) throws(ServerError) {
    for (_, some) in Dictionary(grouping: moves, by: \.link.number) {
      try forget(some.map { [.integer($0.former)] }, some[0].link, session)
    }
  }

  private func forget(
    _ keys: [[Value]], _ link: TableLink, _ session: MirrorSession
  ) throws(ServerError) {
    let decoded = keys.map { (try? MirrorSession.decode(key: $0, link)) ?? $0 }
    let ids = try entries(decoded, link, session).values.flatMap(\.ids)
    try session.forget(ids.sorted(), in: link.number)
  }

  /// What the journal of a table tells of rows.
  private func entries(
    _ keys: [[Value]], _ link: TableLink, _ session: MirrorSession
  ) throws(ServerError) -> [RowKey: Entries] {
    guard !keys.isEmpty else { return [:] }
    let names = Capture.keyNames(link)
    var found: [RowKey: Entries] = [:]
    try session.forEach(
      of: keys, link, in: (session.capture.journal(link.number), names), 4 + names.count,
      """
      t.id, IF(\(Capture.isArrival), 1, 0), \
      IF(own IS NULL, CAST(UNIX_TIMESTAMP(at) * 1000000 AS SIGNED), NULL), former, \
      \(names.map { "t.\($0)" }.joined(separator: ", "))
      """, " ORDER BY t.id"
    ) { row in
      guard let key = try? MirrorSession.decode(key: Array(row[4...]), link) else { return }
      let name = RowKey(link.number, key)
      var one = found[name] ?? Entries(hasArrived: row[1].integer == 1)
      one.ids.append(row[0].integer ?? 0)
      if let at = row[2].integer { (one.first, one.last) = (one.first ?? at, at) }
      one.former = row[3].integer ?? one.former
      found[name] = one
    }
    return found
  }
}
