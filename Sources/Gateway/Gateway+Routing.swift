import Flotilla

/// Which resource a request means.
extension Gateway {
  func route(
    _ request: HTTPRequest, at seat: DeskPool.Seat?
  ) async throws(Problem) -> HTTPResponse {
    let target = try RequestTarget(request.target)
    switch target.path {
    case ["v1", "session"]: return try await session(request, target)
    case ["health"]:
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return .json(.object(["status": .text("alive")]))
    case ["ready"]:
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return try await ready()
    case ["metrics"]:
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      let known = try await databases(for: request)
      return try await reports.pass("metrics") { () throws(Problem) in
        try await allMetrics(of: known)
      }
    default: break
    }
    if let file = PageFile.all[target.path.joined(separator: "/")] {
      try allow(request, ["GET"])
      return try file.answer(to: request)
    }
    guard target.path.count >= 3, target.path[0] == "v1" else { throw Self.nowhere }
    guard nodesServe else { throw .later("node", "the node is starting or stopping") }
    let name = try RequestTarget.decoded(target.path[1])
    guard let database = databases.first(where: { $0.name == name }) else {
      // Who has no token does not learn which databases there are.
      throw await tries.note("an unknown database was asked for")
    }
    let token = try await authorised(request, database)
    let mayStill = { @Sendable [self] in await self.mayStill(request, database, token) }
    let rest = Array(target.path[2...])
    if rest[0] == "rows", rest.count == 2 || rest.count == 3 {
      let call = RowCall(
        database: database, token: token, request: request, target: target,
        table: try RequestTarget.decoded(rest[1]), key: rest.count == 3 ? rest[2] : nil,
        seat: seat, mayStill: mayStill)
      let answer = try await call.answer()
      if !request.isSafe { return answer }
      return await mayStill() ? answer : Self.takenBack
    }
    let answer = try await site(rest, request, target, database, token, mayStill)
    // Who was let in may have waited, and is told nothing more once he may not be.
    return await mayStill() ? answer : Self.takenBack
  }

  static let takenBack =
    Problem(401, "token", "the token was taken back, or you have signed out").response

  private static var nowhere: Problem { Problem(404, "resource", "there is no such resource") }

  func allow(_ request: HTTPRequest, _ methods: [String]) throws(Problem) {
    let all = methods.contains("GET") ? methods + ["HEAD"] : methods
    guard !all.contains(request.method) else { return }
    var problem = Problem(405, "method", "\(request.method) is not among the methods here")
    problem.headers = [("Allow", all.joined(separator: ", "))]
    throw problem
  }

  /// The token of a request: one that the database knows.
  func authorised(
    _ request: HTTPRequest, _ database: GatewayDatabase
  ) async throws(Problem) -> AccessToken {
    guard let header = request.header("authorization") else {
      return try await authorisedByCookie(request, database)
    }
    let words = header.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else {
      throw await tries.note("it had no token")
    }
    guard let token = try await database.token(hash: request.asker) else {
      throw await tries.note("its token is unknown or expired")
    }
    return token
  }

  /// Whether a client that was let in is so still: its token as it was, and its session.
  func mayStill(
    _ request: HTTPRequest, _ database: GatewayDatabase, _ token: AccessToken
  ) async -> Bool {
    if request.header("authorization") == nil {
      guard let known = try? await signedIn(request) else { return false }
      return known.0 === database && known.1 == token
    }
    return (try? await database.token(hash: token.hash)) == token
  }

  private func authorisedByCookie(
    _ request: HTTPRequest, _ database: GatewayDatabase
  ) async throws(Problem) -> AccessToken {
    guard request.cookie(cookieName) != nil else {
      throw await tries.note("it had no token")
    }
    guard let (known, token) = try await signedIn(request), known === database else {
      throw await tries.note("its cookie is unknown or expired")
    }
    try requireOwnOrigin(request)
    return token
  }

  /// What is known of the site, as the commands tell it with `--json`.
  private func site(
    _ path: [String], _ request: HTTPRequest, _ target: RequestTarget,
    _ database: GatewayDatabase, _ token: AccessToken,
    _ mayStill: @escaping @Sendable () async -> Bool
  ) async throws(Problem) -> HTTPResponse {
    let what = path.joined(separator: "/")
    if what == "changes" {
      try allow(request, ["GET"])
      return try await ChangeCall(request, target, database, token, mayStill: mayStill).answer()
    }
    if path.count == 2, path[0] == "receipts" {
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return try await ReceiptCall(
        database: database, token: token, request: request, id: path[1]
      ).answer()
    }
    if what == "tables" {
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return try await reports.pass(what) { () throws(Problem) in
        .json(try await TableList.read(database, for: token))
      }
    }
    if what == "openapi.json" {
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return try await descriptions.pass(what) { () throws(Problem) in
        try await OpenAPI.answer(database, for: token)
      }
    }
    if what == "query" {
      try allow(request, ["POST"])
      _ = try flag("", in: target, isKnown: false)
      return try await QueryCall(database: database, token: token, request: request).answer()
    }
    let isOfPeople = ["doctor", "clock", "invitations"].contains(path[0])
    if isOfPeople || path[0] == "members" && path.count > 1 {
      _ = try flag("", in: target, isKnown: false)
      if let answer = try await people(path, request, database, token) { return answer }
    }
    if path.count == 2, path[0] == "conflicts" {
      try allow(request, ["GET"])
      _ = try flag("", in: target, isKnown: false)
      return try await conflict(path[1], database, token)
    }
    if path.count == 3, path[0] == "conflicts" {
      try allow(request, ["POST"])
      _ = try flag("", in: target, isKnown: false)
      return try await settle(path[1], path[2], database, token)
    }
    guard ["status", "members", "conflicts", "verify"].contains(what) else { throw Self.nowhere }
    try allow(request, ["GET"])
    guard token.readsAll else {
      throw Problem(403, "not-allowed", "\(what) is for tokens that may read every table")
    }
    let isAll = try flag("all", in: target, isKnown: what == "status" || what == "conflicts")
    return try await (what == "verify" ? proofs : reports).pass(what) { () throws(Problem) in
      try await Self.report(what, isAll, database.replica)
    }
  }

  private static func report(
    _ what: String, _ isAll: Bool, _ replica: Replica
  ) async throws(Problem) -> HTTPResponse {
    do throws(FlotillaError) {
      switch what {
      case "status": return .json(JSON(reflecting: try await replica.status(all: isAll)))
      case "members": return .json(JSON(reflecting: try await replica.members()))
      case "conflicts": return .json(JSON(reflecting: try await replica.conflicts(all: isAll)))
      default: return .json(JSON(reflecting: try await replica.verify(timeout: .seconds(30))))
      }
    } catch {
      throw Problem(error)
    }
  }

  /// Whether a parameter is there, which has no value or `true`; no other may be.
  private func flag(
    _ name: String, in target: RequestTarget, isKnown: Bool
  ) throws(Problem) -> Bool {
    for parameter in target.parameters {
      guard isKnown, parameter.name == name, ["", "true", "1"].contains(parameter.value) else {
        throw .badRequest("query", "the parameter \(parameter.name) is unknown here")
      }
    }
    return !target.parameters.isEmpty
  }

  /// Whether each node is at work and can use its file. Anybody may ask, so no name is told.
  private func ready() async throws(Problem) -> HTTPResponse {
    guard nodesServe else { throw .later("node", "the node is starting or stopping") }
    let databases = databases
    let isReady = await readiness.isReady {
      for database in databases {
        guard let status = try? await database.replica.status(all: false), status.running,
          status.trouble == nil
        else { return false }
      }
      return true
    }
    guard isReady else { throw .later("node", "the node is not ready", seconds: 5) }
    return .json(.object(["status": .text("ready")]))
  }

  /// The databases of which the token may know everything.
  private func databases(for request: HTTPRequest) async throws(Problem) -> [GatewayDatabase] {
    guard nodesServe else { throw .later("node", "the node is starting or stopping") }
    let words = request.header("authorization")?.split(separator: " ") ?? []
    var (known, isLimited): ([GatewayDatabase], Bool) = ([], false)
    for database in databases where words.count == 2 && words[0].lowercased() == "bearer" {
      guard let token = try await database.token(hash: request.asker) else { continue }
      if token.readsAll { known.append(database) } else { isLimited = true }
    }
    guard !known.isEmpty || !isLimited else {
      throw Problem(403, "not-allowed", "metrics are for tokens that may read every table")
    }
    guard !known.isEmpty else {
      throw await tries.note("it asked for metrics without a token that may read every table")
    }
    return known
  }

  private func allMetrics(of known: [GatewayDatabase]) async throws(Problem) -> HTTPResponse {
    var reports: [(name: String, report: StatusReport)] = []
    var others: [(name: String, figures: [GatewayFigure])] = []
    for database in known {
      others.append((database.name, await figures(database.replica)))
      do throws(FlotillaError) {
        reports.append((database.name, try await database.replica.status(all: false)))
      } catch {
        throw Problem(error)
      }
    }
    let lines = metrics.lines + GatewayMetrics.lines(reports) + GatewayMetrics.lines(others)
    let text = (lines + ["# EOF", ""]).joined(separator: "\n")
    return HTTPResponse(
      200,
      headers: [("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")],
      body: Array(text.utf8))
  }
}

extension HTTPResponse {
  static func json(_ json: JSON) -> HTTPResponse {
    HTTPResponse(
      200, headers: [("Content-Type", "application/json")],
      body: Array((json.description + "\n").utf8))
  }

  /// What every answer says to a browser, unless it says otherwise itself.
  mutating func addUsual() {
    for (name, value) in Self.usual where !headers.contains(where: { $0.name == name }) {
      headers.append((name, value))
    }
  }

  private static let usual = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
  ]
}
