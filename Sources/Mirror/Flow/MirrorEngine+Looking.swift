import Flotilla
import SQLite

/// What both schemas are, and whether they still are that.
extension MirrorEngine {
  /// What both schemas come to.
  struct Plan {
    /// Those that are mirrored, parents first.
    var links: [TableLink] = []
    /// Those that are not, and why.
    var stopped: [MirrorState.Stopped] = []
    /// Those of them whose rows are known by their keys.
    var noted: [Capture.Stopped] = []
  }

  /// Said of a table that stops, and no trigger can name the rows of.
  private static let unnoted =
    "nothing can note what programs of the server delete there meanwhile, so that comes back"

  /// Looks at both schemas. A table that cannot be mirrored any more stops, with the reason, and
  /// the others flow on. What is deleted there meanwhile is noted if its key is what it was.
  func plan(
    _ server: ServerConnection, _ site: SiteFile, _ standing: OwnStanding, mark: String
  ) throws(MirrorError) -> Plan {
    var plan = Plan()
    tables.moved = []
    for table in tables.all {
      let here = try reading { () throws(SQLiteError) in
        try SiteTable.read(table.table, on: site.connection)
      }
      let (there, bearer) = try find(table, server, mark: mark)
      let fit = here.flatMap { here in
        there.map { TableLink.plan(here, $0, number: table.number) }
      }
      var reasons: [String]
      switch (here, there) {
      case (nil, _): reasons = ["it is not replicated here"]
      case _ where there == nil || bearer != nil: reasons = [lacking(table, bearer)]
      case (let here?, _) where standing.right(to: here.name) == .none:
        reasons = ["this node has no right to it any more"]
      default: reasons = (fit?.reasons ?? []) + [undecided[table.number]].compactMap { $0 }
      }
      if let link = fit?.link, reasons.isEmpty {
        plan.links.append(link)
        continue
      }
      if let noted = fit?.noted {
        if bearer != nil { tables.moved.insert(table.number) }
        let isWhole = bearer != nil || undecided[table.number] != nil
        plan.noted.append(Capture.Stopped(link: noted, isWhole: isWhole))
      } else if there != nil || bearer != nil {
        reasons.append(Self.unnoted)
      }
      plan.stopped.append(
        MirrorState.Stopped(table: table.table, reason: reasons.joined(separator: "; ")))
    }
    let (_, circular) = try serving { () throws(ServerError) in
      try Cascade.read(plan.links, on: server)
    }
    for link in plan.links where circular.contains(link.number) {
      plan.stopped.append(MirrorState.Stopped(table: link.site.name, reason: Cascade.objection))
      plan.noted.append(Capture.Stopped(link: link, isWhole: false))
    }
    plan.links.removeAll { circular.contains($0.number) }
    plan.links = try reading { () throws(SQLiteError) in try site.parentsFirst(plan.links) }
    return plan
  }

  /// A table as the server has it; and where, if it has another name by now and has taken its
  /// triggers along.
  private func find(
    _ table: MirrorSettings.Table, _ server: ServerConnection, mark: String
  ) throws(MirrorError) -> (there: ServerTable?, bearer: Cascade.Place?) {
    let capture = Capture(database: server.database, links: [], site: mark)
    return try serving { () throws(ServerError) in
      if let there = try ServerTable.read(table.schema, table.name, on: server) {
        return (there, nil)
      }
      guard let place = try capture.bearer(of: table.number, on: server) else { return (nil, nil) }
      return (try ServerTable.read(place.schema, place.name, on: server), place)
    }
  }

  /// What is said of a table that the server does not have under its name, and how it is mended.
  private func lacking(_ table: MirrorSettings.Table, _ place: Cascade.Place?) -> String {
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
    let plan = try plan(session.server, session.site, standing, mark: session.ledger.site)
    let cascades = try serving { () throws(ServerError) in
      try Cascade.read(plan.links + plan.noted.map(\.link), on: session.server).cascades
    }
    guard plan.links == session.capture.links, plan.noted == session.capture.stopped,
      plan.stopped == state.stopped, cascades == session.cascades
    else { throw .again("a table has been altered") }
    let isIntact = try serving { () throws(ServerError) in
      try session.capture.isIntact(on: session.server, cascades: cascades)
    }
    guard isIntact else { throw .again("a trigger of the mirror is gone, or another one") }
  }

  /// Makes what is missing on the server. A table that lacked a trigger is to be compared, and that
  /// is written down before it has one.
  func install(_ session: MirrorSession) throws(MirrorError) -> Set<Int> {
    let (lacking, unseen, isIntact) = try serving { () throws(ServerError) in
      let (cascades, _) = try Cascade.read(session.capture.noted, on: session.server)
      session.cascades = cascades
      let (lacking, unseen) = try session.capture.install(on: session.server, cascades: cascades) {
        number throws(ServerError) in
        try session.ledger.need([number], isWhole: true)
      }
      let isIntact = try session.capture.isIntact(on: session.server, cascades: cascades)
      return (lacking, unseen, isIntact)
    }
    guard isIntact else {
      throw .stopped("the server shows the mirror's triggers otherwise than they were made")
    }
    for number in unseen.sorted() where isFilled(number) {
      log(
        "for a while nothing noted what programs of the server deleted in "
          + "\(tables.names[number] ?? "?"): that comes back")
    }
    return lacking
  }
}
