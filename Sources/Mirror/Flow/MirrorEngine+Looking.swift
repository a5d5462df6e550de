import Flotilla
import SQLite

/// What both schemas are, and whether they still are that.
extension MirrorEngine {
  /// Looks at both schemas. A table that cannot be mirrored any more stops, with the reason, and
  /// the others flow on.
  func plan(
    _ server: ServerConnection, _ site: SiteFile, _ standing: OwnStanding, mark: String
  ) throws(MirrorError) -> (links: [TableLink], stopped: [MirrorState.Stopped]) {
    var links: [TableLink] = []
    var stopped: [MirrorState.Stopped] = []
    tables.moved = []
    for table in tables.all {
      let here = try reading { () throws(SQLiteError) in
        try SiteTable.read(table.table, on: site.connection)
      }
      let there = try serving { () throws(ServerError) in
        try ServerTable.read(table.schema, table.name, on: server)
      }
      var reasons: [String]
      switch (here, there) {
      case (nil, _): reasons = ["it is not replicated here"]
      case (_, nil): reasons = [try lacking(table, server, mark: mark)]
      case (let here?, _) where standing.right(to: here.name) == .none:
        reasons = ["this node has no right to it any more"]
      case (let here?, let there?):
        let plan = TableLink.plan(here, there, number: table.number)
        reasons = plan.reasons
        if let reason = undecided[table.number] { reasons.append(reason) }
        if let link = plan.link, reasons.isEmpty { links.append(link) }
      }
      guard !reasons.isEmpty else { continue }
      stopped.append(
        MirrorState.Stopped(table: table.table, reason: reasons.joined(separator: "; ")))
    }
    let (_, circular) = try serving { () throws(ServerError) in
      try Cascade.read(links, on: server)
    }
    for link in links where circular.contains(link.number) {
      stopped.append(MirrorState.Stopped(table: link.site.name, reason: Cascade.objection))
    }
    links.removeAll { circular.contains($0.number) }
    links = try reading { () throws(SQLiteError) in try site.parentsFirst(links) }
    return (links, stopped)
  }

  /// What is said of a table that the server does not have, and how it is mended. One that has
  /// another name there has taken its triggers along.
  private func lacking(
    _ table: MirrorSettings.Table, _ server: ServerConnection, mark: String
  ) throws(MirrorError) -> String {
    let capture = Capture(database: server.database, links: [], site: mark)
    let place = try serving { () throws(ServerError) in
      try capture.bearer(of: table.number, on: server)
    }
    if place != nil { tables.moved.insert(table.number) }
    let now = place.map { "\($0.schema).\($0.name)" }
    let words = "\(table.table)=\(now ?? "DATABASE.TABLE")"
    let map = now == nil ? words : shellWord(words)
    return "the server has no table \(table.schema).\(table.name); "
      + (now.map { "it is \($0) by now, so say: " } ?? "if it has another name by now, say: ")
      + "flotilla mirror \(shellWord(replica.path)) add --tables \(shellWord(table.table)) "
      + "--map \(map)"
  }

  /// Looks every five seconds, whatever it is at.
  func lookIfDue(_ session: MirrorSession) async throws(MirrorError) {
    guard session.watch.isDue() else { return }
    try await requireSameTables(session)
  }

  /// Compares the clock of the server with the time of the site. Gives what this node may do.
  @discardableResult
  func readClock(_ session: MirrorSession) async throws(MirrorError) -> OwnStanding {
    let began = ContinuousClock.now
    let standing: OwnStanding
    do throws(FlotillaError) {
      standing = try await replica.ownStanding()
    } catch {
      throw .node(error)
    }
    try serving { () throws(ServerError) in
      try session.readClock(standing.siteTime, since: began)
    }
    return standing
  }

  /// Throws `.again` if a table is not as it was when the session began, on either side, or a
  /// trigger of the mirror is not.
  private func requireSameTables(_ session: MirrorSession) async throws(MirrorError) {
    // Clocks are set, and drift.
    let standing = try await readClock(session)
    let look = SchemaWatch.Look(
      server: try serving { () throws(ServerError) in
        try ServerLook.read(
          Set(tables.all.map(\.schema) + [session.capture.database]), on: session.server)
      },
      site: try reading { () throws(SQLiteError) in
        try session.site.connection.scalar("PRAGMA main.schema_version")
      },
      rights: tables.all.map { standing.right(to: $0.table) })
    guard session.watch.isNews(look) else { return }
    try await learnKeys(session)
    let (links, stopped) = try plan(
      session.server, session.site, standing, mark: session.ledger.site)
    let cascades = try serving { () throws(ServerError) in
      try Cascade.read(links, on: session.server).cascades
    }
    guard links == session.capture.links, stopped == state.stopped, cascades == session.cascades
    else { throw .again("a table has been altered") }
    let isIntact = try serving { () throws(ServerError) in
      try session.capture.isIntact(on: session.server, cascades: cascades)
    }
    guard isIntact else { throw .again("a trigger of the mirror is gone, or another one") }
  }

  /// Makes what is missing on the server. A table that lacked a trigger is to be compared, and that
  /// is written down before it has one.
  func install(_ session: MirrorSession) throws(MirrorError) -> Set<Int> {
    let (lacking, isIntact) = try serving { () throws(ServerError) in
      let (cascades, _) = try Cascade.read(session.capture.links, on: session.server)
      session.cascades = cascades
      let lacking = try session.capture.install(on: session.server, cascades: cascades) {
        number throws(ServerError) in
        try session.ledger.need([number], isWhole: true)
      }
      let isIntact = try session.capture.isIntact(on: session.server, cascades: cascades)
      return (lacking, isIntact)
    }
    guard isIntact else {
      throw .stopped("the server shows the mirror's triggers otherwise than they were made")
    }
    return lacking
  }
}
