import Flotilla
import FoundationEssentials

/// Signing in and out: a browser trades a token for a cookie that no script can read.
extension Gateway {
  /// Browsers send a cookie to every port of a machine, so each gateway has a name of its own.
  var cookieName: String { "flotilla_\(port)" }

  func session(_ request: HTTPRequest, _ target: RequestTarget) async throws(Problem)
    -> HTTPResponse
  {
    if let one = target.parameters.first {
      throw .badRequest("query", "the parameter \(one.name) is unknown here")
    }
    guard nodesServe else { throw .later("node", "the node is starting or stopping") }
    switch request.method {
    case "POST": return try await signIn(request)
    case "DELETE":
      try requireOwnOrigin(request)
      if let cookie = request.cookie(cookieName) { sessions.end(cookie) }
      return HTTPResponse(204, headers: [("Set-Cookie", cookieLine("", seconds: 0, request))])
    default:
      try allow(request, ["GET", "POST", "DELETE"])
      guard let (database, token) = try await signedIn(request) else {
        return .json(.object(["database": .null]))
      }
      return .json(try await Self.account(database, token))
    }
  }

  private func signIn(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let text: String
    do throws(Problem) {
      text = try Self.token(in: request)
    } catch {
      _ = await tries.note("somebody signed in without a token")
      throw error
    }
    let hash = AccessToken.hash(of: text)
    for database in databases {
      guard let token = try await database.token(hash: hash) else { continue }
      let account = try await Self.account(database, token)
      if let old = request.cookie(cookieName) { sessions.end(old) }
      let cookie = sessions.begin(database.name, token: hash, at: .now)
      let seconds = Int(PageSessions.lifetime / .seconds(1))
      return HTTPResponse.json(account)
        .with("Set-Cookie", cookieLine(cookie, seconds: seconds, request))
    }
    throw await tries.note("somebody signed in with an unknown or expired token")
  }

  /// `Secure` where it came through TLS alone: else some browsers would not send it, not even to
  /// this machine.
  private func cookieLine(_ value: String, seconds: Int, _ request: HTTPRequest) -> String {
    "\(cookieName)=\(value); Path=/v1; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
      + (request.isSecure ? "; Secure" : "")
  }

  /// Anybody may send one.
  private static let longestSignIn = 4 << 10

  /// The token in a body `{"token": "…"}`.
  private static func token(in request: HTTPRequest) throws(Problem) -> String {
    guard request.body.count <= longestSignIn else {
      throw Problem(
        413, "too-large", "to sign in takes \(longestSignIn) bytes at most: {\"token\": \"…\"}")
    }
    guard case .object(let members) = try request.json(),
      members.count == 1, members[0].name == "token", case .text(let text) = members[0].value
    else { throw .badRequest("body", "to sign in send {\"token\": \"…\"}") }
    return text
  }

  /// What the page is told of who has signed in.
  private static func account(
    _ database: GatewayDatabase, _ token: AccessToken
  ) async throws(Problem) -> JSON {
    let tables = try await database.standing().tables(of: token)
    return .object([
      "database": .text(database.name),
      "file": .text(URL(filePath: database.replica.path).lastPathComponent),
      "token": .text(token.name), "tables": .object(tables.mapValues(JSON.text)),
      "sees_site": .bool(token.readsAll), "settles": .bool(token.writesAll),
    ])
  }

  /// Whom the cookie of a request stands for; nil if for nobody, or nobody any more.
  func signedIn(
    _ request: HTTPRequest
  ) async throws(Problem) -> (GatewayDatabase, AccessToken)? {
    guard let cookie = request.cookie(cookieName),
      let session = sessions.find(cookie, at: .now),
      let database = databases.first(where: { $0.name == session.database }),
      let token = try await database.token(hash: session.token)
    else { return nil }
    return (database, token)
  }

  /// A page of another site must not write with the cookie of this one.
  func requireOwnOrigin(_ request: HTTPRequest) throws(Problem) {
    guard request.isSafe || request.namesOwnOrigin else {
      throw Problem(
        403, "origin", "a write with the cookie must say that it comes from a page of this gateway",
        remedy: "Programs send a token instead: Authorization: Bearer TOKEN")
    }
  }
}
