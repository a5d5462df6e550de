import Glibc

/// A client of a web server: one connection, one request after the other.
final class HTTPClient {
  let descriptor: Int32
  private let address: String
  private let token: String?
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  init(_ address: String, token: String? = nil) throws {
    guard let descriptor = dial(address) else { throw BenchError("nobody listens at \(address)") }
    (self.descriptor, self.address, self.token) = (descriptor, address, token)
    var isOn: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  func send(_ method: String, _ target: String, body: [UInt8] = [], more: [String] = []) throws {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: \(address)"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    if !body.isEmpty {
      lines += ["Content-Type: application/json", "Content-Length: \(body.count)"]
    }
    var bytes = Array(((lines + more).joined(separator: "\r\n") + "\r\n\r\n").utf8)
    bytes += body
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw BenchError("\(address) has hung up") }
      sent += count
    }
  }

  /// The next bytes; waits for them.
  func read() throws -> ArraySlice<UInt8> {
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    guard count > 0 else { throw BenchError("\(address) has hung up") }
    return buffer[..<count]
  }

  /// One request and its answer.
  func ask(_ method: String, _ target: String, body: [UInt8] = []) throws -> [UInt8] {
    try send(method, target, body: body)
    var bytes: [UInt8] = []
    repeat { bytes += try read() } while !Self.isWhole(bytes)
    guard bytes.starts(with: Array("HTTP/1.1 2".utf8)) else {
      throw BenchError("\(method) \(target): \(String(decoding: bytes.prefix(800), as: UTF8.self))")
    }
    return bytes
  }

  /// Whether an answer is all there: it says how long it is, or its last part is empty.
  private static func isWhole(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes.prefix(4_096), as: UTF8.self)
    guard let head = text.split(separator: "\r\n\r\n", omittingEmptySubsequences: false).first,
      head.utf8.count < min(bytes.count, 4_096)
    else { return false }
    let lines = head.split(separator: "\r\n").map { $0.lowercased() }
    if lines.contains("transfer-encoding: chunked") {
      return bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8)
    }
    let length = lines.first { $0.hasPrefix("content-length:") }
    let body = length?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    return bytes.count >= head.utf8.count + 4 + body
  }
}
