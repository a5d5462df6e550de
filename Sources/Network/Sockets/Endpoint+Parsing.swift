extension Endpoint {
  /// Reads `192.168.1.2:7391`, `[fe80::1%eth0]:7391`, `[::1]:5` or `host.name:80`.
  package init(parsing text: String) throws(NetworkError) {
    try self.init(parsing: text, portWhenAbsent: nil)
  }

  /// Reads what `init(parsing:)` reads, and a host without a port, also `::1` without brackets.
  package init(parsing text: String, defaultPort: UInt16) throws(NetworkError) {
    try self.init(parsing: text, portWhenAbsent: defaultPort)
  }

  private init(parsing text: String, portWhenAbsent: UInt16?) throws(NetworkError) {
    let (host, port) = try Self.split(text)
    if let port {
      self.port = try Self.port(port)
    } else if let portWhenAbsent {
      self.port = portWhenAbsent
    } else {
      throw NetworkError(.invalidAddress, "the port is missing, as in 192.168.1.2:7391")
    }
    self.host = try HostText.canonical(host)
  }

  /// The two parts of the text, neither of them checked.
  private static func split(_ text: String) throws(NetworkError) -> (String, String?) {
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else {
        throw NetworkError(.invalidAddress, "the closing bracket is missing, as in [::1]:7391")
      }
      let host = String(text[text.index(after: text.startIndex)..<end])
      guard host.contains(":") else {
        throw NetworkError(.invalidAddress, "only an IPv6 address stands in brackets")
      }
      let rest = text[text.index(after: end)...]
      if rest.isEmpty { return (host, nil) }
      guard rest.hasPrefix(":") else {
        throw NetworkError(.invalidAddress, "after the closing bracket comes a colon and a port")
      }
      return (host, String(rest.dropFirst()))
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    switch parts.count {
    case 1: return (text, nil)
    case 2: return (String(parts[0]), String(parts[1]))
    default: return (text, nil)
    }
  }

  private static func port(_ text: String) throws(NetworkError) -> UInt16 {
    guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }),
      let port = UInt16(text), port > 0
    else {
      throw NetworkError(.invalidAddress, "a port is a number from 1 to 65535")
    }
    return port
  }
}
