/// Which tables `init` and `track` choose.
public enum TableSelection: Sendable, Equatable {
  case none
  case all
  case named([String])
}

/// Whom `wait` waits for.
public enum WaitTarget: Sendable, Equatable {
  case all
  case anchor
  case node(String)
}

/// How `run` behaves.
public struct RunOptions: Sendable, Equatable {
  /// HOST:PORT to listen on; nil listens on every address at the remembered or default port.
  public var listen: String?
  /// Static peers, HOST:PORT each.
  public var peers: [String] = []
  /// Whether to find peers through Avahi.
  public var discovery = true

  public init() {}
}

extension Replica {
  /// Makes this file the first replica of a new site; creates the file if absent.
  public func initialise(
    site: String?, node: String?, tables: TableSelection, rule: String?
  ) async throws(FlotillaError) -> InitReport { throw Self.later }

  /// Chooses tables for the whole site.
  public func track(_ tables: TableSelection, rule: String?) async throws(FlotillaError)
    -> TrackReport
  { throw Self.later }

  /// Stops replicating tables, on every node.
  public func untrack(_ tables: [String]) async throws(FlotillaError) -> TrackReport {
    throw Self.later
  }

  /// Shows the rules, or sets one if both arguments are given.
  public func rule(table: String?, rule: String?) async throws(FlotillaError) -> RuleReport {
    throw Self.later
  }

  /// Opens an invitation; `timeToLive` in seconds.
  public func invite(timeToLive: Duration, role: String) async throws(FlotillaError)
    -> InviteReport
  { throw Self.later }

  /// Serves an open invitation from this process until it is used or expired, or a node takes over.
  /// Returns the name of the node that joined, or nil.
  public func serveInvitation(
    _ invitation: InviteReport, remark: @Sendable (String) -> Void
  ) async throws(FlotillaError) -> String? { throw Self.later }

  /// Pairs with a site by a code and makes the first copy.
  public func join(
    code: String, node: String?, at address: String?,
    progress: @escaping @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> JoinReport { throw Self.later }

  /// Stops the running node.
  public func stop() async throws(FlotillaError) { throw Self.later }

  /// One exchange now, both ways, with all reachable nodes or the one named.
  public func sync(with peer: String?, timeout: Duration) async throws(FlotillaError)
    -> SyncReport
  { throw Self.later }

  /// Returns when what was committed here before the call is there, or the time is over.
  public func wait(for target: WaitTarget, timeout: Duration) async throws(FlotillaError)
    -> WaitReport
  { throw Self.later }

  /// The state of this replica and its peers; `all` counts members that are away too.
  public func status(all: Bool) async throws(FlotillaError) -> StatusReport { throw Self.later }

  /// Runs a statement here and gives the rows that it returned or touched.
  public func sql(_ statement: String) async throws(FlotillaError) -> SQLReport {
    throw Self.later
  }

  /// Takes Flotilla out of this file; without `force` it stops short if edits were not sent.
  public func leave(force: Bool) async throws(FlotillaError) -> LeaveReport { throw Self.later }

  /// Checks file, schema, keys, permissions, Avahi, port, clocks and peers.
  public func doctor(repair: Bool) async throws(FlotillaError) -> DoctorReport {
    throw Self.later
  }

  /// Runs the node of one or more replicas until the task is cancelled or `stop` is asked for.
  /// `log` gets one line for each thing worth knowing; `ready` is called once all serve.
  public static func run(
    _ replicas: [Replica], options: RunOptions,
    log: @escaping @Sendable (String) -> Void, ready: @escaping @Sendable () -> Void
  ) async throws(FlotillaError) { throw later }

  static let later = FlotillaError(.system, "not built yet")
}
