import CLinux
import Dispatch
import Glibc

extension Endpoint {
  /// The most addresses of one name that are tried.
  private static let addressLimit = 16

  /// The addresses behind this endpoint, in the order in which they are to be tried.
  ///
  /// A name is looked up on a thread of its own, which a slow name server may hold for longer
  /// than `deadline`: `getaddrinfo` cannot be stopped, but nobody waits for it any more.
  func resolve(before deadline: ContinuousClock.Instant) async throws(NetworkError)
    -> [SocketAddress]
  {
    if let address = try numericAddress() { return [address] }
    let (host, port) = (host, port)
    let result: Result<[SocketAddress], NetworkError> = await withCheckedContinuation { caller in
      let answer = Locked<CheckedContinuation<Result<[SocketAddress], NetworkError>, Never>?>(
        caller)
      let finish: @Sendable (Result<[SocketAddress], NetworkError>) -> Void = { result in
        answer.withLock { $0.take() }?.resume(returning: result)
      }
      let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
      let queue = DispatchQueue(label: "flotilla.network.resolve-timeout")
      queue.asyncAfter(deadline: .now() + .milliseconds(rest.wholeMilliseconds)) {
        finish(.failure(NetworkError(.timedOut, "look up the host: no answer in time")))
      }
      DispatchQueue(label: "flotilla.network.resolve").async {
        finish(Self.lookUp(host: host, port: port))
      }
    }
    return try result.get()
  }

  /// The address if the host is one, nil if it is a name.
  private func numericAddress() throws(NetworkError) -> SocketAddress? {
    if let address = HostText.IPv4(host) { return SocketAddress(address, port: port) }
    let (text, interface) = HostText.splitInterface(host)
    guard let address = HostText.IPv6(text) else { return nil }
    var scope: UInt32 = 0
    if let interface {
      scope = UInt32(interface) ?? if_nametoindex(interface)
      guard scope != 0 else { throw NetworkError(.unreachable, "there is no such interface") }
    } else if withUnsafeBytes(of: address, { $0[0] == 0xfe && $0[1] & 0xc0 == 0x80 }) {
      throw NetworkError(
        .invalidAddress, "a link-local address needs its interface, as in fe80::1%eth0")
    }
    return SocketAddress(address, scope: scope, port: port)
  }

  /// Asks the resolver of the system, and blocks until it answers.
  private static func lookUp(host: String, port: UInt16) -> Result<[SocketAddress], NetworkError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let outcome = getaddrinfo(host, String(port), &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    guard outcome == 0 else {
      let reason = String(cString: gai_strerror(outcome))
      return .failure(NetworkError(.unreachable, "look up the host: \(reason)"))
    }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee, addresses.count < addressLimit {
      addresses.append(SocketAddress(copying: entry.ai_addr, length: entry.ai_addrlen))
      next = entry.ai_next
    }
    return .success(addresses)
  }
}

extension Duration {
  /// Milliseconds, rounded up, at most a day: what `poll` and Dispatch take.
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    let fraction = Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    return min(max(0, Int(clamping: seconds)), 86_400) * 1000 + max(0, fraction)
  }
}
