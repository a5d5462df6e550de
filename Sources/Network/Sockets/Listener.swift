import CLinux
import Glibc

/// A TCP port that waits for connections.
package final class Listener: Sendable {
  /// The port that was bound.
  package let port: UInt16
  private let acceptor: Acceptor

  /// Binds `host`, or all addresses of this machine if it is nil, and listens.
  ///
  /// Port 0 takes any free port. If `port` is in use, up to `tryNext` following ones are tried.
  /// All addresses means IPv4 and IPv6 by one socket, or IPv4 alone where IPv6 is off. Of a name
  /// with several addresses the first is bound.
  package init(host: String?, port: UInt16, tryNext: Int = 0) async throws(NetworkError) {
    let acceptor = try await Self.bind(host: host, port: port, tryNext: tryNext)
    self.acceptor = acceptor.acceptor
    self.port = acceptor.port
  }

  deinit { acceptor.close() }

  /// Waits for the next connection; ends with `.closed` after `close()`.
  package func accept() async throws(NetworkError) -> SocketChannel {
    while true {
      let channel = try await acceptor.accept {
        (descriptor, address) throws(NetworkError) -> SocketChannel? in
        // A peer that is gone already has no address, or takes no options: not our failure.
        guard let remote = address?.endpoint, (try? descriptor.setTCPOptions()) != nil else {
          return nil
        }
        return SocketChannel(owning: descriptor, remote: remote)
      }
      if let channel { return channel }
    }
  }

  /// Stops listening and ends every `accept` that waits; channels live on.
  package func close() { acceptor.close() }

  private typealias Bound = (acceptor: Acceptor, port: UInt16)

  private static func bind(
    host: String?, port: UInt16, tryNext: Int
  ) async throws(NetworkError) -> Bound {
    var next = port
    while true {
      do throws(NetworkError) {
        return try await bind(host: host, port: next)
      } catch {
        let tried = Int(next) - Int(port)
        guard error.code == .addressInUse, tried < tryNext, next > 0, next < .max else {
          throw error
        }
        next += 1
      }
    }
  }

  private static func bind(host: String?, port: UInt16) async throws(NetworkError) -> Bound {
    if let host {
      let endpoint = try Endpoint(host: host, port: port)
      let addresses = try await endpoint.resolve(before: .now + .seconds(3))
      guard let address = addresses.first else {
        throw NetworkError(.unreachable, "listen: the host has no address")
      }
      return try bind(address)
    }
    do throws(NetworkError) {
      return try bind(SocketAddress(in6_addr(), scope: 0, port: port))
    } catch {
      // Where IPv6 is off, the socket or the address is missing.
      guard error.code == .invalidAddress else { throw error }
      return try bind(SocketAddress(in_addr(), port: port))
    }
  }

  private static func bind(_ address: SocketAddress) throws(NetworkError) -> Bound {
    let descriptor = try Descriptor(
      streamSocket: address.family, flags: Int32(SOCK_NONBLOCK.rawValue))
    // Without it the port is blocked for a minute after a restart, by connections in TIME_WAIT.
    try descriptor.set(SO_REUSEADDR, level: SOL_SOCKET, to: 1)
    if address.family == AF_INET6 {
      try descriptor.set(IPV6_V6ONLY, level: Int32(IPPROTO_IPV6), to: 0)
    }
    guard address.withPointer({ Glibc.bind(descriptor.raw, $0, $1) }) == 0 else {
      throw NetworkError.system(errno, during: "bind the port")
    }
    let bound = SocketAddress.filled { getsockname(descriptor.raw, $0, $1) }?.endpoint
    guard let bound else { throw NetworkError(.invalidAddress, "the port has no address") }
    return (try Acceptor(listening: descriptor), bound.port)
  }
}
