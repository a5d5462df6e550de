import Flotilla
import FoundationEssentials
import SQLite

/// One turn: what has changed here goes out, what has changed there comes in.
extension MirrorEngine {
  /// What is done about rows that differ when all are compared.
  enum Policy {
    /// A row that only one side has is put into the other. Of two that differ the site's stands,
    /// the server's is kept in the conflict log.
    case union
    /// As `union`, of a table that was equal once: what the site has deleted since goes there, too.
    case reunion
    /// The server is made what the site is: what its programs did is in the journals.
    case siteStands
    /// As `union`, but of two rows that differ the server's stands.
    case serverStands

    /// Whether both sides may have what the other one lacks.
    var isUnion: Bool { self == .union || self == .reunion }
  }

  static let cutFeed = "the change feed does not go back so far"

  /// The next page of the feed. If it is `isExact` it tells of all that was committed before.
  func changes(
    _ session: MirrorSession, within limit: Duration, isExact: Bool = true
  ) async throws(MirrorError) -> ChangedKeys {
    session.turn += 1
    return try await changes(session, within: limit, from: session.cursor, isExact: isExact)
  }

  func changes(
    _ session: MirrorSession, within limit: Duration, from cursor: String?, isExact: Bool = true
  ) async throws(MirrorError) -> ChangedKeys {
    do throws(FlotillaError) {
      return try await replica.changedKeys(
        since: cursor, tables: session.capture.links.map(\.site.name), isExact: isExact,
        within: limit)
    } catch {
      // A table that the site does not replicate any more: look at everything again.
      if error.code == .table { throw .again(error.message) }
      throw .node(error)
    }
  }

  /// Sends a page of the feed. What cannot go out at present is owed from then on.
  func send(_ page: ChangedKeys, _ session: MirrorSession) throws(MirrorError) {
    // The feed has told of all that was taken before it was read.
    defer { if !page.more, session.cursor == page.cursor { session.passed = session.turn - 1 } }
    guard page.cursor != session.cursor else { return }
    let keys = Self.keys(of: page, session)
    try makeWay(for: keys, session)
    if session.keys.open.isEmpty,
      let rows = try reading({ () throws(SQLiteError) in try session.freshRows(keys) }),
      try serving({ () throws(ServerError) in try session.send(rows, cursor: page.cursor) })
    {
      return
    }
    var (start, hasSent) = (0, false)
    repeat {
      let (all, end) = try reading { () throws(SQLiteError) in
        try session.openRows(keys, from: start)
      }
      let open = try free(of: all, session)
      start = end
      guard !open.isEmpty || hasSent else { continue }
      try reading { () throws(SQLiteError) in try session.unnote(open) }
      try serving { () throws(ServerError) in
        try session.send(open, cursor: end == keys.count ? page.cursor : nil)
      }
      hasSent = true
    } while start < keys.count
    // Nothing but echoes: the server hears of the new place with the next rows.
    session.cursor = page.cursor
  }

  /// Sends what is owed, as far as that goes by now.
  func pay(_ session: MirrorSession) throws(MirrorError) {
    let places = session.debts.due(MirrorSession.mostTaken, but: session.isResting)
    guard !places.isEmpty else { return }
    let before = session.debts.count
    try makeWay(for: places, session)
    let (all, end) = try reading { () throws(SQLiteError) in
      try session.openRows(places, from: 0)
    }
    let open = try free(of: all, session)
    try reading { () throws(SQLiteError) in
      // What came from there meanwhile need not go there.
      let names = Set(all.map(\.name))
      let known = places[..<end].map { RowKey($0.link.number, $0.key) }
      try session.debts.settle(known.filter { !names.contains($0) })
      try session.unnote(open)
    }
    try serving { () throws(ServerError) in try session.send(open) }
    session.debts.paid(before - session.debts.count)
  }

  /// The rows of a page that are mirrored.
  private static func keys(of page: ChangedKeys, _ session: MirrorSession) -> [RowPlace] {
    // Of each table the places of our key's values among those that the feed tells.
    let tables = page.tables.map { table -> (link: TableLink, places: [Int])? in
      guard let link = session.links[table.name.lowercased()],
        !session.unmet.contains(link.number)
      else { return nil }
      let names = table.columns.map { $0.lowercased() }
      let places = link.key.compactMap { names.firstIndex(of: link.columns[$0].name.lowercased()) }
      return places.count == link.key.count ? (link, places) : nil
    }
    return page.rows.compactMap { row in
      guard tables.indices.contains(row.table), let (link, places) = tables[row.table],
        places.allSatisfy({ $0 < row.key.count })
      else { return nil }
      // Most keys are as the feed tells them.
      let isAsTold = places.indices.allSatisfy { place in
        places[place] == place && link.affinity(ofKey: place).keeps(row.key[place])
      }
      if isAsTold, places.count == row.key.count {
        return RowPlace(link: link, key: row.key, stamp: row.stamp)
      }
      let key = places.indices.map { place in
        let value = row.key[places[place]]
        return link.affinity(ofKey: place).stored(value) ?? value
      }
      return RowPlace(link: link, key: key, stamp: row.stamp)
    }
  }

  /// So many entries may wait for others.
  private static let mostWaiting = 20_000

  /// Takes in a part of what the journals hold; false if they are empty, or hold only what somebody
  /// is changing here.
  func takeIn(
    _ session: MirrorSession, isUrgent: Bool = false
  ) async throws(MirrorError) -> Bool {
    session.hasMoreNews = false
    guard isUrgent || session.known.count < MirrorSession.mostKnown else { return false }
    // Who has lost the place by its silence must not make edits of what another one takes, too.
    try await renewIfDue(session)
    guard try serving({ () throws(ServerError) in try session.hasNews() }) else {
      state.takesIn = false
      return false
    }
    let (news, isAll) = try serving { () throws(ServerError) in try session.news() }
    (session.hasMoreNews, state.takesIn) = (!isAll, !isAll)
    if !news.isEmpty, try await take(in: news, session, refuses: false) { return true }
    // What somebody is changing here may be the parent of what waits.
    let count = session.waiting.values.reduce(0) { $0 + $1.count }
    guard session.keys.open.isEmpty, isAll && news.isEmpty || count > Self.mostWaiting else {
      return false
    }
    return try await takeWaiting(session)
  }

  /// Tries again what the site has refused, as long as some of it fits now. The rest is put right
  /// on the server, and in the conflict log.
  private func takeWaiting(_ session: MirrorSession) async throws(MirrorError) -> Bool {
    guard !session.waiting.isEmpty else { return false }
    var hasTaken = false
    for refuses in [false, true] {
      var isFruitful = true
      while isFruitful, !session.waiting.isEmpty {
        isFruitful = false
        let entries = session.waiting
        session.waiting = [:]
        for link in session.capture.links {
          let ids = (entries[link.number] ?? []).sorted()
          for start in stride(from: 0, to: ids.count, by: MirrorSession.mostTaken) {
            var part = Array(ids[start..<min(start + MirrorSession.mostTaken, ids.count)])
            while !part.isEmpty {
              let news = try serving { () throws(ServerError) in
                try session.news(of: [link.number: part])
              }
              // Long rows are read in several goes.
              guard !news.isEmpty else { break }
              let read = Set(news.flatMap(\.ids))
              part.removeAll { read.contains($0) }
              let count = session.taken
              _ = try await take(in: news, session, refuses: refuses)
              isFruitful = isFruitful || session.taken > count
            }
          }
        }
        hasTaken = hasTaken || isFruitful || refuses
      }
    }
    return hasTaken
  }

  /// Takes news in and empties the journals of them; false if nothing came of it.
  private func take(
    in news: [MirrorSession.News], _ session: MirrorSession, refuses: Bool
  ) async throws(MirrorError) -> Bool {
    let taking = try await take(news, session, refuses: refuses)
    var isNew = false
    for one in taking.waiting {
      let known = session.waiting[one.link.number] ?? []
      isNew = isNew || !known.isSuperset(of: one.ids)
      session.waiting[one.link.number] = known.union(one.ids)
    }
    guard !taking.isNothing else { return isNew || taking.hasMoved }
    session.taken += taking.count
    try know(taking, session)
    try serving { () throws(ServerError) in
      try session.send(
        taking.corrections, forgetting: taking.entries, holding: taking.holding,
        agreeing: session.held(among: taking.agreed), isCorrection: true)
    }
    return true
  }

  /// What was taken stands in the file as known; what is to be put right there is so no more.
  func know(_ taking: MirrorSession.Taking, _ session: MirrorSession) throws(MirrorError) {
    for row in taking.agreed { session.know(row) }
    session.meeting.meet((taking.agreed + taking.altered).map(\.name))
    for row in taking.altered { session.know(row, isThere: false) }
    try reading { () throws(SQLiteError) in try session.unnote(taking.corrections) }
  }

  /// Makes edits of news. First the rows here are read, then what of them has not gone out; a row
  /// that changes in between comes the next time.
  func take(
    _ news: [MirrorSession.News], _ session: MirrorSession, refuses: Bool
  ) async throws(MirrorError) -> MirrorSession.Taking {
    let concerned = session.concerned(by: news)
    let before = try reading { () throws(SQLiteError) in try session.standing(concerned) }
    let elders = session.elders(of: concerned, before: before)
    var pending = try await pending(
      among: Set(news.map(\.name) + elders.map(\.name)), session)
    try await addUnsure(to: &pending, news, before: before, session)
    let (open, hasMoved) = try serving { () throws(ServerError) in
      try session.makeWay(news, elders, beside: pending, before: before)
    }
    guard !hasMoved else { return MirrorSession.Taking(hasMoved: true) }
    return try reading { () throws(SQLiteError) in
      try session.take(
        open, of: concerned, beside: pending, before: before, at: Self.now, refuses: refuses)
    }
  }

  /// Of tables that are compared because the feed was cut, any row may have a change that has not
  /// gone out; and a row that is owed has one. It is as old as the newest edit of the row.
  private func addUnsure(
    to pending: inout [RowKey: MirrorSession.Pending], _ news: [MirrorSession.News],
    before: [RowKey: [Value]], _ session: MirrorSession
  ) async throws(MirrorError) {
    for link in session.capture.links {
      let isUnsure = session.unsure.contains(link.number)
      let open = news.filter { one in
        guard one.link.number == link.number, !one.ids.isEmpty, pending[one.name] == nil,
          isUnsure || session.debts[one.name] != nil
        else { return false }
        return !session.isAgreed(MirroredRow(link, key: one.key, row: before[one.name]))
      }
      guard !open.isEmpty else { continue }
      let stamps: [Int64?]
      do throws(FlotillaError) {
        stamps = try await replica.stamps(of: link.site.name, open.map(\.key))
      } catch {
        throw .node(error)
      }
      for (one, stamp) in zip(open, stamps) where stamp != nil || before[one.name] != nil {
        pending[one.name] = MirrorSession.Pending(
          stamp: stamp, isTold: session.debts[one.name] != nil)
      }
    }
  }

  /// Which of these rows have changes that have not gone out.
  func pending(
    among names: Set<RowKey>, _ session: MirrorSession
  ) async throws(MirrorError) -> [RowKey: MirrorSession.Pending] {
    var pending: [RowKey: MirrorSession.Pending] = [:]
    var place = session.cursor
    while true {
      let page = try await changes(session, within: .zero, from: place)
      if page.reset { throw .again(Self.cutFeed) }
      for row in Self.keys(of: page, session) {
        let name = RowKey(row.link.number, row.key)
        guard names.contains(name) else { continue }
        // An echo of what came from there is no change of ours.
        let values = try reading { () throws(SQLiteError) in
          try session.site.row(row.link, row.key)
        }
        if session.isAgreed(MirroredRow(row.link, key: row.key, row: values)) { continue }
        pending[name] = MirrorSession.Pending(stamp: row.stamp)
      }
      place = page.cursor
      guard page.more else { return pending }
    }
  }
}

/// A row of the site that the feed names.
struct RowPlace {
  let link: TableLink
  let key: [Value]
  /// Of the newest edit of it, in ms since 1970; nil if nobody knows.
  let stamp: Int64?
}
