import Glibc

/// A port of this host that nobody listens on at present.
func freePort(on host: String) throws -> UInt16 {
  let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(raw) }
  var address = loopback(host, port: 0)
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
      bind(raw, generic, length) == 0 ? getsockname(raw, generic, &length) : -1
    }
  }
  guard code == 0 else { throw BenchError("no port is free on \(host)") }
  return UInt16(bigEndian: address.sin_port)
}

/// An IPv4 address and port as the system wants them.
func loopback(_ host: String, port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  inet_pton(AF_INET, host, &address.sin_addr)
  return address
}

/// Opens a connection to HOST:PORT, from an address of this host if one is given; nil if nobody
/// listens.
func dial(_ address: String, from host: String? = nil) -> Int32? {
  let parts = address.split(separator: ":").map(String.init)
  guard parts.count == 2, let port = UInt16(parts[1]) else { return nil }
  let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var own = loopback(host ?? "127.0.0.1", port: 0)
  if host != nil {
    withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
  var target = loopback(parts[0], port: port)
  let code = withUnsafePointer(to: &target) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard code == 0 else {
    close(raw)
    return nil
  }
  return raw
}

/// Whether anybody listens there.
func isReachable(_ address: String) -> Bool {
  guard let raw = dial(address) else { return false }
  close(raw)
  return true
}
