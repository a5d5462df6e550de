import Flotilla
import FoundationEssentials
import SQLite

/// All rows of a table, and what is done about those that differ.
extension MirrorEngine {
  /// So many rows are looked at in one go.
  private static let part = 1_000

  func compare(
    _ policies: [Int: Policy], _ session: MirrorSession
  ) async throws(MirrorError) {
    guard !policies.isEmpty || session.byNumber.isEmpty else { return }
    enter(.comparing)
    state.progress = 0
    var differences = 0
    publish(now: true)
    session.late = []
    for link in session.capture.links {
      guard let policy = policies[link.number] else { continue }
      let found = try await compare(link, policy, session)
      // What a table is filled with differs from nothing.
      if state.compared != nil { differences += found }
      guard !session.late.contains(where: { $0.link.number == link.number }) else { continue }
      try serving { () throws(ServerError) in
        try session.ledger.mark([link.number], isStale: false)
      }
    }
    let late = try await settleLate(session)
    if state.compared != nil { differences += late }
    try await drain(session)
    // Where the feed goes on is known there now.
    _ = try serving { () throws(ServerError) in try session.send([], cursor: session.cursor) }
    if policies.count == session.byNumber.count {
      (state.comparison, state.compared) = (settings.comparisons, Self.now)
      (state.rowsCompared, state.differences) = (state.progress, differences + carried)
      carried = 0
    } else {
      carried += differences
    }
    note(session)
    publish(now: true)
    if differences > 0 {
      log("the mirror compared \(state.progress) rows: \(differences) differed")
    }
  }

  /// Goes on until nothing is left to be sent or taken in.
  private func drain(_ session: MirrorSession) async throws(MirrorError) {
    for _ in 0..<10_000 where !Task.isCancelled {
      let page = try await changes(session, within: .zero)
      if page.reset { throw .again }
      let before = session.cursor
      try await send(page, session)
      let hasTaken = try await takeIn(session)
      if !hasTaken, !page.more, session.cursor == before || page.rows.isEmpty { return }
    }
  }

  private func compare(
    _ link: TableLink, _ policy: Policy, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    let comparison = try reading { () throws(SQLiteError) in
      try Comparison(link, folder: replica.folder)
    }
    try comparison.readServer(session.server)
    let before = session.held.entries.filter { $0.key.number == link.number }
    var last: [Value]?
    var lacking = 0
    while !Task.isCancelled {
      let rows = try reading { () throws(SQLiteError) in
        try session.site.rows(link, after: last, limit: min(session.reach, Self.part))
      }
      session.adapt(
        to: rows.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount + 16 } }, of: rows.count)
      guard !rows.isEmpty else { break }
      if comparison.serverRows == 0 {
        // There is nothing to compare with: each goes out.
        lacking += try await sendFresh(rows.map { link.key(of: $0) }, link, session)
        last = rows.last.map { link.key(of: $0) }
      } else {
        last = try reading { () throws(SQLiteError) in try comparison.compare(rows) }
      }
      state.progress += rows.count
      note(session)
      publish()
      try renewIfDue(session)
    }
    if Task.isCancelled { throw .again }
    let count = try await lacking + settle(comparison, policy, session)
    if comparison.serverRows > 0 { try release(before, but: comparison, session) }
    return count
  }

  /// What was held before all rows were compared, and is equal now.
  private func release(
    _ before: [HeldRows.Name: HeldRows.Entry], but comparison: Comparison,
    _ session: MirrorSession
  ) throws(MirrorError) {
    guard !before.isEmpty else { return }
    var differing = Set(
      comparison.misfits.map {
        HeldRows.Name(MirroredRow(comparison.link, key: [.string($0.key)], row: nil))
      })
    for finding in [Comparison.Finding.siteOnly, .differs, .serverOnly] {
      var last: [Value]?
      while true {
        let keys = try reading { () throws(SQLiteError) in
          try comparison.keys(finding, after: last, limit: Self.part)
        }
        guard !keys.isEmpty else { break }
        for key in keys {
          differing.insert(HeldRows.Name(MirroredRow(comparison.link, key: key, row: nil)))
        }
        last = keys.last
      }
    }
    let free = before.filter { name, entry in
      !differing.contains(name) && session.held.entries[name]?.at == entry.at
    }.map(\.key)
    _ = try serving { () throws(ServerError) in try session.send([], agreeing: free) }
  }

  /// Keeps the place; an error if somebody else has it.
  func renewIfDue(_ session: MirrorSession) throws(MirrorError) {
    guard ContinuousClock.now - session.lastWord > .seconds(4) else { return }
    let isOurs = try serving { () throws(ServerError) in
      try session.ledger.renew(cursor: session.cursor, life: session.life)
    }
    guard isOurs else { throw .stopped("another process or node has taken the mirror over") }
    session.lastWord = .now
    try reading { () throws(SQLiteError) in try session.letGo() }
  }

  private func settle(
    _ comparison: Comparison, _ policy: Policy, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    var differences = 0
    for finding in [Comparison.Finding.siteOnly, .differs, .serverOnly] {
      var last: [Value]?
      while !Task.isCancelled {
        let keys = try reading { () throws(SQLiteError) in
          try comparison.keys(finding, after: last, limit: min(session.reach, Self.part))
        }
        guard !keys.isEmpty else { break }
        try await drain(session)
        switch (finding, policy) {
        case (.siteOnly, _), (_, .siteStands):
          differences += try await sendFresh(keys, comparison.link, session)
        default: differences += try await unite(keys, comparison.link, session)
        }
        last = keys.last
        note(session)
        publish()
        try renewIfDue(session)
      }
    }
    for misfit in comparison.misfits {
      let row = MirroredRow(comparison.link, key: [.string(misfit.key)], row: nil)
      _ = try serving { () throws(ServerError) in
        try session.send([], holding: [(row, misfit.reason)])
      }
    }
    return differences
  }

  /// Rows of the server that the site refused wait for those of other tables. What it refuses then,
  /// too, is held: a comparison takes nothing from the server.
  private func settleLate(_ session: MirrorSession) async throws(MirrorError) -> Int {
    var (count, open) = (0, session.late)
    let numbers = Set(open.map(\.link.number))
    while !open.isEmpty {
      session.late = []
      for start in stride(from: 0, to: open.count, by: Self.part) {
        let part = open[start..<min(start + Self.part, open.count)]
        for (_, rows) in Dictionary(grouping: part, by: \.link.number) {
          guard let link = rows.first?.link else { continue }
          count += try await unite(rows.map(\.key), link, session)
        }
        try renewIfDue(session)
      }
      guard session.late.count < open.count else { break }
      open = session.late
    }
    for (link, key) in session.late {
      let row = MirroredRow(link, key: key, row: nil)
      _ = try serving { () throws(ServerError) in
        try session.send([], holding: [(row, MirrorSession.refusal)])
      }
    }
    session.late = []
    try serving { () throws(ServerError) in
      try session.ledger.mark(numbers.sorted(), isStale: false)
    }
    return count
  }

  /// Sends the rows as they are here now; gives how many that were.
  private func sendFresh(
    _ keys: [[Value]], _ link: TableLink, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    for _ in 0..<100 {
      let rows = try reading { () throws(SQLiteError) in
        try keys.map { key throws(SQLiteError) in
          MirroredRow(link, key: key, row: try session.site.row(link, key))
        }
      }
      let heldIn = rows.filter {
        session.held.entries[HeldRows.Name($0)]?.direction == .inward && $0.row == nil
      }
      let names = Set(heldIn.map(\.name))
      let open = rows.filter { !names.contains($0.name) }
      try keepHeld(open, session)
      let sending = try serving { () throws(ServerError) in try session.send(open) }
      guard case .blocked = sending else { return open.count }
      _ = try await takeIn(session)
    }
    throw .again
  }

  /// Takes in rows that only the server has. Of two that differ the site's goes out, and the other
  /// is kept in the conflict log.
  private func unite(
    _ keys: [[Value]], _ link: TableLink, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    let there = try serving { () throws(ServerError) in try session.standing(keys, link) }
    session.adapt(
      to: there.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount } }, of: there.count)
    var (arriving, leaving): ([MirrorSession.News], [MirrorSession.News]) = ([], [])
    for key in keys {
      guard let raw = there[RowKey(link.number, key)] else { continue }
      let one = MirrorSession.News(
        link: link, key: key, row: MirrorSession.result(raw, link), ids: [], at: nil)
      let here = try reading { () throws(SQLiteError) in try session.site.row(link, key) }
      if here == nil { arriving.append(one) } else { leaving.append(one) }
    }
    var count = 0
    if !arriving.isEmpty {
      let taking = try await take(arriving, session, refuses: false)
      count = taking.count
      session.late += taking.waiting.map { ($0.link, $0.key) }
      session.taken += taking.count
      for row in taking.agreed { session.know(row) }
      try finishUnion(taking, session)
    }
    let outgoing = try reading { () throws(SQLiteError) in
      try session.overrule(leaving, at: Self.now)
    }
    if !outgoing.isEmpty { count += try await sendFresh(outgoing, link, session) }
    return count
  }

  private func finishUnion(
    _ taking: MirrorSession.Taking, _ session: MirrorSession
  ) throws(MirrorError) {
    let isQuiet = taking.holding.isEmpty && session.held.entries.isEmpty
    guard !isQuiet else { return }
    _ = try serving { () throws(ServerError) in
      try session.send([], holding: taking.holding, agreeing: session.held(among: taking.agreed))
    }
  }
}

extension MirrorSession {
  /// Keeps in the conflict log what the server has and the site has otherwise; gives the keys of
  /// those rows.
  func overrule(_ news: [News], at now: Int64) throws(SQLiteError) -> [[Value]] {
    guard !news.isEmpty else { return [] }
    return try site.connection.transaction { () throws(SQLiteError) in
      var keys: [[Value]] = []
      for one in news {
        let standing = try site.row(one.link, one.key)
        // What SQLite cannot hold, and what the server does not take, is left as it is.
        guard case .success(let values) = one.row, values != standing else { continue }
        let name = HeldRows.Name(MirroredRow(one.link, key: one.key, row: nil))
        if held.entries[name] == nil {
          try losers.note(
            one.link.site.name, keyCount: one.key.count,
            lost: MirroredRow.named(one.link, key: one.key, row: values),
            isDelete: values == nil, isOwn: true,
            stands: standing.map { MirroredRow.named(one.link, key: one.key, row: $0) }, .unseen,
            at: now, on: site.connection)
        }
        keys.append(one.key)
      }
      return keys
    }
  }
}
