import Flotilla
import FoundationEssentials
import Glibc
import Synchronization

/// Serves the rows of one or more replicas, and what is known of the site, over HTTP.
///
/// It is a program beside the node: it reads and writes the files with plain SQL and asks the node
/// as the commands do.
public final class Gateway: Sendable {
  let databases: [GatewayDatabase]
  let check: RequestCheck
  let tries: FailedTries
  private let causes = UntoldCauses()
  let log: @Sendable (String) -> Void
  let sessions = PageSessions()
  let metrics = GatewayMetrics()
  /// What else tells figures of a database.
  let figures: @Sendable (Replica) async -> [GatewayFigure]
  /// What the node has to work out, and what reads every row.
  let reports = Turnstile(most: 8)
  /// What anybody may ask.
  let readiness = ReadyState()
  let proofs = Turnstile(most: 1)
  /// Each is a tree of all columns for a moment.
  let descriptions = Turnstile(most: 1)
  private let server = HTTPServer()
  private let isReady = Atomic(false)
  private let localPaths: [String]

  /// Where it is reached, as a URL.
  public let url: String
  /// What the one who runs it should know beside that: its certificate and its sockets.
  public let remarks: [String]
  let port: UInt16

  /// Listens at HOST:PORT, or at the usual port of 127.0.0.1, and on a socket for each database.
  /// Other machines are served through TLS. Until `nodesAreReady` is called, requests are told to
  /// wait.
  public init(
    _ replicas: [Replica], address: String?,
    figures: @escaping @Sendable (Replica) async -> [GatewayFigure] = { _ in [] },
    log: @escaping @Sendable (String) -> Void
  ) throws(FlotillaError) {
    self.figures = figures
    databases = replicas.map { GatewayDatabase($0) }
    let names = databases.map(\.name)
    if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw FlotillaError(
        .usage, "two databases are named \(twice), and the gateway could not tell them apart",
        remedy: "Serve them by two nodes: flotilla run DB --http, each with its own port.")
    }
    let place = try GatewayListener.address(address)
    let opened = try Opened(place, databases.map(\.replica))
    localPaths = opened.paths
    (port, url, remarks) = (opened.port, opened.url, opened.remarks)
    check = RequestCheck(
      hosts: RequestCheck.local.union([place.written])
        .union(place.isForOthers ? MachineNames.all() : []),
      takesAddresses: place.isForOthers)
    self.log = log
    tries = FailedTries(log: log)
    server.start(
      opened.sockets, secure: opened.secure, limits: Self.limits, busy: { Self.busy },
      asker: { [weak self] in self?.asker(of: $0) ?? "" }
    ) { [weak self] request in
      self?.work(on: request) ?? HTTPWork { Self.busy }
    }
  }

  /// From now on requests are answered.
  public func nodesAreReady() {
    readiness.begin()
    isReady.store(true, ordering: .releasing)
  }

  public func stop() async {
    isReady.store(false, ordering: .releasing)
    for database in databases { await database.changes.stop() }
    await server.stop()
    for path in localPaths { unlink(path) }
  }

  /// No more connections than a quarter of the files that this process may open: the node needs
  /// its own.
  private static var limits: ServerLimits {
    var limits = ServerLimits()
    var files = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 {
      limits.connections = max(8, min(limits.connections, Int(clamping: files.rlim_cur) / 4))
    }
    return limits
  }

  private static var busy: HTTPResponse {
    Problem.later("busy", "too many requests at a time").response
  }

  /// The hash of the token with which somebody asks, or that of the session; nobody has looked yet
  /// whether it is one.
  private func asker(of request: HTTPRequest) -> String {
    if let word = request.header("authorization")?.split(separator: " ").last {
      return AccessToken.hash(of: String(word))
    }
    return request.cookie(cookieName).flatMap { sessions.find($0, at: .now) }?.token ?? ""
  }

  /// Who asks for rows is answered on the thread of the connection that reads them, if one is free:
  /// to wake another thread takes longer than to read a row.
  private func work(on request: HTTPRequest) -> HTTPWork {
    guard let seat = readers(for: request)?.freeSeat(for: request.asker) else {
      return HTTPWork { [self] in await answer(request, at: nil) }
    }
    return HTTPWork(on: seat.desk.executor) { [self] in
      defer { seat.leave() }
      return await answer(request, at: seat)
    }
  }

  private func readers(for request: HTTPRequest) -> DeskPool? {
    guard nodesServe, ["GET", "HEAD"].contains(request.method) else { return nil }
    let path = request.target.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
    guard path.count == 5, path[1] == "v1", path[3] == "rows",
      let name = try? RequestTarget.decoded(path[2])
    else { return nil }
    return databases.first { $0.name == name }?.reader
  }

  private func answer(_ request: HTTPRequest, at seat: DeskPool.Seat?) async -> HTTPResponse {
    var response: HTTPResponse
    do throws(Problem) {
      try check.check(request)
      response = try await route(request, at: seat)
    } catch {
      response = error.response
      if let line = error.untold.flatMap({ causes.line($0, at: .now) }) { log(line) }
    }
    response.addUsual()
    metrics.count(request.method, response.status)
    return response
  }

  var nodesServe: Bool { isReady.load(ordering: .acquiring) }
}
