import Flotilla
import FoundationEssentials
import SQLite

/// From a connection to its end.
extension MirrorEngine {
  /// How long it waits for changes of the replica before it looks at the server: shortly after
  /// something came from there, and otherwise.
  private static let shortWait = Duration.milliseconds(20)
  private static let longWait = Duration.seconds(1)
  private static let liveliness = Duration.seconds(3)
  private static let longestIntake = Duration.milliseconds(500)

  /// Connects, takes the place, makes up for what was missed and follows.
  func serve() async throws(MirrorError) {
    state.phase = .connecting
    (hasWorked, hasMoved) = (false, false)
    let session = try await open()
    do throws(MirrorError) {
      try await catchUp(session)
      enter(.following)
      publish(now: true)
      try await follow(session)
    } catch {
      note(session)
      try? session.ledger.leave()
      throw error
    }
    note(session)
    // Cancelled: others need not wait for the end of the lease.
    try? session.ledger.leave()
  }

  private func open() async throws(MirrorError) -> MirrorSession {
    let address: ServerAddress
    let password: String
    let life: Int64
    let mark: String
    let standing: OwnStanding
    do throws(FlotillaError) {
      address = try ServerAddress(settings.url)
      password = try folder.password(settings)
      life = try await replica.life()
      mark = try await replica.siteMark()
      standing = try await replica.ownStanding()
    } catch {
      throw .node(error)
    }
    state.server = address.text
    let server = try serving { () throws(ServerError) in
      try ServerConnection.open(address, password: password, lifeline)
    }
    let ledger = ServerLedger(
      server: server, database: server.database, site: mark, holder: settings.holder,
      session: name)
    let (found, objection) = try serving { () throws(ServerError) in try ledger.enter() }
    guard let found else { throw .stopped(objection ?? "the place is taken") }
    let site = try reading { () throws(SQLiteError) in try SiteFile(replica) }
    try await followNames(site)
    try serving { () throws(ServerError) in try ledger.list(tables.all) }
    let plan = try plan(server, site, standing, mark: mark)
    state.tables = tables.all.map(\.table)
    if state.stopped != plan.stopped {
      for one in plan.stopped { log("the table \(one.table) is not mirrored: \(one.reason)") }
    }
    state.stopped = plan.stopped
    let capture = Capture(
      database: server.database, links: plan.links, stopped: plan.noted, site: mark)
    let losers: Replica.Losers
    do throws(FlotillaError) {
      losers = try await replica.losers(of: plan.links.map(\.site.name))
    } catch {
      throw .node(error)
    }
    let session = MirrorSession(
      server, ledger, capture, site, losers, ServerReading(address, password: password),
      life: life, state: found)
    try reading { () throws(SQLiteError) in
      session.known = try site.known(by: settings.holder)
      try session.debts.recall(session.byNumber)
    }
    let numbers = Set(tables.all.map(\.number))
    let held = try serving { () throws(ServerError) in try ledger.held() }
    session.held.entries = held.filter { numbers.contains($0.key.number) }
    try await learnKeys(session)
    // Both clocks at one moment: what was said before both schemas were read is old by now.
    try await readClock(session)
    return session
  }

  /// Compares what has to be compared: tables that never were, or of which something was missed.
  private func catchUp(_ session: MirrorSession) async throws(MirrorError) {
    let ledger = session.ledger
    let lacking = try install(session)
    let mirrored = tables.all.map(\.number)
    let stopped = mirrored.filter { session.byNumber[$0] == nil }
    let moved = tables.moved
    let standing = try serving { () throws(ServerError) in
      try ledger.forgetAll(but: Set(mirrored))
      let standing = try ledger.standing()
      // What becomes of it meanwhile nobody knows, but for what is deleted on either side. The
      // triggers tell all of a table that has got another name.
      try ledger.need(stopped.filter { !moved.contains($0) }, isWhole: true)
      try ledger.need(stopped.filter(moved.contains), isWhole: false)
      return standing
    }
    var policies: [Int: Policy] = [:]
    for number in session.byNumber.keys {
      let known = standing[number] ?? (isFilled: false, isStale: false)
      if !known.isFilled || lacking.contains(number) {
        policies[number] = whole(number)
      } else if known.isStale {
        policies[number] = .siteStands
      }
    }
    try learnColumns(session)
    var shapes = state.shapes ?? [:]
    for link in session.capture.links {
      let shape = RowKey.fingerprint([.string("\(link.server)")])
      // What an ALTER made of the server's values no trigger has told.
      let isAltered = state.shapes?[link.number].map { $0 != shape } ?? false
      if isAltered || session.new[link.number] != nil, policies[link.number] != .union {
        policies[link.number] = .reunion
      }
      shapes[link.number] = shape
    }
    // The feed may have been cut before an earlier session ended.
    session.unsure = Set(
      session.byNumber.keys.filter { number in
        standing[number].map { !$0.isFilled || $0.isStale } ?? true
      })
    try need(policies, session)
    // Only now the server knows that they are to be compared.
    state.shapes = shapes
    publish(now: true)
    try await settleTaken(session)
    if let before = state.contact, before.number > session.number {
      log("the server was put back to an earlier state; what it lacks goes there again")
      for number in session.byNumber.keys where policies[number] == nil {
        policies[number] = .siteStands
      }
      try need(policies, session)
      try forget(upTo: before.at, session)
      session.number = before.number
    }
    let life = try serving { () throws(ServerError) in try lifeThere(session) }
    try await begin(session, after: life, &policies)
    try await passOver(Set(policies.keys.filter { !isFilled($0) }), session)
    let whole = Set(policies.filter(\.value.isUnion).keys)
    try reading { () throws(SQLiteError) in try session.debts.forget(of: whole) }
    try await compare(policies, session)
  }

  private func lifeThere(_ session: MirrorSession) throws(ServerError) -> Int64? {
    try session.server.rows(
      of: 1,
      """
      SELECT life FROM \(serverName(session.capture.database)).flotilla_state WHERE site = ?
      """, [.string(session.ledger.site)]
    ).first?[0].integer
  }

  /// Writes down what is to be compared, so that it is done though this session ends.
  private func need(
    _ policies: [Int: Policy], _ session: MirrorSession
  ) throws(MirrorError) {
    try serving { () throws(ServerError) in
      for (number, policy) in policies {
        try session.ledger.need([number], isWhole: policy.isUnion)
      }
    }
  }

  /// Of entries that were in the journals of a backup nobody knows whether they were taken in. The
  /// site's rows stand, and what the server has otherwise is kept in the conflict log.
  private func forget(
    upTo moment: Int64, _ session: MirrorSession
  ) throws(MirrorError) {
    for link in session.capture.links {
      var place: Int64? = 0
      while let last = place {
        let (news, next) = try serving { () throws(ServerError) in
          try session.news(link, after: last, until: moment)
        }
        try reading { () throws(SQLiteError) in try session.keep(news) }
        place = next
      }
      try serving { () throws(ServerError) in
        try session.transaction { () throws(ServerError) in
          _ = try session.ledger.hold(after: session.lastNumber)
          try session.server.run(
            "DELETE FROM \(session.capture.journal(link.number)) WHERE \(MirrorSession.isOld)",
            [.integer(moment)])
        }
      }
    }
  }

  /// What the file says has been taken in, and the journals still hold: the process ended between.
  /// What it was about to put right on the server is not known any more, so each of these rows is
  /// made there what it is here.
  private func settleTaken(_ session: MirrorSession) async throws(MirrorError) {
    let taken = try reading { () throws(SQLiteError) in
      try session.site.taken(by: session.holder)
    }
    guard let taken, taken.number == session.number else { return }
    while !Task.isCancelled {
      let news = try serving { () throws(ServerError) in try session.news(of: taken.entries) }
      guard !news.isEmpty else { return }
      var rows: [MirroredRow] = []
      var holding: [(row: MirroredRow, reason: String)] = []
      var entries: [Int: [Int64]] = [:]
      for one in news {
        entries[one.link.number, default: []] += one.ids
        switch one.row {
        case .failure(let objection):
          holding.append((MirroredRow(one.link, key: one.key, row: nil), objection.reason))
        case .success:
          let row = try reading { () throws(SQLiteError) in
            try session.site.row(one.link, one.key)
          }
          rows.append(MirroredRow(one.link, key: one.key, row: row))
        }
      }
      try reading { () throws(SQLiteError) in try session.unnote(rows) }
      try serving { () throws(ServerError) in
        try session.send(rows, forgetting: entries, holding: holding, isCorrection: true)
      }
    }
  }

  /// Where to follow from. If the feed cannot go on where it was, everything is compared: the
  /// site's rows stand if this is the file that was there before. If another node had the mirror
  /// before, `life` is nil. If it is another life, the file was put back: nothing is lost then.
  private func begin(
    _ session: MirrorSession, after life: Int64?, _ policies: inout [Int: Policy]
  ) async throws(MirrorError) {
    let isSameLife = life == session.life
    let news: ChangedKeys
    do throws(MirrorError) {
      news = try await changes(session, within: .zero)
    } catch {
      guard case .node(let reason) = error, reason.code == .usage, session.cursor != nil
      else { throw error }
      log("the place in the feed that the server has is none; all rows are compared")
      session.cursor = nil
      news = try await changes(session, within: .zero)
    }
    guard session.cursor == nil || news.reset || !isSameLife else { return }
    let isOther = !isSameLife && life != nil
    for number in session.byNumber.keys where policies[number] == nil || isOther {
      let isKnown = isSameLife && session.cursor != nil
      policies[number] = isKnown ? .siteStands : isSameLife || life == nil ? .reunion : .union
    }
    try need(policies, session)
    session.unsure = Set(session.byNumber.keys)
    session.cursor =
      session.cursor == nil || news.reset
      ? news.cursor : try await changes(session, within: .zero, from: nil).cursor
  }

  /// Takes in and sends by turns.
  private func follow(_ session: MirrorSession) async throws(MirrorError) {
    var lastNews = ContinuousClock.now
    let tables = session.capture.links.map(\.site.name)
    var next: ChangedKeys?
    while !Task.isCancelled {
      let isLively =
        !session.keys.open.isEmpty || ContinuousClock.now - lastNews < Self.liveliness
      let news: ChangedKeys
      if let next {
        session.turn += 1
        news = next
      } else {
        // What came from there is to be told of as soon as it is here, so that it is forgotten.
        news = try await changes(
          session, within: isLively ? Self.shortWait : Self.longWait,
          isExact: !session.known.isEmpty)
      }
      if news.reset { throw .again(Self.cutFeed) }
      // While the server works on a page the node reads the next one.
      let hasNext = news.more && session.known.isEmpty
      async let following = hasNext ? pageAhead(tables, from: news.cursor) : nil
      let (count, more) = (news.rows.count + news.waiting, news.more)
      (state.behind, state.behindSince) =
        count == 0 ? (0, nil) : (count, state.behindSince ?? Self.now)
      // What does not go out keeps nothing from coming in.
      let failure = try trial { () throws(MirrorError) in try send(news, session) }
      // Programs that never rest do not keep it from going out, either.
      let end = ContinuousClock.now + Self.longestIntake
      while !Task.isCancelled, try await takeIn(session) {
        lastNews = .now
        if lastNews > end { break }
      }
      if let failure { throw failure }
      if !more {
        try pay(session)
        session.endRests()
        (state.behind, state.behindSince) = session.debts.sum
        guard session.uncompared.allSatisfy({ session.resting[$0] != nil }) else {
          throw .again("a table that is to be compared takes rows again")
        }
      }
      let isFull = session.known.count > MirrorSession.mostKnown / 2 && !more
      if isFull || ContinuousClock.now - session.lastRenewal > .seconds(5) {
        try await lookIfDue(session)
        try renew(session)
      }
      try check(session)
      if let rest = session.resting.values.first {
        say("the server: \(rest.error.text)")
      } else if !hasWorked || state.trouble != nil {
        works()
      }
      note(session)
      publish()
      let page = await following
      // Only where nothing came in between is it what would be read now.
      next = session.known.isEmpty && session.cursor == news.cursor ? page : nil
      if isComparisonDue {
        next = nil
        try await compareAgain(session)
      }
    }
  }

  /// What the server said against it; nil if nothing. Whatever else goes wrong ends the work.
  private func trial(
    _ body: () throws(MirrorError) -> Void
  ) throws(MirrorError) -> MirrorError? {
    do throws(MirrorError) {
      try body()
      return nil
    } catch {
      guard case .server(let reason) = error, reason.kind != .lost else { throw error }
      return error
    }
  }

  /// The page of the feed after a place; nil if it cannot be read, which is tried again then.
  private nonisolated func pageAhead(
    _ tables: [String], from cursor: String
  ) async -> ChangedKeys? {
    try? await replica.changedKeys(since: cursor, tables: tables, isExact: false, within: .zero)
  }

  private func renew(_ session: MirrorSession) throws(MirrorError) {
    let isOurs = try serving { () throws(ServerError) in
      if session.contact.number == 0 {
        // The first word of this session: from now on a server that goes back is noticed.
        _ = try session.send([])
        return true
      }
      return try session.ledger.renew(
        cursor: session.cursor, life: session.life, after: session.lastNumber)
    }
    (session.lastWord, session.lastRenewal) = (.now, .now)
    guard isOurs else { throw .stopped(Self.lostPlace) }
    try reading { () throws(SQLiteError) in try session.letGo() }
  }

  private func check(_ session: MirrorSession) throws(MirrorError) {
    if session.site.isReplaced { throw .again("another file has the place of the replica") }
  }
}

/// Has errors of the server told as errors of the mirror.
@discardableResult
func serving<Result>(
  _ body: () throws(ServerError) -> Result
) throws(MirrorError) -> Result {
  do throws(ServerError) {
    return try body()
  } catch {
    // What it is now is looked at before anything else is done.
    throw error == .otherColumns ? .again(error.message) : .server(error)
  }
}

/// The same for those of SQLite.
func reading<Result>(
  _ body: () throws(SQLiteError) -> Result
) throws(MirrorError) -> Result {
  do throws(SQLiteError) { return try body() } catch { throw .site(error) }
}
