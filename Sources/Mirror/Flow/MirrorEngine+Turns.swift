import Flotilla
import Foundation
import SQLite

/// One turn: what has changed here goes out, what has changed there comes in.
extension MirrorEngine {
  /// What is done about rows that differ when all are compared.
  enum Policy {
    /// A row that only one side has is put into the other. Of two that differ the site's stands,
    /// the server's is kept in the conflict log.
    case union
    /// The server is made what the site is: what its programs did is in the journals.
    case siteStands
  }

  func changes(
    _ session: MirrorSession, within limit: Duration
  ) async throws(MirrorError) -> OpenReplica.Changes {
    session.turn += 1
    return try await changes(session, within: limit, from: session.cursor)
  }

  func changes(
    _ session: MirrorSession, within limit: Duration, from cursor: String?
  ) async throws(MirrorError) -> OpenReplica.Changes {
    do throws(FlotillaError) {
      return try await replica.changedKeys(
        since: cursor, tables: session.capture.links.map(\.site.name), within: limit)
    } catch {
      // A table that the site does not replicate any more: look at everything again.
      if error.code == .table { throw .again }
      throw .node(error)
    }
  }

  /// Sends a page of the feed. What programs of the server have changed meanwhile is taken in
  /// first.
  func send(
    _ page: OpenReplica.Changes, _ session: MirrorSession
  ) async throws(MirrorError) {
    // The feed has told of all that was taken before it was read.
    defer { if !page.more, session.cursor == page.cursor { session.passed = session.turn - 1 } }
    guard page.cursor != session.cursor else { return }
    let told = try reading { () throws(SQLiteError) in try rows(of: page, session) }
    let open = told.filter { !session.isKnown($0) }
    guard !open.isEmpty else {
      // Nothing but echoes: the server hears of the new place with the next rows.
      session.cursor = page.cursor
      return
    }
    let sending = try serving { () throws(ServerError) in
      try session.send(open, cursor: page.cursor)
    }
    // Blocked: the place stays, and the page comes again after the journal was taken in.
    if case .blocked = sending { _ = try await takeIn(session) }
  }

  /// The rows of a page, each once, as they are here now: what the feed tells has gone through
  /// JSON, which knows less of numbers than SQLite does.
  private func rows(
    of page: OpenReplica.Changes, _ session: MirrorSession
  ) throws(SQLiteError) -> [MirroredRow] {
    var order: [RowKey] = []
    var rows: [RowKey: MirroredRow] = [:]
    for change in page.changes {
      guard let link = session.links[change.table.lowercased()],
        let key = Self.key(of: change, link)
      else { continue }
      let name = RowKey(link.number, key)
      guard rows[name] == nil else { continue }
      order.append(name)
      rows[name] = MirroredRow(link, key: key, row: try session.site.row(link, key))
    }
    return order.compactMap { rows[$0] }
  }

  private static func key(of change: OpenReplica.Change, _ link: TableLink) -> [Value]? {
    var key: [Value] = []
    for place in link.key {
      let column = link.columns[place]
      let value =
        change.key[column.name]
        ?? change.key.first { $0.key.lowercased() == column.name.lowercased() }?.value
      guard let value, let stored = column.form.affinity.stored(value.plain) else { return nil }
      key.append(stored)
    }
    return key
  }

  /// Takes in a part of what the journals hold; false if they are empty, or hold only what somebody
  /// is changing here.
  func takeIn(_ session: MirrorSession) async throws(MirrorError) -> Bool {
    guard session.known.count < MirrorSession.mostKnown else { return false }
    guard try serving({ () throws(ServerError) in try session.hasNews() }) else { return false }
    let news = try serving { () throws(ServerError) in try session.news() }
    guard !news.isEmpty else { return false }
    let taking = try await take(news, session)
    guard !taking.isNothing else { return false }
    session.taken += taking.count
    for row in taking.agreed { session.know(row) }
    try finish(taking, session)
    return true
  }

  /// Empties the journals of what was taken, and puts right what the site did not take.
  private func finish(
    _ taking: MirrorSession.Taking, _ session: MirrorSession
  ) throws(MirrorError) {
    try serving { () throws(ServerError) in
      try session.sendFree(
        taking.corrections, forgetting: taking.entries, holding: taking.holding)
    }
  }

  /// Makes edits of news. First the rows here are read, then what of them has not gone out; a row
  /// that changes in between comes the next time.
  func take(
    _ news: [MirrorSession.News], _ session: MirrorSession
  ) async throws(MirrorError) -> MirrorSession.Taking {
    let before = try reading { () throws(SQLiteError) in try session.standing(news) }
    let pending = try await pending(among: Set(news.map(\.name)), session)
    return try reading { () throws(SQLiteError) in
      try session.take(news, beside: pending, before: before, at: Self.now)
    }
  }

  /// Which of these rows have changes that have not gone out.
  private func pending(
    among names: Set<RowKey>, _ session: MirrorSession
  ) async throws(MirrorError) -> [RowKey: MirrorSession.Pending] {
    var pending: [RowKey: MirrorSession.Pending] = [:]
    var place = session.cursor
    while true {
      let page = try await changes(session, within: .zero, from: place)
      if page.reset { throw .again }
      for change in page.changes {
        guard let link = session.links[change.table.lowercased()],
          let key = Self.key(of: change, link)
        else { continue }
        let name = RowKey(link.number, key)
        guard names.contains(name) else { continue }
        // An echo of what came from there is no change of ours.
        let values = try reading { () throws(SQLiteError) in try session.site.row(link, key) }
        if session.isAgreed(MirroredRow(link, key: key, row: values)) { continue }
        pending[name] = MirrorSession.Pending(
          stamp: change.stamp.flatMap(SiteMoment.milliseconds))
      }
      place = page.cursor
      guard page.more else { return pending }
    }
  }
}

/// Moments as the change feed writes them.
enum SiteMoment {
  /// In ms since 1970; nil if the text is no moment.
  static func milliseconds(_ text: String) -> Int64? {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    return (try? style.parse(text)).map { Int64(($0.timeIntervalSince1970 * 1_000).rounded()) }
  }
}
