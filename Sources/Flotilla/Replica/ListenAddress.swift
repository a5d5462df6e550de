import Glibc
import Network

/// What `--listen` accepts: HOST:PORT, :PORT, [v6]:PORT.
package struct ListenAddress: Equatable {
  let host: String?
  let port: UInt16

  /// Whether only programs of this machine get to a host: "127.0.0.0/8 […] loopback"
  /// (RFC 1122, 3.2.1.3) and ::1.
  package static func isOfThisMachine(_ host: String) -> Bool {
    if ["::1", "localhost"].contains(host) { return true }
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
  }

  init(_ text: String) throws(NetworkError) {
    if text.hasPrefix(":"), let port = UInt16(text.dropFirst()) {
      self.host = nil
      self.port = port
      return
    }
    if text.hasSuffix(":0") {
      // Port 0 lets the system choose; no endpoint that could be dialled has it.
      let endpoint = try Endpoint(parsing: String(text.dropLast()) + "1")
      self.host = endpoint.host
      self.port = 0
      return
    }
    let endpoint = try Endpoint(parsing: text, defaultPort: Endpoint.defaultPort)
    self.host = endpoint.host
    self.port = endpoint.port
  }
}
