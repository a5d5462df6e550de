import Flotilla

/// What went wrong, as a client is told: RFC 9457, "Problem Details for HTTP APIs".
struct Problem: Error, Sendable {
  var status: Int
  /// One word, by which programs tell problems apart.
  var kind: String
  var detail: String
  /// What to do about it.
  var remedy: String?
  var headers: [(name: String, value: String)] = []
  /// More members of the answer.
  var more: [String: JSON] = [:]
  /// What the log says in place of `detail`, which names no files and processes.
  var untold: String?
  /// Whether it says nothing but what the gateway has found.
  var isOfGateway = false
  /// Whether what follows on the connection cannot be trusted.
  var closes = false

  init(_ status: Int, _ kind: String, _ detail: String, remedy: String? = nil) {
    (self.status, self.kind, self.detail, self.remedy) = (status, kind, detail, remedy)
  }

  var response: HTTPResponse {
    var object: [String: JSON] = [
      "type": .text("urn:flotilla:problem:" + kind), "status": .number(String(status)),
      "title": .text(HTTPResponse(status).reason), "detail": .text(detail),
    ]
    if let remedy { object["remedy"] = .text(remedy) }
    object.merge(more) { old, _ in old }
    var response = HTTPResponse(
      status, headers: [("Content-Type", "application/problem+json")] + headers,
      body: Array(JSON.object(object).description.utf8))
    response.closes = closes
    return response
  }

  static func badRequest(_ kind: String, _ detail: String) -> Problem {
    Problem(400, kind, detail)
  }

  static let locked = later("locked", "another program holds the write lock of the database")
  static let readOnly = later(
    "read-only", "the database cannot be written at present", seconds: 10)
  static let diskFull = Problem(
    507, "disk-full", "the disk of the node is full; nothing was changed",
    remedy: "Make room on the node's machine, and send it again; flotilla doctor tells more.")

  /// Something that may work in a moment.
  static func later(_ kind: String, _ detail: String, seconds: Int = 1) -> Problem {
    var problem = Problem(503, kind, detail)
    problem.headers = [("Retry-After", String(seconds))]
    return problem
  }
}
