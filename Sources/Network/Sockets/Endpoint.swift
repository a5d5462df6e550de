/// Where a node listens: a host (an address or a name) and a port.
///
/// The host is kept in one canonical spelling, so that equal endpoints compare equal: IPv6 as
/// RFC 5952 writes it with the interface after `%`, IPv4 within IPv6 as IPv4, names in lower case.
package struct Endpoint: Hashable, Sendable {
  /// The port at which a node listens unless told otherwise.
  package static let defaultPort: UInt16 = 7391

  /// An IPv4 or IPv6 address, a host name, or the path of a UNIX-domain socket.
  package let host: String
  /// The TCP port; 0 for a UNIX-domain socket.
  package let port: UInt16

  /// An endpoint for a host that is an address or a name, checked as `init(parsing:)` does.
  package init(host: String, port: UInt16) throws(NetworkError) {
    self.host = try HostText.canonical(host)
    self.port = port
  }

  /// The endpoint of a UNIX-domain socket.
  init(localPath: String) {
    host = localPath
    port = 0
  }

  /// An endpoint whose host is canonical already.
  init(canonicalHost: String, port: UInt16) {
    host = canonicalHost
    self.port = port
  }

  /// Whether this is the path of a UNIX-domain socket.
  package var isLocal: Bool { port == 0 && host.contains("/") }
}

extension Endpoint: CustomStringConvertible {
  /// The text that `init(parsing:)` reads, or the path of a UNIX-domain socket.
  package var description: String {
    if isLocal { return host }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

extension Endpoint: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    try self.init(parsing: container.decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
