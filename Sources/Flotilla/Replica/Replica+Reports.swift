import FoundationEssentials
import Replication
import SQLite
import Store

/// The commands that change or show something of a replica.
extension Replica {
  /// Chooses tables for the whole site; `onCollision` is one of `collisionChoices` and says what
  /// becomes of two rows that get one integer key on two nodes.
  public func track(
    _ tables: TableSelection, rule: String?, onCollision: String? = nil,
    progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> TrackReport {
    var names: [String]?
    if case .named(let list) = tables { names = list }
    let request = ControlRequest.track(tables: names, rule: rule, onCollision: onCollision)
    return try await perform(request, telling: progress) { node async throws(FlotillaError) in
      try await node.track(tables, rule: rule, onCollision: onCollision, telling: progress)
    }
  }

  /// What can become of two rows that get one integer key: the later one gets a fresh number, or
  /// one of them goes to the conflict log.
  public static let collisionChoices = KeyHandling.Kind.choices.map(\.rawValue)

  /// Stops replicating tables, on every node.
  public func untrack(_ tables: [String]) async throws(FlotillaError) -> TrackReport {
    try await perform(.untrack(tables: tables)) { node async throws(FlotillaError) in
      try await node.untrack(tables)
    }
  }

  /// Says that tables of this file are not those that the site tracks under their names.
  public func decline(_ tables: [String]) async throws(FlotillaError) -> TrackReport {
    try await perform(.decline(tables: tables)) { node async throws(FlotillaError) in
      try await node.decline(tables)
    }
  }

  /// Begins or ends that the site takes in new tables by itself.
  public func take(newTables isWanted: Bool) async throws(FlotillaError) -> TrackReport {
    try await perform(.takeNewTables(isWanted: isWanted)) { node async throws(FlotillaError) in
      try await node.take(newTables: isWanted)
    }
  }

  /// The tables of this file, and what becomes of each.
  public func tables() async throws(FlotillaError) -> TablesReport {
    try await perform(.tables) { node async throws(FlotillaError) in try await node.tables() }
  }

  /// The tables of a file that need not be a replica, by name.
  public func tablesOfFile() async throws(FlotillaError) -> [String] {
    let (path, sidecar) = (path, sidecar)
    return try await offPool { () throws(FlotillaError) in
      let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
      return try reporting(path) { () throws(StoreError) in
        try TableSchema.all(on: connection).filter { !TableSchema.isReserved($0) }.sorted()
      }
    }
  }

  /// Shows the rules, or sets one if both arguments are given.
  public func rule(
    table: String?, rule: String?
  ) async throws(FlotillaError) -> RuleReport {
    try await perform(.rule(table: table, rule: rule)) { node async throws(FlotillaError) in
      try await node.rule(table: table, rule: rule)
    }
  }

  /// The columns of the replicated tables, here and as the site knows them; before that says what
  /// was renamed, or lets go of values that are kept for columns which are not here.
  public func schema(_ request: SchemaRequest = .show) async throws(FlotillaError) -> SchemaReport {
    try await perform(.schema(request)) { node async throws(FlotillaError) in
      try await node.schema(request)
    }
  }

  /// How the schema differs from that of another member; with `adopts` adds what is missing here.
  public func schema(
    comparedWith peer: String, adopts: Bool, timeout: Duration
  ) async throws(FlotillaError) -> SchemaReport {
    let request = ControlRequest.compareSchema(
      peer: peer, adopts: adopts, milliseconds: Int(timeout.milliseconds))
    return try await perform(request, within: timeout) {
      (node, rest) async throws(FlotillaError) in
      try await node.compareSchema(with: peer, adopts: adopts, timeout: rest)
    }
  }

  /// One exchange now, both ways, with all reachable nodes or the one named.
  public func sync(
    with peer: String?, timeout: Duration,
    progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> SyncReport {
    let request = ControlRequest.sync(peer: peer, milliseconds: Int(timeout.milliseconds))
    return try await perform(request, within: timeout, telling: progress) {
      (node, rest) async throws(FlotillaError) in
      try await node.sync(with: peer, timeout: rest, telling: progress)
    }
  }

  /// Returns when what was committed here before the call is there, or the time is over.
  public func wait(
    for target: WaitTarget, timeout: Duration
  ) async throws(FlotillaError) -> WaitReport {
    var name: String?
    if case .node(let node) = target { name = node }
    let request = ControlRequest.wait(
      target: name, all: target == .all, anchor: target == .anchor,
      milliseconds: Int(timeout.milliseconds))
    return try await perform(request, within: timeout) {
      (node, rest) async throws(FlotillaError) in
      try await node.wait(for: target, timeout: rest)
    }
  }

  /// The time of the site; before that sets it to ms since 1970, says whether the clock of this
  /// machine is to be believed, and writes rows again whose stamps are from the future.
  public func clock(
    set time: Int64? = nil, isGood: Bool? = nil, repairs: Bool = false, force: Bool = false
  ) async throws(FlotillaError) -> ClockReport {
    let request = ControlRequest.clock(
      set: time, isGood: isGood, repairs: repairs, isForced: force)
    return try await perform(request) { node async throws(FlotillaError) in
      try await node.clock(set: time, isGood: isGood, repairs: repairs, isForced: force)
    }
  }

  /// The state of this replica and its peers; `all` counts members that are away too.
  public func status(all: Bool) async throws(FlotillaError) -> StatusReport {
    var report = try await perform(.status(all: all)) { node async throws(FlotillaError) in
      try await node.status(all: all)
    }
    // A node that runs tells it, unless it is of a version that does not.
    if report.running, let remark = ProgramVersion.remark(report.program, path),
      !report.remarks.contains(where: { $0.contains(ProgramFile.restart(path)) })
    {
      report.remarks.append(remark)
    }
    return report
  }
}

extension SQLValue {
  /// As SQLite stores it.
  var stored: SQLite.Value {
    switch self {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .real(let real): .real(real)
    case .text(let text): .string(text)
    case .malformedText(let bytes): .text(bytes)
    case .blob(let bytes): .blob(bytes)
    }
  }

  /// As it travels.
  var travelling: Replication.Value { Replication.Value(stored) }

  init(_ value: Replication.Value) { self.init(value.sqlite) }

  init(_ value: SQLite.Value) {
    self =
      switch value {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let bytes):
        String(validating: bytes, as: UTF8.self).map { .text($0) }
          ?? .malformedText(bytes)
      case .blob(let bytes): .blob(bytes)
      }
  }
}
