import Flotilla
import FoundationEssentials
import SQLite

/// All rows of a table, and what is done about those that differ.
extension MirrorEngine {
  /// So many rows are looked at in one go.
  private static let part = 1_000
  /// So many rows of a table are taken away from the server at most.
  private static let mostTakenAway = 10_000

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
      session.unsure.remove(link.number)
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

  /// Sends and takes in what there is when it begins: with a thousand writers there is always more.
  private func drain(_ session: MirrorSession) async throws(MirrorError) {
    for _ in 0..<10_000 where !Task.isCancelled {
      let page = try await changes(session, within: .zero)
      if page.reset { throw .again }
      try await send(page, session)
      let hasSent = session.cursor == page.cursor
      let hasTaken = try await takeIn(session)
      if hasSent, !page.more, !hasTaken || !session.hasMoreNews { return }
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
      try await renewIfDue(session)
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
  func renewIfDue(_ session: MirrorSession) async throws(MirrorError) {
    try await lookIfDue(session)
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
    var (differences, policy) = (0, policy)
    let surplus = try reading { () throws(SQLiteError) in try comparison.count(.serverOnly) }
    // So many rows the log would not keep.
    if surplus > Self.mostTakenAway { policy = .union }
    for finding in [Comparison.Finding.siteOnly, .differs, .serverOnly] {
      var last: [Value]?
      while !Task.isCancelled {
        let keys = try reading { () throws(SQLiteError) in
          try comparison.keys(finding, after: last, limit: min(session.reach, Self.part))
        }
        guard !keys.isEmpty else { break }
        try await drain(session)
        differences += try await settle(keys, comparison.link, policy, session)
        last = keys.last
        note(session)
        publish()
        try await renewIfDue(session)
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
          count += try await settle(rows.map(\.key), link, .union, session)
        }
        try await renewIfDue(session)
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
    session.unsure.subtract(numbers)
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
      try reading { () throws(SQLiteError) in try session.unnote(open) }
      let sending = try serving { () throws(ServerError) in try session.send(open) }
      guard case .blocked = sending else { return open.count }
      try await clearWay(session)
    }
    throw .again
  }

  /// Settles rows that differed, as they are by now. What only the server has is taken in, or taken
  /// away if the site stands; of two that differ the site's goes out. What is taken away or
  /// overwritten is kept in the conflict log.
  private func settle(
    _ keys: [[Value]], _ link: TableLink, _ policy: Policy, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    let there = try serving { () throws(ServerError) in try session.standing(keys, link) }
    session.adapt(
      to: there.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount } }, of: there.count)
    var (arriving, leaving): ([MirrorSession.News], [MirrorSession.News]) = ([], [])
    var outgoing: [[Value]] = []
    for key in keys {
      let here = try reading { () throws(SQLiteError) in try session.site.row(link, key) }
      guard let raw = there[RowKey(link.number, key)] else {
        if here != nil { outgoing.append(key) }
        continue
      }
      let one = MirrorSession.News(
        link: link, key: key, row: MirrorSession.result(raw, link), ids: [], at: nil)
      if here == nil, policy == .union { arriving.append(one) } else { leaving.append(one) }
    }
    var count = 0
    if !arriving.isEmpty {
      let taking = try await take(arriving, session, refuses: false)
      count = taking.count
      session.late += taking.waiting.map { ($0.link, $0.key) }
      session.taken += taking.count
      try know(taking, session)
      try finishUnion(taking, session)
    }
    outgoing += try reading { () throws(SQLiteError) in
      try session.overrule(leaving, at: Self.now)
    }
    try holdUnfit(leaving, session)
    if !outgoing.isEmpty { count += try await sendFresh(outgoing, link, session) }
    return count
  }

  /// What the server has of a row, and SQLite cannot hold, stays there beside what the site has.
  private func holdUnfit(
    _ news: [MirrorSession.News], _ session: MirrorSession
  ) throws(MirrorError) {
    var unfit: [(row: MirroredRow, reason: String)] = []
    for one in news {
      let row = MirroredRow(one.link, key: one.key, row: nil)
      guard case .failure(let objection) = one.row, session.held.entries[.init(row)] == nil
      else { continue }
      unfit.append((row, objection.reason))
    }
    guard !unfit.isEmpty else { return }
    _ = try serving { () throws(ServerError) in try session.send([], holding: unfit) }
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
