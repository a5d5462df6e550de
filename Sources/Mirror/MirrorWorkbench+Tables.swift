import Flotilla
import SQLite

/// Single tables of a mirror that is set up.
extension MirrorWorkbench {
  /// An error if this is not the mirror that the server knows.
  func requireHolder(_ holder: String) throws(FlotillaError) {
    let server = try connected()
    let occupant = try asking { () throws(ServerError) in
      try ServerLedger.occupant(of: server.database, on: server)
    }
    guard let occupant, occupant.holder == holder else {
      throw FlotillaError(
        .refused,
        occupant.map { "\($0.node) mirrors into \(server.database) by now" }
          ?? "the server does not know this mirror",
        remedy: "Take it over: flotilla mirror \(shellWord(replica.path)) take URL")
    }
  }

  private func ledger(
    _ server: ServerConnection, _ settings: MirrorSettings, site: String
  ) -> ServerLedger {
    ServerLedger(
      server: server, database: server.database, site: site, holder: settings.holder, session: "")
  }

  /// Makes the tables that are to be made; gives what the mirror is to keep equal from then on. A
  /// table that has another name on the server keeps its number if its triggers say that it is the
  /// same one.
  func make(
    _ plan: MirrorPlan, beside standing: [MirrorSettings.Table], _ settings: MirrorSettings,
    site: String
  ) throws(FlotillaError) -> [MirrorSettings.Table] {
    let server = try connected()
    let ledger = ledger(server, settings, site: site)
    let capture = Capture(database: server.database, links: [], site: site)
    return try asking { () throws(ServerError) in
      try create(plan, on: server)
      let known = try ledger.tables().map(\.number) + standing.map(\.number)
      var last = max(known.max() ?? 0, settings.lastNumber ?? 0)
      var tables: [MirrorSettings.Table] = []
      for table in plan.tables where table.action == "map" || table.action == "create" {
        let place = Self.parts(of: table.server_table, server.database)
        let former = standing.first { $0.table.lowercased() == table.table.lowercased() }
        var number: Int?
        if let former {
          let bearer = try capture.bearer(of: former.number, on: server)
          let isSame = bearer.map { [$0.schema, $0.name] == place } ?? false
          number = isSame ? former.number : nil
        }
        if number == nil { last += 1 }
        tables.append(
          MirrorSettings.Table(
            number: number ?? last, table: table.table, schema: place[0], name: place[1]))
      }
      return tables
    }
  }

  /// The tables that the server has notes of, and the settings do not name.
  func leftOver(
    _ settings: MirrorSettings, site: String
  ) throws(FlotillaError) -> [MirrorSettings.Table] {
    let server = try connected()
    let ledger = ledger(server, settings, site: site)
    return try asking { () throws(ServerError) in
      try ledger.tables().filter { one in
        !settings.tables.contains { $0.number == one.number }
      }
    }
  }

  /// Takes triggers, journals and notes of some tables out, though no node runs that would.
  func takeOut(
    _ numbers: Set<Int>, _ settings: MirrorSettings, site: String
  ) throws(FlotillaError) {
    let server = try connected()
    let ledger = ledger(server, settings, site: site)
    let capture = Capture(database: server.database, links: [], site: site)
    try asking { () throws(ServerError) in
      // A program may be busy with the table.
      try server.execute("SET SESSION lock_wait_timeout = 10")
      let noted = try capture.removeTriggers(
        of: numbers, beside: settings.tables.map(\.number), on: server)
      try ledger.forget(numbers.subtracting(noted).sorted())
    }
  }
}
