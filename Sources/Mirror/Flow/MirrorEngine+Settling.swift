import Flotilla
import FoundationEssentials
import SQLite

/// What is done about single rows that differed when all were compared.
extension MirrorEngine {
  /// Rows that are to be changed, and on which side.
  private struct Verdict {
    var arriving: [MirrorSession.News] = []
    /// Those of the site that get what only the server has a value for.
    var joined: [MirrorSession.News] = []
    var outgoing: [[Value]] = []
    /// What the server has of those, as far as that is a loss.
    var over: [RowKey: [Value]] = [:]
    var unfit: [(row: MirroredRow, reason: String)] = []
  }

  /// Sends the rows as they are here now; gives how many that were.
  func sendFresh(
    _ keys: [[Value]], _ link: TableLink, over there: [RowKey: [Value]] = [:],
    _ session: MirrorSession
  ) throws(MirrorError) -> Int {
    let rows = try reading { () throws(SQLiteError) in
      try keys.map { key throws(SQLiteError) in
        MirroredRow(link, key: key, row: try session.site.row(link, key))
      }
    }
    // What the site did not take, and does not have, is left there.
    let open = rows.filter {
      $0.row != nil || session.held.entries[HeldRows.Name($0)]?.direction != .inward
    }
    try reading { () throws(SQLiteError) in try session.unnote(open) }
    return try serving { () throws(ServerError) in try session.send(open, over: there) }
  }

  /// Settles rows that differed, as they are by now. What only the server has is taken in, or taken
  /// away if the site stands; of two that differ the site's goes out. What is taken away or
  /// overwritten is kept in the conflict log.
  ///
  /// A row that a journal or the feed names, or that is owed, differs no longer than until that is
  /// done. If the feed was cut it does not name the site's change, which is owed from then on.
  func settle(
    _ keys: [[Value]], _ link: TableLink, _ policy: Policy, isLogged: Bool = true,
    _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    let there = try serving { () throws(ServerError) in try session.standing(keys, link) }
    session.adapt(
      to: there.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount } }, of: there.count)
    let rows = try reading { () throws(SQLiteError) in
      try keys.map { key throws(SQLiteError) in
        MirroredRow(link, key: key, row: try session.site.row(link, key))
      }
    }
    let named = try serving { () throws(ServerError) in try session.changedThere(rows, link) }
    let pending = try await pending(among: Set(rows.map(\.name)), session)
    let moving = named.union(pending.keys)
    if session.unsure.contains(link.number) {
      let unnamed = rows.filter {
        named.contains($0.name) && pending[$0.name] == nil && session.debts[$0.name] == nil
      }
      try reading { () throws(SQLiteError) in try session.debts.owe(unnamed, MirrorSession.changed)
      }
    }
    // Where the site stands a debt is like any other row: what is overwritten goes to the log.
    let owed = policy == .siteStands ? [] : session.debts.names
    var gone: Set<RowKey> = []
    if policy == .reunion {
      let absent = rows.filter { $0.row == nil }
      let isGone = try await deleted(absent.map(\.key), link)
      gone = Set(zip(absent, isGone).filter(\.1).map(\.0.name))
    }
    // Who brings those does not know that the two never met.
    session.meeting.leave(there.keys.filter { moving.contains($0) || owed.contains($0) })
    let verdict = judge(
      rows.filter { !moving.contains($0.name) && !owed.contains($0.name) }, there, gone: gone,
      policy, isLogged: isLogged, session)
    var count = try await bring(verdict.arriving, keepsOwn: isLogged, session)
    // What else of them is to go out counts as that.
    let open = Set(verdict.outgoing.map { RowKey(link.number, $0) })
    count += try await bring(verdict.joined, keepsOwn: false, leaving: open, session)
    try hold(verdict.unfit, session)
    guard !verdict.outgoing.isEmpty else { return count }
    return try count + sendFresh(verdict.outgoing, link, over: verdict.over, session)
  }

  /// What is to be done about rows of one table, of which the server has those that are `there`,
  /// and that the site has had if they are `gone`.
  private func judge(
    _ rows: [MirroredRow], _ there: [RowKey: [Value]], gone: Set<RowKey>, _ policy: Policy,
    isLogged: Bool, _ session: MirrorSession
  ) -> Verdict {
    var verdict = Verdict()
    for row in rows {
      guard let raw = there[row.name] else {
        if row.row != nil { verdict.outgoing.append(row.key) }
        continue
      }
      let result = MirrorSession.result(raw, row.link)
      func news(_ row: MirroredRow, _ values: Result<[Value]?, ColumnForm.Objection>)
        -> MirrorSession.News
      {
        MirrorSession.News(link: row.link, key: row.key, row: values, ids: [], at: nil)
      }
      let hold = session.held.entries[HeldRows.Name(row)]
      // The server may refuse what the site has deleted.
      let isNew =
        row.row == nil && policy != .siteStands && !gone.contains(row.name)
        && hold?.direction != .outward
      let new = session.new[row.link.number]
      let values = (try? result.get()) ?? nil
      let isOne = values.flatMap { values in
        row.row.flatMap { new?.areOne($0, new?.note(of: values) ?? "") }
      }
      if isNew || policy == .serverStands, isOne != true {
        verdict.arriving.append(news(row, result))
        continue
      }
      switch result {
      case .success(let values):
        guard values != row.row else { continue }
        let joined = row.row.flatMap { here in values.flatMap { new?.join(here, $0) } } ?? row.row
        if joined != row.row { verdict.joined.append(news(row, .success(joined))) }
        guard joined != values else { continue }
        verdict.outgoing.append(row.key)
        if hold == nil, isLogged, isOne != true { verdict.over[row.name] = values }
      case .failure(let objection):
        // What SQLite cannot hold stays there beside what the site has.
        if hold == nil {
          verdict.unfit.append((MirroredRow(row.link, key: row.key, row: nil), objection.reason))
        }
      }
    }
    return verdict
  }

  /// Makes rows of the site what they are to be; gives how many. The server has yet to get more of
  /// those that are `leaving`: they are not counted.
  private func bring(
    _ news: [MirrorSession.News], keepsOwn: Bool, leaving: Set<RowKey> = [],
    _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    guard !news.isEmpty else { return 0 }
    session.keepsOwn = keepsOwn
    defer { session.keepsOwn = false }
    var taking = try await take(news, session, refuses: false)
    taking.altered += taking.agreed.filter { leaving.contains($0.name) }
    taking.agreed.removeAll { leaving.contains($0.name) }
    let room = max(0, HeldRows.most - session.late.count)
    session.late += taking.waiting.prefix(room).map { ($0.link, $0.key) }
    session.taken += taking.count
    try know(taking, session)
    try finishUnion(taking, session)
    return taking.count - taking.altered.count { leaving.contains($0.name) }
  }

  /// Of each key, whether the site has had such a row, and has deleted it.
  func deleted(_ keys: [[Value]], _ link: TableLink) async throws(MirrorError) -> [Bool] {
    guard !keys.isEmpty else { return [] }
    do throws(FlotillaError) {
      return try await replica.areDeleted(keys, from: link.site.name)
    } catch {
      throw .node(error)
    }
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
