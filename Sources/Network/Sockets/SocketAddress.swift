import Glibc

/// An address as the kernel takes it.
struct SocketAddress: Sendable {
  private var storage = sockaddr_storage()
  private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

  var family: Int32 { Int32(storage.ss_family) }

  private init() {}

  /// A copy of what `pointer` shows.
  init(copying pointer: UnsafePointer<sockaddr>, length: socklen_t) {
    let size = min(Int(length), MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: size))
    }
    self.length = socklen_t(size)
  }

  /// An IPv4 address.
  init(_ address: in_addr, port: UInt16) {
    var value = sockaddr_in()
    value.sin_family = sa_family_t(AF_INET)
    value.sin_port = port.bigEndian
    value.sin_addr = address
    self.init(bytesOf: value)
  }

  /// An IPv6 address; `scope` is the index of the interface for a link-local one, else 0.
  init(_ address: in6_addr, scope: UInt32, port: UInt16) {
    var value = sockaddr_in6()
    value.sin6_family = sa_family_t(AF_INET6)
    value.sin6_port = port.bigEndian
    value.sin6_addr = address
    value.sin6_scope_id = scope
    self.init(bytesOf: value)
  }

  /// A UNIX-domain address; the path must leave room for the final zero byte.
  init(localPath: String) throws(NetworkError) {
    var value = sockaddr_un()
    let room = MemoryLayout.size(ofValue: value.sun_path) - 1
    let path = [UInt8](localPath.utf8)
    guard (1...room).contains(path.count), !path.contains(0) else {
      throw NetworkError(
        .invalidAddress, "the path of a socket is \(path.count) bytes long, the most is \(room)")
    }
    value.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &value.sun_path) { $0.copyBytes(from: path) }
    self.init(bytesOf: value)
  }

  private init<Address>(bytesOf value: Address) {
    self.init()
    withUnsafeBytes(of: value) { source in
      withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: source) }
    }
    length = socklen_t(MemoryLayout<Address>.size)
  }

  /// Lends the address to a call of the system.
  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// The address that a call such as `getsockname` fills in, or nil if it fails.
  static func filled(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> SocketAddress? {
    var address = SocketAddress()
    let outcome = withUnsafeMutablePointer(to: &address.storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &address.length) }
    }
    return outcome >= 0 ? address : nil
  }

  /// The endpoint in canonical spelling, or nil for an address that is neither IPv4 nor IPv6.
  var endpoint: Endpoint? {
    guard family == AF_INET || family == AF_INET6 else { return nil }
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let outcome = withPointer { pointer, length in
      getnameinfo(
        pointer, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
        NI_NUMERICHOST | NI_NUMERICSERV)
    }
    guard outcome == 0, let number = UInt16(String(cBuffer: port)) else { return nil }
    return try? Endpoint(host: String(cBuffer: host), port: number)
  }
}
