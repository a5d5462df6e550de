import Flotilla
import SQLite

/// From the server to the replica.
extension MirrorSession {
  /// A change of the replica that has not gone out.
  struct Pending {
    /// In ms since 1970, by the time of the site.
    var stamp: Int64?
    /// Whether the feed names it, so that it goes out by itself if it stands.
    var isTold = true
  }

  /// So many entries are taken in one transaction.
  static let mostTaken = 2_000

  /// What taking in came to.
  struct Taking {
    /// Rows that the server is to have as the site has them.
    var corrections: [MirroredRow] = []
    var holding: [(row: MirroredRow, reason: String)] = []
    /// Rows that both sides hold now.
    var agreed: [MirroredRow] = []
    /// Rows that triggers of the site have made others of, as those are: they go out, but nobody
    /// has edited them.
    var altered: [MirroredRow] = []
    var entries: [Int: [Int64]] = [:]
    /// Rows that the site does not take as it is now, and what names them in the journals.
    var waiting: [News] = []
    var count = 0
    /// Whether rows of the server were given other numbers: what was read is not so any more.
    var hasMoved = false

    /// Every row has just been changed by somebody else, or waits.
    var isNothing: Bool {
      entries.isEmpty && agreed.isEmpty && corrections.isEmpty && holding.isEmpty && count == 0
    }
  }

  /// Rows as the site has them now.
  func standing(_ concerned: Concerned) throws(SQLiteError) -> [RowKey: [Value]] {
    var standing: [RowKey: [Value]] = [:]
    for name in concerned.all {
      guard let link = byNumber[name.number], let key = StoredKey.decode(name.bytes) else {
        continue
      }
      standing[name] = try site.row(link, key)
    }
    return standing
  }

  /// Makes edits of what the server's programs have done, in one transaction. A row that is another
  /// one than it was `before` the feed was read is left for the next time: `pending` may lack it.
  ///
  /// What the site refuses waits, or, if it `refuses`, is to be put right on the server.
  func take(
    _ news: [News], of concerned: Concerned, beside pending: [RowKey: Pending],
    before: [RowKey: [Value]], at now: Int64, refuses: Bool
  ) throws(SQLiteError) -> Taking {
    barred = []
    while true {
      let known = barred.count
      do throws(SQLiteError) {
        return try take(
          news, of: concerned, beside: pending, before: before, at: now, refuses: refuses,
          oneByOne: false)
      } catch {
        // A trigger of the site has undone all of it: once more without that row.
        guard barred.count > known else { throw error }
      }
    }
  }

  private func take(
    _ news: [News], of concerned: Concerned, beside pending: [RowKey: Pending],
    before: [RowKey: [Value]], at now: Int64, refuses: Bool, oneByOne: Bool
  ) throws(SQLiteError) -> Taking {
    let file = site.connection
    try file.run("BEGIN IMMEDIATE")
    defer { file.rollBack() }
    var taking = Taking()
    let touched = try touched(news, of: concerned, before: before)
    let untouched = news.filter { !touched.contains($0.name) }
    let (unchanged, open, later) = try sort(
      untouched, beside: pending, before: before, at: now, into: &taking)
    let left = try apply(open, into: &taking, oneByOne: oneByOne)
    let refused = try exchange(left, into: &taking, oneByOne: oneByOne)
    // References that are checked at the end of a transaction: one by one it is seen which.
    if file.hasOpenReferences, !oneByOne {
      file.rollBack()
      return try take(
        news, of: concerned, beside: pending, before: before, at: now, refuses: refuses,
        oneByOne: true)
    }
    let isRefused = Set(refused.map(\.name))
    for one in unchanged where !isRefused.contains(one.name) { try noteMoved(one, at: now) }
    for (row, standing) in later where !isRefused.contains(row.name) {
      try leave(standing, to: row, at: now)
    }
    if refuses { try correct(refused, into: &taking, at: now) }
    let names = refuses ? [] : isRefused
    for one in unchanged {
      if names.contains(one.name) {
        taking.waiting.append(one)
      } else if !one.ids.isEmpty {
        taking.entries[one.link.number, default: []] += one.ids
      }
    }
    guard !taking.isNothing else { return taking }
    if !taking.entries.isEmpty {
      try site.note(SiteFile.Taken(number: number, entries: taking.entries), by: holder)
    }
    for row in taking.agreed + taking.altered { try site.note(known: row, by: holder) }
    try file.run("COMMIT")
    countEchoes(taking.altered, of: unchanged)
    return taking
  }

  /// How often a row that went out came back as triggers of the server made it, and triggers of the
  /// site made another one of that.
  struct Echo {
    var count = 0
    var last = ContinuousClock.now
  }

  /// So often it goes round.
  private static let mostEchoes = 3
  /// After that time it is another matter.
  private static let echoTime = Duration.seconds(10)

  private func isEcho(_ name: RowKey) -> Bool {
    echoes[name].map { $0.count >= Self.mostEchoes && .now - $0.last < Self.echoTime } ?? false
  }

  private func countEchoes(_ altered: [MirroredRow], of news: [News]) {
    echoes = echoes.filter { .now - $0.value.last < Self.echoTime }
    guard !altered.isEmpty else { return }
    // What a program of the server has made comes from there, and goes back once.
    let made = Set(news.filter { $0.at == nil && !$0.ids.isEmpty }.map(\.name))
    for row in altered where made.contains(row.name) {
      echoes[row.name] = Echo(count: (echoes[row.name]?.count ?? 0) + 1)
    }
  }

  /// Which news of rows that nobody has changed here in between are to be written, and which of
  /// those take the place of a change of the site.
  private func sort(
    _ news: [News], beside pending: [RowKey: Pending], before: [RowKey: [Value]], at now: Int64,
    into taking: inout Taking
  ) throws(SQLiteError) -> (
    unchanged: [News], open: [MirroredRow], later: [(row: MirroredRow, than: [Value]?)]
  ) {
    var open: [MirroredRow] = []
    var later: [(row: MirroredRow, than: [Value]?)] = []
    var unchanged: [News] = []
    for one in news {
      let standing = before[one.name]
      unchanged.append(one)
      let row: [Value]?
      switch one.row {
      case .failure(let objection):
        let name = MirroredRow(one.link, key: one.key, row: nil)
        taking.holding.append((name, objection.reason))
        continue
      case .success(let values): row = values
      }
      let mirrored = MirroredRow(one.link, key: one.key, row: row)
      if standing == row {
        taking.agreed.append(mirrored)
      } else if one.at == nil, !one.ids.isEmpty, isEcho(one.name) {
        taking.holding.append((mirrored, "triggers of both sides change what the other one made"))
      } else if let other = pending[one.name], standing != nil || !isOther(one) {
        // The other row of this number is gone by itself.
        if row == nil, isOther(one) {
          if other.isTold { continue }
          taking.corrections.append(MirroredRow(one.link, key: one.key, row: standing))
          continue
        }
        guard one.at.map({ $0 &+ clockAhead >= other.stamp ?? .min }) ?? false else {
          try note(mirrored, isLoser: true, beside: standing, at: now)
          if !other.isTold {
            taking.corrections.append(MirroredRow(one.link, key: one.key, row: standing))
          }
          continue
        }
        later.append((mirrored, standing))
        open.append(mirrored)
      } else {
        try noteHeld(mirrored, over: standing, at: now)
        open.append(mirrored)
      }
    }
    return (unchanged, open, later)
  }

  /// Whether a row of the server is another one than what the site has, or had, of this number. It
  /// came where none was, and what has not gone out from here never was there.
  private func isOther(_ one: News) -> Bool {
    one.hasArrived && keys.numbered[one.link.number] != nil
  }

  /// What the mirror has given another number because of a row of the site, which stands under the
  /// former one.
  private func noteMoved(_ one: News, at now: Int64) throws(SQLiteError) {
    guard let former = one.former, case .success(let values?) = one.row else { return }
    let key: [Value] = [.integer(former)]
    try losers.noteRekeyed(
      one.link.site.name, keyCount: key.count,
      lost: MirroredRow.named(one.link, key: key, row: values),
      stands: try site.row(one.link, key).map { MirroredRow.named(one.link, key: key, row: $0) },
      next: one.key, rows: keys.followers(of: one.name), at: now, on: site.connection)
  }

  /// What the site has of a held row, or is not to have, is in the conflict log before it is
  /// overwritten.
  private func noteHeld(
    _ row: MirroredRow, over standing: [Value]?, at now: Int64
  ) throws(SQLiteError) {
    guard let standing,
      keepsOwn || held.entries[HeldRows.Name(row)] != nil
    else { return }
    try losers.note(
      row.link.site.name, keyCount: row.key.count,
      lost: MirroredRow.named(row.link, key: row.key, row: standing), isDelete: false,
      isOwn: false,
      stands: row.row.map { MirroredRow.named(row.link, key: row.key, row: $0) }, .unseen,
      at: now, on: site.connection)
  }

  /// The server's row has taken the place of a change of the site that the server had not got. If
  /// another node made that change the two meet by the table's rule, as edits of two machines, and
  /// its author is told. One of this node is kept in its log.
  private func leave(
    _ standing: [Value]?, to row: MirroredRow, at now: Int64
  ) throws(SQLiteError) {
    let here = standing.map { MirroredRow.named(row.link, key: row.key, row: $0) }
    let isLeft = try losers.leaveToMerging(
      row.link.site.name, key: row.key, over: here, on: site.connection)
    if !isLeft { try note(row, isLoser: false, beside: standing, at: now) }
  }

  /// Both sides have changed the row without having seen the other's: the later one stands, the
  /// other is kept in the conflict log. The row is the server's.
  private func note(
    _ row: MirroredRow, isLoser: Bool, beside standing: [Value]?, at now: Int64
  ) throws(SQLiteError) {
    let there = MirroredRow.named(row.link, key: row.key, row: row.row)
    let here = MirroredRow.named(row.link, key: row.key, row: standing)
    let (lost, stands) = isLoser ? (row.row, standing) : (standing, row.row)
    try losers.note(
      row.link.site.name, keyCount: row.key.count, lost: isLoser ? there : here,
      isDelete: lost == nil, isOwn: isLoser,
      stands: stands == nil ? nil : (isLoser ? here : there), .older, at: now,
      on: site.connection)
  }

  /// Writes rows, those that others are in the way of after those others; gives those that a
  /// constraint of the replica is in the way of.
  func apply(
    _ rows: [MirroredRow], into taking: inout Taking, oneByOne: Bool
  ) throws(SQLiteError) -> [MirroredRow] {
    var open = rows.filter { $0.row != nil } + rows.filter { $0.row == nil }
    let leaving = Set(open.filter { $0.row == nil }.map(\.name))
    while !open.isEmpty {
      var refused: [MirroredRow] = []
      for row in open {
        switch try fit(row, beside: leaving, oneByOne: oneByOne) {
        case .whole: taking.agreed.append(row)
        case .altered(let values):
          taking.altered.append(MirroredRow(row.link, key: row.key, row: values))
        case .refused:
          refused.append(row)
          continue
        }
        taking.count += 1
      }
      guard refused.count < open.count else { break }
      // The other way round, for a chain of rows that refer to the next.
      open = refused.reversed()
    }
    return open
  }

  static let refusal = "the site refuses it: a constraint is in the way"

  private func correct(
    _ rows: [MirroredRow], into taking: inout Taking, at now: Int64
  ) throws(SQLiteError) {
    // The parent may be one that SQLite cannot hold: then its children stay on the server, too.
    guard taking.holding.isEmpty, !held.entries.values.contains(where: { $0.direction == .inward })
    else {
      taking.holding += rows.map { (MirroredRow($0.link, key: $0.key, row: nil), Self.refusal) }
      return
    }
    for row in rows {
      let standing = try site.row(row.link, row.key)
      try losers.note(
        row.link.site.name, keyCount: row.key.count,
        lost: MirroredRow.named(row.link, key: row.key, row: row.row), isDelete: row.row == nil,
        isOwn: true,
        stands: standing.map { MirroredRow.named(row.link, key: row.key, row: $0) }, .refused,
        at: now, on: site.connection)
      taking.corrections.append(MirroredRow(row.link, key: row.key, row: standing))
    }
  }

  private enum Fit {
    case whole
    /// Triggers of the site have made another row of it, which goes out as its own change.
    case altered([Value]?)
    /// Nothing was done.
    case refused
  }

  /// Writes a row beside others that are `leaving`. The site's own ON DELETE is not to take along
  /// what the server has not deleted: as by a foreign key without one, the row stays.
  private func fit(
    _ row: MirroredRow, beside leaving: Set<RowKey>, oneByOne: Bool
  ) throws(SQLiteError) -> Fit {
    guard !barred.contains(row.name) else { return .refused }
    let standing = try site.row(row.link, row.key)
    if row.row == nil, standing != nil, try site.takesAlong(row, but: leaving, links) {
      return .refused
    }
    do throws(SQLiteError) {
      if oneByOne {
        guard try writeAlone(row, over: standing) else { return .refused }
      } else {
        try site.write(row, over: standing)
      }
    } catch {
      // Whatever SQLite has against one row is no reason for the others to wait.
      guard error.isOfRow else { throw error }
      if site.connection.isAutocommit {
        barred.insert(row.name)
        throw error
      }
      return .refused
    }
    let now = try site.row(row.link, row.key)
    if now == row.row { return .whole }
    return now == standing ? .refused : .altered(now)
  }

  /// False if references lead nowhere afterwards.
  private func writeAlone(
    _ row: MirroredRow, over standing: [Value]?
  ) throws(SQLiteError) -> Bool {
    var failure: SQLiteError?
    let isDone = try? site.connection.attempt {
      do throws(SQLiteError) {
        try site.write(row, over: standing)
      } catch {
        failure = error
        return false
      }
      return !site.connection.hasOpenReferences
    }
    if let failure { throw failure }
    return isDone ?? false
  }
}
