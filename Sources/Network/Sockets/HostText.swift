import Glibc

/// The spelling of hosts: which texts are addresses or names, and the canonical one of each.
enum HostText {
  /// The canonical spelling, or an error that says what is wrong.
  static func canonical(_ host: String) throws(NetworkError) -> String {
    // 253 is the limit of a name, RFC 1035, 2.3.4; no address is longer.
    guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ (33...126).contains($0) })
    else {
      throw NetworkError(.invalidAddress, "a host is 1 to 253 printable ASCII characters")
    }
    if host.contains(":") { return try canonicalIPv6(host) }
    if host.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }) {
      guard IPv4(host) != nil else {
        throw NetworkError(.invalidAddress, "an IPv4 address is four numbers from 0 to 255")
      }
      return host
    }
    return try canonicalName(host)
  }

  /// The four bytes of an IPv4 address in dotted form.
  static func IPv4(_ text: String) -> in_addr? {
    var address = in_addr()
    return inet_pton(AF_INET, text, &address) == 1 ? address : nil
  }

  /// The sixteen bytes of an IPv6 address without an interface.
  static func IPv6(_ text: String) -> in6_addr? {
    var address = in6_addr()
    return inet_pton(AF_INET6, text, &address) == 1 ? address : nil
  }

  /// The address and the interface, name or index, of `fe80::1%eth0`.
  static func splitInterface(_ host: String) -> (address: String, interface: String?) {
    guard let percent = host.firstIndex(of: "%") else { return (host, nil) }
    return (String(host[..<percent]), String(host[host.index(after: percent)...]))
  }

  private static func canonicalIPv6(_ host: String) throws(NetworkError) -> String {
    let (text, interface) = splitInterface(host)
    guard let address = IPv6(text) else {
      throw NetworkError(.invalidAddress, "not an IPv6 address")
    }
    if let interface {
      // The kernel's IFNAMSIZ is 16 with the final zero byte.
      guard (1...15).contains(interface.utf8.count),
        !interface.contains(where: { "/%[]".contains($0) })
      else {
        throw NetworkError(.invalidAddress, "after % comes the name or index of an interface")
      }
    }
    let bytes = withUnsafeBytes(of: address) { [UInt8]($0) }
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
    if isMapped { return bytes[12...].map(String.init).joined(separator: ".") }
    let plain = written(address)
    return interface.map { "\(plain)%\($0)" } ?? plain
  }

  private static func written(_ address: in6_addr) -> String {
    var address = address
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let text = inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count))
    precondition(text != nil, "inet_ntop failed with \(errno) on an address in memory")
    return String(cBuffer: buffer)
  }

  /// A name in lower case, by the letters, digits and hyphens of RFC 1123, 2.1, and `_`.
  private static func canonicalName(_ host: String) throws(NetworkError) -> String {
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let fits = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
        && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
    }
    guard fits else {
      throw NetworkError(.invalidAddress, "a host name is letters, digits, hyphens and dots")
    }
    return name.lowercased()
  }
}
