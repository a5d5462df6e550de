import CLinux
import Glibc

/// The networks that this machine is on: at other addresses nobody dials because a member says so.
///
/// A member that lies could else have all others knock at machines that have nothing to do with
/// the site.
package struct LocalNetworks: Sendable {
  /// An address of this machine, and the bits of it that name the network.
  struct Network: Sendable, Equatable {
    var address: [UInt8]
    var mask: [UInt8]
  }

  let networks: [Network]

  init(_ networks: [Network]) { self.networks = networks }

  /// As the kernel has them now: "getifaddrs() creates a linked list of structures describing the
  /// network interfaces of the local system" (getifaddrs(3)).
  package static var here: LocalNetworks {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return LocalNetworks([]) }
    defer { freeifaddrs(first) }
    var networks: [Network] = []
    var next = first
    while let entry = next {
      next = entry.pointee.ifa_next
      guard let address = bytes(of: entry.pointee.ifa_addr),
        let mask = bytes(of: entry.pointee.ifa_netmask)
      else { continue }
      networks.append(Network(address: address, mask: mask))
    }
    return LocalNetworks(networks)
  }

  /// The IPv4 addresses by which others can reach this machine: not those that lead back to itself
  /// (127.0.0.0/8) or that it gave itself (169.254.0.0/16), unless there is no other.
  package var dialled: [String] {
    let four = networks.map(\.address).filter { $0.count == 4 }
    let outer = four.filter { $0[0] != 127 && ($0[0], $0[1]) != (169, 254) }
    return (outer.isEmpty ? four : outer).map { address in
      address.map { String($0) }.joined(separator: ".")
    }
  }

  /// Whether a host is this machine itself: one of its addresses, or one that leads back to it.
  package func isOwn(_ host: String) -> Bool {
    guard let address = Self.address(HostText.splitInterface(host).address) else { return false }
    // RFC 1122, 3.2.1.3: of 127.0.0.0/8 every address is the host itself.
    if address.count == 4, address[0] == 127 { return true }
    return networks.contains { $0.address == address }
  }

  /// Whether the host of an endpoint is an address in one of them; a name is none.
  package func contain(_ endpoint: Endpoint) -> Bool {
    let (host, interface) = HostText.splitInterface(endpoint.host)
    // What follows % means something on this machine alone.
    if let interface, if_nametoindex(interface) == 0 { return false }
    guard let address = Self.address(host) else { return false }
    return networks.contains { network in
      network.address.count == address.count && network.mask.count == address.count
        && address.indices.allSatisfy {
          address[$0] & network.mask[$0] == network.address[$0] & network.mask[$0]
        }
    }
  }

  private static func address(_ host: String) -> [UInt8]? {
    if let four = HostText.IPv4(host) { return withUnsafeBytes(of: four) { [UInt8]($0) } }
    if let six = HostText.IPv6(host) { return withUnsafeBytes(of: six) { [UInt8]($0) } }
    return nil
  }

  private static func bytes(of address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
    guard let address else { return nil }
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin_addr) { [UInt8]($0) }
      }
    case AF_INET6:
      return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin6_addr) { [UInt8]($0) }
      }
    default: return nil
    }
  }
}
