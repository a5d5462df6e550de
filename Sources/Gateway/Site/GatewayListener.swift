import Flotilla
import FoundationEssentials
import Glibc

/// Where the gateway listens: one address, and a socket for each database.
enum GatewayListener {
  static let defaultPort: UInt16 = 7392

  /// An address to listen on, as it was written.
  struct Address: Equatable {
    var host: String
    var port: UInt16
    /// Whether another port will do.
    var isFlexible = false

    /// Whether other machines get there: then all goes through TLS.
    var isForOthers: Bool { !ListenAddress.isOfThisMachine(host) }
    /// Whether it stands for every address of this machine.
    var isEvery: Bool { ["0.0.0.0", "::"].contains(host) }
    /// The host as a URL has it.
    var written: String { host.contains(":") ? "[\(host)]" : host }
  }

  /// Reads HOST:PORT; without a host it is 127.0.0.1, and without anything also the usual port.
  static func address(_ text: String?) throws(FlotillaError) -> Address {
    guard let text, !text.isEmpty else {
      return Address(host: "127.0.0.1", port: defaultPort, isFlexible: true)
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else {
      throw FlotillaError(.usage, "\(text) is no HOST:PORT for the gateway")
    }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    if host.isEmpty || host == "localhost" { host = "127.0.0.1" }
    guard isAddress(host) else {
      throw FlotillaError(
        .usage, "\(host) is no address on which the gateway can listen", remedy: choices)
    }
    return Address(host: host, port: port)
  }

  /// Whether a text is an IP address; in brackets, too.
  static func isAddress(_ text: String) -> Bool {
    var bytes = in6_addr()
    if inet_pton(AF_INET, text, &bytes) == 1 { return true }
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? String(text.dropFirst().dropLast()) : text
    return inet_pton(AF_INET6, inner, &bytes) == 1
  }

  /// Opens a TCP socket; gives it and its port. Where any port will do, those of the nodes are left
  /// to them.
  static func open(
    _ address: Address, besides replicas: [Replica] = []
  ) throws(FlotillaError) -> (socket: Int32, port: UInt16) {
    guard address.isFlexible else { return try open(address.host, address.port) }
    let taken = nodePorts(of: replicas)
    for port in [address.port] + otherPorts where !taken.contains(port) {
      if let opened = try? open(address.host, port) { return opened }
    }
    return try open(address.host, 0)
  }

  /// Beyond those for which docs/network.md opens firewalls.
  private static let otherPorts: [UInt16] = Array(7_400...7_419)
  /// Nodes look so far for a free port, here.
  private static let mostNodePorts = 200

  /// The ports that nodes of these replicas take when they are started now.
  private static func nodePorts(of replicas: [Replica]) -> Set<UInt16> {
    var taken: Set<UInt16> = []
    for replica in replicas {
      let first = replica.port ?? defaultPort - 1
      let ports = first...min(first, .max - UInt16(mostNodePorts)) + UInt16(mostNodePorts)
      if let free = ports.first(where: { !taken.contains($0) && isFree($0) }) {
        taken.formUnion([first, free])
      }
    }
    return taken
  }

  private static func isFree(_ port: UInt16) -> Bool {
    guard let (socket, _) = try? open("0.0.0.0", port) else { return false }
    close(socket)
    return true
  }

  private static let choices =
    "Take one of this machine (ip -brief address), 127.0.0.1 for programs of this machine alone, "
    + "or 0.0.0.0 for every one."

  private static func notHere(_ host: String) -> FlotillaError {
    FlotillaError(.refused, "\(host) is no address of this machine", remedy: choices)
  }

  private static func open(
    _ host: String, _ port: UInt16
  ) throws(FlotillaError) -> (socket: Int32, port: UInt16) {
    var found: UnsafeMutablePointer<addrinfo>?
    var wish = addrinfo()
    wish.ai_family = AF_UNSPEC
    wish.ai_socktype = Int32(SOCK_STREAM.rawValue)
    wish.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    let code = getaddrinfo(host, String(port), &wish, &found)
    defer { if let found { freeaddrinfo(found) } }
    guard code == 0, let place = found?.pointee else {
      throw FlotillaError(
        .refused, "\(host) is no address of this machine: \(String(cString: gai_strerror(code)))")
    }
    let descriptor = socket(
      place.ai_family,
      Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw failure("open a socket") }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard Glibc.bind(descriptor, place.ai_addr, place.ai_addrlen) == 0,
      listen(descriptor, 128) == 0
    else {
      let isHere = errno != EADDRNOTAVAIL
      let error = isHere ? failure("listen on \(host), port \(port)") : notHere(host)
      close(descriptor)
      throw error
    }
    return (descriptor, boundPort(of: descriptor))
  }

  private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
    withUnsafeBytes(of: &address) { bytes in
      Glibc.bind(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(bytes.count)) == 0
    }
  }

  private static func boundPort(of descriptor: Int32) -> UInt16 {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let isKnown = withUnsafeMutableBytes(of: &address) { bytes in
      let place = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return getsockname(descriptor, place, &length) == 0
        && getnameinfo(
          place, length, nil, 0, &port, socklen_t(port.count), NI_NUMERICSERV) == 0
    }
    guard isKnown else { return 0 }
    return port.withUnsafeBufferPointer { UInt16(String(cString: $0.baseAddress!)) } ?? 0
  }

  /// Opens a socket for the owner of the database alone; the path is no longer than one may be.
  static func openLocal(_ path: String) throws(FlotillaError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8.prefix(MemoryLayout.size(ofValue: address.sun_path) - 1)) + [0]
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw failure("open a socket") }
    // Linux gives the file the mode of the unbound socket, so it is never open to others.
    fchmod(descriptor, 0o600)
    var isBound = bind(descriptor, &address)
    if !isBound, errno == EADDRINUSE, isStale(&address) {
      unlink(path)
      isBound = bind(descriptor, &address)
    }
    guard isBound, listen(descriptor, 128) == 0 else {
      let error = failure("listen on \(path)")
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Whether nobody answers there any more.
  private static func isStale(_ address: inout sockaddr_un) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return withUnsafeBytes(of: &address) { bytes in
      connect(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(bytes.count)) != 0 && errno == ECONNREFUSED
    }
  }

  private static func failure(_ what: String) -> FlotillaError {
    FlotillaError(
      .system, "the gateway cannot \(what): \(String(cString: strerror(errno)))",
      remedy: errno == EADDRINUSE ? "Give it another port: --http 127.0.0.1:0" : nil)
  }
}
