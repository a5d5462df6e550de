import Foundation
import Glibc
import Synchronization

/// A client that follows changes: it reads an answer in parts for as long as it comes.
final class EventStream: Sendable {
  private struct State: Sendable {
    var bytes: [UInt8] = []
    var received = 0
    var hasEnded = false
  }

  private let descriptor: Int32
  /// So many bytes are kept of what has come, or half of that.
  private let most: Int
  private let state = Mutex(State())

  /// Asks, and begins to read; with `reads` off it takes nothing but what the kernel keeps for it.
  init(
    _ port: UInt16, _ target: String, token: String?, accept: String = "text/event-stream",
    headers: [String: String] = [:], method: String = "GET", body: String? = nil,
    reads: Bool = true, keeping most: Int = .max
  ) throws {
    self.most = most
    descriptor = try RawClient.connect(port)
    var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Accept: \(accept)"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    if let body {
      lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
    }
    lines += headers.map { "\($0.key): \($0.value)" }
    let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, 0x4000) == bytes.count else {
      throw POSIXError(.ECONNRESET)
    }
    if reads { readOn() }
  }

  deinit { close(descriptor) }

  func readOn() {
    let (descriptor, most) = (dup(descriptor), most)
    Thread.detachNewThread { [weak self] in
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0, let self else { break }
        state.withLock { state in
          state.bytes += buffer.prefix(count)
          state.received += count
          if state.bytes.count > most { state.bytes.removeFirst(state.bytes.count - most / 2) }
        }
      }
      close(descriptor)
      self?.state.withLock { $0.hasEnded = true }
    }
  }

  /// Hangs up without a word.
  func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Everything that has come: head, lengths of parts, and events.
  var text: String { String(decoding: state.withLock(\.bytes), as: UTF8.self) }
  /// The last bytes of it.
  var end: String { String(decoding: state.withLock { $0.bytes.suffix(500) }, as: UTF8.self) }
  /// So many bytes have come, also those that are not kept.
  var received: Int { state.withLock(\.received) }
  var hasEnded: Bool { state.withLock(\.hasEnded) }

  /// What the events of a name say, each a JSON object.
  func data(of event: String) -> [[String: Any]] {
    text.components(separatedBy: "event: \(event)\ndata: ").dropFirst().compactMap {
      let line = $0.prefix { $0 != "\n" }
      return try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }
  }
}
