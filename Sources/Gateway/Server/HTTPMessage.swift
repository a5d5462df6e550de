/// One request as it came: nothing of it is believed yet.
package struct HTTPRequest: Sendable {
  package var method: String
  /// The path and the query, as written.
  package var target: String
  /// Names in small letters, in the order in which they came; one name may come twice.
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  /// Whether it came through TLS.
  package var isSecure = false
  /// When it was complete.
  var arrival = ContinuousClock.now
  /// How long it may wait for its turn.
  var turnTime = ServerLimits().turnTime
  /// Who asks, for the shares of all: the hash of a token, or nothing.
  var asker = ""
  /// What cannot be told from the rest, for the library reads lines as text of C.
  var flaw: Flaw?

  enum Flaw: Sendable {
    /// The target is not UTF-8.
    case target
    /// A line of the head has a NUL in it, and what stands behind that is lost.
    case nul
  }

  package init(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
  }

  /// The value of a header; of several the first.
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// Every value of a header that is a list, with commas between them.
  func list(_ name: String) -> String? {
    let values = headers.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  func count(of name: String) -> Int { headers.count { $0.name == name } }
}

/// One answer.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  /// Whether nothing more is read on the connection.
  var closes = false
  /// Writes the body, if it goes on for long; `body` is empty then.
  var stream: (@Sendable (ResponseStream) async -> Void)?

  package init(
    _ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
  ) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  func with(_ header: String, _ value: String) -> HTTPResponse {
    var response = self
    response.headers.append((header, value))
    return response
  }

  /// What a person reads beside the number (RFC 9110, 15).
  var reason: String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 409: "Conflict"
    case 410: "Gone"
    case 412: "Precondition Failed"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    case 507: "Insufficient Storage"
    default: "Answer"
    }
  }
}
