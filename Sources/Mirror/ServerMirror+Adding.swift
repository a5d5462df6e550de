import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// What `add` would do, before it does it. JSON: `{server, version, tables:[{table, server_table,
/// action, reasons}], missing}`.
public struct MirrorPlan: Codable, Sendable, Equatable {
  /// One table of the replica.
  public struct Table: Codable, Sendable, Equatable {
    public var table: String
    public var server_table: String
    /// `map` to a table that is there, `create`, `keep` what is mirrored already, or `refuse`.
    public var action: String
    public var reasons: [String]
    /// The statement that would make it.
    public var statement: String?

    static let lacking = "the server has no such table; --create makes it"

    /// Whether nothing stands against it but that nobody has said that it is to be made.
    public var isLackingAlone: Bool { reasons == [Self.lacking] }
  }

  public var server: String
  public var version: String
  public var tables: [Table]
  /// What the user of the server lacks, in words.
  public var missing: [String] = []

  public var isPossible: Bool {
    missing.isEmpty && !tables.isEmpty && tables.allSatisfy { $0.action != "refuse" }
  }
}

/// What the operator wants mirrored.
public struct MirrorWish: Sendable {
  public var url: String
  public var password: MirrorPassword
  /// All that the site replicates, if it is nil.
  public var tables: [String]?
  /// By the replica's table, `database.table` or the table alone.
  public var map: [String: String] = [:]
  public var creates = false

  public init(url: String, password: MirrorPassword) {
    (self.url, self.password) = (url, password)
  }
}

/// One connection that sets a mirror up or takes it down, on a thread of its own.
actor MirrorWorkbench {
  private let executor = QueueExecutor("flotilla.mirror.bench")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let replica: Replica
  let address: ServerAddress
  let password: String
  private var server: ServerConnection?

  init(_ replica: Replica, _ address: ServerAddress, password: String) {
    (self.replica, self.address, self.password) = (replica, address, password)
  }

  func connected() throws(FlotillaError) -> ServerConnection {
    if let server { return server }
    let made = try asking { () throws(ServerError) in
      try ServerConnection.open(address, password: password)
    }
    server = made
    return made
  }

  func asking<Result>(
    _ body: () throws(ServerError) -> Result
  ) throws(FlotillaError) -> Result {
    do throws(ServerError) {
      return try body()
    } catch {
      // What the library of this machine says of the way there is no word of the server.
      let isOwn = (2_000...2_099).contains(error.code) || (5_000...5_099).contains(error.code)
      let verb = isOwn ? "is out of reach" : "says"
      throw FlotillaError(
        .peer, "\(address.text) \(verb): \(error.text)", remedy: Self.remedy(error))
    }
  }

  private static func remedy(_ error: ServerError) -> String? {
    switch error.code {
    case 1045, 1698: "Are the user and the password right, and may it come from this machine?"
    case 1049:
      "Somebody has to make it there first: CREATE DATABASE … CHARACTER SET utf8mb4, and then "
        + "grant the user its rights to it."
    case 1044:
      "Is there such a database? The user needs SELECT, INSERT, UPDATE, DELETE, CREATE, DROP and "
        + "TRIGGER on it."
    case 1142:
      "The user needs SELECT, INSERT, UPDATE, DELETE, CREATE, DROP and TRIGGER on the database."
    case 1419, 1227:
      "With a binary log triggers need SUPER, or on the server: "
        + "SET GLOBAL log_bin_trust_function_creators = 1"
    case 2002, 2003, 2005: "Is it running, and is the address right?"
    case 2006, 2007, 2012, 2013, 2027:
      "Something is there, but does it speak the protocol of MariaDB and MySQL, and does it let "
        + "this machine in?"
    case 5010:
      "Without TLS the user must have a password that the server asks for by "
        + "mysql_native_password or ed25519; with caching_sha2_password use its socket."
    case 2026: "TLS is not optional for other machines: ?ca=FILE names whose certificates count."
    default: nil
    }
  }

  /// Refuses a server where somebody else mirrors.
  func requireFree(holder: String?, site: String, takes: Bool) throws(FlotillaError) {
    let server = try connected()
    let occupant = try asking { () throws(ServerError) in
      try ServerLedger.occupant(of: server.database, on: server)
    }
    guard let occupant, occupant.holder != holder else { return }
    guard occupant.site == site else {
      throw FlotillaError(
        .refused, "another site mirrors into \(server.database)",
        remedy: "One database of the server is for one site.")
    }
    guard takes else {
      throw FlotillaError(
        .refused, "\(occupant.node) mirrors this site into \(server.database) already",
        remedy: "Take it over: flotilla mirror \(shellWord(replica.path)) take URL")
    }
    guard !occupant.isAlive else {
      throw FlotillaError(
        .refused, "\(occupant.node) is at work as the mirror",
        remedy: "There: flotilla mirror DB pause. Its place is free 15 s after it was heard last.")
    }
  }

  func plan(_ wish: MirrorWish, _ own: OwnStanding) throws(FlotillaError) -> MirrorPlan {
    let server = try connected()
    let here = try tables(wish)
    var plan = MirrorPlan(server: address.text, version: server.limits.version, tables: [])
    for table in here {
      let place = Self.place(of: table.name, wish, server.database)
      let there = try asking { () throws(ServerError) in
        try ServerTable.read(place.schema, place.name, on: server)
      }
      var entry = MirrorPlan.Table(
        table: table.name, server_table: "\(place.schema).\(place.name)", action: "refuse",
        reasons: [])
      if let there {
        let plan = TableLink.plan(table, there, number: 0)
        entry.reasons = plan.reasons
        if let link = plan.link {
          let circular = try asking { () throws(ServerError) in
            try Cascade.read([link], on: server).circular
          }
          if circular.isEmpty { entry.action = "map" } else { entry.reasons = [Cascade.objection] }
        }
      } else {
        let name = "\(serverName(place.schema)).\(serverName(place.name))"
        let made = TableCreation.statement(
          for: table, as: name, isMariaDB: server.limits.isMariaDB)
        entry.statement = made.sql
        entry.reasons = made.reason.map { [$0] } ?? []
        let isTaken = try asking { () throws(ServerError) in
          try server.rows(
            of: 1,
            """
            SELECT table_type FROM information_schema.tables
            WHERE table_schema = ? AND table_name = ?
            """, [.string(place.schema), .string(place.name)]
          ).first != nil
        }
        if isTaken {
          entry.reasons.append("what the server has of that name is no table")
        } else if !wish.creates {
          entry.reasons.append(MirrorPlan.Table.lacking)
        } else if made.sql != nil {
          entry.action = "create"
        }
      }
      if own.right(to: table.name) == .none {
        entry.action = "refuse"
        entry.reasons.append("this node has no right to it")
      }
      plan.tables.append(entry)
    }
    plan.missing = try missingRights(plan, server)
    return plan
  }

  private func missingRights(
    _ plan: MirrorPlan, _ server: ServerConnection
  ) throws(FlotillaError) -> [String] {
    let rights = try asking { () throws(ServerError) in try ServerRights.read(on: server) }
    let wanted = plan.tables.filter { $0.action != "refuse" }
    func place(_ table: MirrorPlan.Table) -> (schema: String, name: String) {
      let parts = Self.parts(of: table.server_table, server.database)
      return (parts[0], parts[1])
    }
    return rights.missing(
      tables: wanted.map(place),
      creating: Set(wanted.filter { $0.action == "create" }.map { place($0).schema }),
      in: server.database)
  }

  private func tables(_ wish: MirrorWish) throws(FlotillaError) -> [SiteTable] {
    let all: [SiteTable]
    do throws(SQLiteError) {
      all = try SiteTable.all(on: try SiteFile(replica).connection)
    } catch {
      throw FlotillaError(.sql, "\(replica.path): \(error.message)")
    }
    for name in (wish.tables ?? []) + wish.map.keys.sorted()
    where !all.contains(where: { $0.name.lowercased() == name.lowercased() }) {
      throw FlotillaError(
        .table, "\(name) is no replicated table",
        remedy: "See: flotilla status \(shellWord(replica.path))")
    }
    guard let wanted = wish.tables else { return all }
    return all.filter { table in
      wanted.contains { $0.lowercased() == table.name.lowercased() }
    }
  }

  private static func place(
    of table: String, _ wish: MirrorWish, _ database: String
  ) -> (schema: String, name: String) {
    let target =
      wish.map.first { $0.key.lowercased() == table.lowercased() }?.value ?? table
    guard let dot = target.firstIndex(of: "."), wish.map.values.contains(target) else {
      return (database, target)
    }
    return (String(target[..<dot]), String(target[target.index(after: dot)...]))
  }

  /// A database may have a dot in its name.
  static func parts(of place: String, _ database: String) -> [String] {
    guard !place.hasPrefix(database + ".") else {
      return [database, String(place.dropFirst(database.count + 1))]
    }
    let parts = place.split(separator: ".", maxSplits: 1).map(String.init)
    return parts.count == 2 ? parts : [database, place]
  }

  func create(_ plan: MirrorPlan, on server: ServerConnection) throws(ServerError) {
    for table in plan.tables {
      guard table.action == "create", let sql = table.statement else { continue }
      do throws(ServerError) {
        try server.execute(sql)
      } catch {
        throw ServerError(code: error.code, message: "\(table.server_table): \(error.message)")
      }
    }
  }

  /// Makes what the plan says. What was there before keeps its numbers.
  func carryOut(
    _ plan: MirrorPlan, holder: String, node: String, site: String
  ) throws(FlotillaError) -> [MirrorSettings.Table] {
    let server = try connected()
    let ledger = ServerLedger(
      server: server, database: server.database, site: site, holder: holder, session: "")
    return try asking { () throws(ServerError) in
      try create(plan, on: server)
      try ledger.install()
      let known = try ledger.tables()
      // What the server says is mirrored gives a table that was shown its number, and no more.
      var last = known.map(\.number).max() ?? 0
      var tables: [MirrorSettings.Table] = []
      for table in plan.tables {
        let parts = Self.parts(of: table.server_table, server.database)
        var one = MirrorSettings.Table(
          number: 0, table: table.table, schema: parts[0], name: parts[1])
        let before = known.first {
          $0.table.lowercased() == one.table.lowercased() && $0.schema == one.schema
            && $0.name == one.name
        }
        if before == nil { last += 1 }
        one.number = before?.number ?? last
        tables.append(one)
      }
      try ledger.appoint(node: node, tables: tables)
      return tables
    }
  }

  /// Takes triggers and the mirror's own tables out of the server; rows stay. Where another node
  /// has taken the mirror over they are that one's, and nothing is touched: gives its name.
  func remove(_ settings: MirrorSettings) throws(FlotillaError) -> String? {
    let server = try connected()
    return try asking { () throws(ServerError) in
      if let occupant = try ServerLedger.occupant(of: server.database, on: server),
        occupant.holder != settings.holder
      {
        return occupant.node
      }
      try Capture.remove(
        numbers: settings.tables.map(\.number), database: server.database, on: server)
      return nil
    }
  }

  /// Who mirrors into the database; nil if nobody does.
  func holder() throws(FlotillaError) -> String? {
    let server = try connected()
    return try asking { () throws(ServerError) in
      try ServerLedger.occupant(of: server.database, on: server)?.holder
    }
  }
}
