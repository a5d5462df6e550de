/// What must hold of every request before it is looked at: that its length is in no doubt, and that
/// it is no page of another site that sends it through somebody's browser.
struct RequestCheck: Sendable {
  /// The names under which the gateway is called, without ports.
  var hosts: Set<String>
  /// Whether any address will do for a name: then others reach this machine, by whatever address
  /// it has. No page can have an address mean another machine than it does.
  var takesAddresses = false

  static let local: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

  func check(_ request: HTTPRequest) throws(Problem) {
    if request.flaw == .target {
      throw .badRequest("encoding", "the target of the request is not UTF-8")
    }
    try checkLength(request)
    try checkHost(request)
    try checkOrigin(request)
  }

  /// "A server MAY reject a request that contains both Content-Length and Transfer-Encoding"
  /// (RFC 9112, 6.1): what stands behind such a body could be read as another request.
  private func checkLength(_ request: HTTPRequest) throws(Problem) {
    let lengths = request.count(of: "content-length")
    let codings = request.headers.filter { $0.name == "transfer-encoding" }.map(\.value)
    var doubt: String?
    if request.flaw == .nul {
      doubt = "a line of its head has a NUL in it"
    } else if lengths > 0, !codings.isEmpty {
      doubt = "it has both Content-Length and Transfer-Encoding"
    } else if lengths > 1 {
      doubt = "it has two lengths"
    } else if codings.count > 1 || codings.contains(where: { $0.lowercased() != "chunked" }) {
      doubt = "its Transfer-Encoding is not chunked"
    } else if let length = request.header("content-length"), !isLength(length, of: request) {
      doubt = "its Content-Length is not that of its body"
    } else if request.headers.contains(where: { $0.name.contains { " \t\0".contains($0) } }) {
      doubt = "the name of a header has a blank in it"
    }
    if let doubt {
      throw Self.closing(400, "framing", "the length of the request is in doubt: \(doubt)")
    }
    // libevent takes "0x5" for the length of a chunk; who passes requests on may take it otherwise.
    if !codings.isEmpty {
      throw Self.closing(
        411, "length", "a body in chunks is not taken", remedy: "Send it with its Content-Length.")
    }
    // "might lead some implementations to reject the request and close the connection because of
    // its potential as a request smuggling attack" (RFC 9110, 9.3.1, of content in a GET request)
    if !request.body.isEmpty, ["GET", "HEAD", "DELETE", "OPTIONS"].contains(request.method) {
      throw Self.closing(400, "framing", "a request of the method \(request.method) has no body")
    }
  }

  /// What comes behind such a request is not read.
  private static func closing(
    _ status: Int, _ code: String, _ message: String, remedy: String? = nil
  ) -> Problem {
    var problem = Problem(status, code, message, remedy: remedy)
    problem.closes = true
    return problem
  }

  private func isLength(_ text: String, of request: HTTPRequest) -> Bool {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int(text) == request.body.count
  }

  /// A page of another site can have a name of its own mean this machine (DNS rebinding); the
  /// browser then sends that name.
  private func checkHost(_ request: HTTPRequest) throws(Problem) {
    guard request.count(of: "host") == 1, let host = request.header("host"), !host.isEmpty else {
      throw .badRequest("host", "a request has one Host header")
    }
    let name = Self.name(of: host)
    guard hosts.contains(name) || takesAddresses && isAddress(name) else {
      throw Problem(
        421, "host", "this gateway is not called \(host)",
        remedy: "Call it by \(hosts.sorted().joined(separator: ", ")).")
    }
  }

  private func isAddress(_ name: String) -> Bool {
    GatewayListener.isAddress(name) && (name.hasPrefix("[") || !name.contains(":"))
  }

  /// The name in a Host header, without the port.
  static func name(of host: String) -> String {
    let host = host.lowercased()
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
      let rest = host[host.index(after: end)...]
      return rest.isEmpty || isPort(rest) ? String(host[...end]) : host
    }
    guard let colon = host.firstIndex(of: ":") else { return host }
    return isPort(host[colon...]) ? String(host[..<colon]) : host
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.first == ":" && text.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  private func checkOrigin(_ request: HTTPRequest) throws(Problem) {
    let isForeign = request.headers.contains { header in
      switch header.name {
      case "origin":
        header.value
          != (request.isSecure ? "https://" : "http://") + (request.header("host") ?? "")
      case "sec-fetch-site":
        !["same-origin", "none"].contains(header.value) && !isVisit(request)
      default: false
      }
    }
    guard isForeign else { return }
    throw Problem(403, "origin", "pages of other sites may not use this gateway")
  }

  /// Whether somebody follows a link to the page for people. That is a file that anybody may have,
  /// and what it asks for itself comes from its own site.
  private func isVisit(_ request: HTTPRequest) -> Bool {
    request.method == "GET" && request.target == "/"
      && request.header("sec-fetch-mode") == "navigate"
      && request.header("sec-fetch-dest") == "document"
  }
}
