import Foundation
import Glibc

/// One answer as it came.
struct Answer: Sendable {
  let status: Int
  let head: String
  let body: String

  /// The value of a header.
  func header(_ name: String) -> String? {
    head.split(separator: "\r\n").dropFirst().lazy
      .map {
        $0.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      }
      .first { $0.first?.lowercased() == name.lowercased() }?.last
  }

  var json: Any? { try? JSONSerialization.jsonObject(with: Data(body.utf8)) }
  var object: [String: Any] { json as? [String: Any] ?? [:] }
  /// The last part of a problem's type.
  var kind: String? { (object["type"] as? String)?.split(separator: ":").last.map(String.init) }
}

/// A client that sends exactly the bytes that it is told.
struct RawClient: Sendable {
  let port: UInt16
  var token: String?

  /// Asks as a well-behaved client does.
  func ask(
    _ method: String, _ target: String, _ headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    if let body {
      lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
    }
    lines += headers.map { "\($0.key): \($0.value)" }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    guard let answer = try await send(Array(text.utf8)).first else {
      throw POSIXError(.ECONNRESET)
    }
    return answer
  }

  /// Sends bytes and reads until the other side ends the connection; gives the answers.
  func send(_ bytes: [UInt8]) async throws -> [Answer] {
    let port = port
    let said = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try Self.talk(bytes, port: port) })
      }
    }
    return Self.answers(in: said)
  }

  /// Opens a connection; the caller closes it.
  static func connect(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafeBytes(of: &address) { bytes in
      Glibc.connect(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(bytes.count))
    }
    guard descriptor >= 0, status == 0 else {
      close(descriptor)
      throw POSIXError(.ECONNREFUSED)
    }
    // Only against a server that hangs.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    return descriptor
  }

  static func talk(_ bytes: [UInt8], port: UInt16) throws -> [UInt8] {
    let descriptor = try connect(port)
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0x4000) }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    return read(descriptor)
  }

  /// Everything until the end.
  static func read(_ descriptor: Int32) -> [UInt8] {
    var (said, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return said }
      said += buffer.prefix(count)
    }
  }

  /// Takes what was read apart by the lengths that it names.
  static func answers(in bytes: [UInt8]) -> [Answer] {
    var (answers, rest) = ([Answer](), bytes[...])
    let blank = Array("\r\n\r\n".utf8)
    while let end = rest.firstRange(of: blank) {
      let head = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
      let length =
        head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      let body = rest[end.upperBound...].prefix(length)
      let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      answers.append(
        Answer(status: status, head: head, body: String(decoding: body, as: UTF8.self)))
      rest = rest[body.endIndex...]
    }
    return answers
  }
}
