import Foundation
import Glibc
import Network

/// Carries the bytes of connections on loopback to and fro and counts them.
final class CountingProxy: Sendable {
  /// What one side of a connection has sent.
  struct Way {
    let isFromDialler: Bool
    var records = TLSRecords()
  }

  private struct State: Sendable {
    var sockets: [Int32] = []
    var bytes = 0
    /// What came out of each socket, and out of those that are closed.
    var ways: [Int32: Way] = [:]
    var closed: [Way] = []
    var isClosed = false
    /// Who comes is sent away.
    var isShut = false
    /// When the latest connection began, and when the last bytes passed.
    var began: Int64 = 0
    var moved: Int64 = 0
  }

  let address: String
  private let target: String
  private let listener: Int32
  private let state = Locked(State())

  init(to target: String) throws {
    let port = try freePort(on: "127.0.0.1")
    self.address = "127.0.0.1:\(port)"
    self.target = target
    self.listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var own = loopback("127.0.0.1", port: port)
    let code = withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0, listen(listener, 8) == 0 else { throw BenchError("the proxy cannot listen") }
    Thread.detachNewThread { self.accept() }
  }

  /// Bytes of both ways since the last cut.
  var bytes: Int { state.withLock { $0.bytes } }
  /// What each side of each connection since the last cut has sent.
  var ways: [Way] { state.withLock { $0.closed + $0.ways.values } }
  var isConnected: Bool { state.withLock { !$0.sockets.isEmpty } }

  /// When the latest connection began, and when the last bytes passed (`Clock.now`).
  var times: (began: Int64, moved: Int64) { state.withLock { ($0.began, $0.moved) } }

  /// Breaks all connections and lets nobody through until `open`.
  func shut() {
    state.withLock { $0.isShut = true }
    cut()
  }

  func open() { state.withLock { $0.isShut = false } }

  /// Breaks all connections and counts from zero.
  func cut() {
    state.withLock { state in
      for raw in state.sockets { shutdown(raw, Int32(SHUT_RDWR)) }
      state.sockets = []
      state.bytes = 0
      state.ways = [:]
      state.closed = []
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
    cut()
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0, !state.withLock({ $0.isClosed }) else { break }
      let now = Clock.now
      guard !state.withLock({ $0.isShut }), let server = dial(target) else {
        Glibc.close(client)
        continue
      }
      // Both ends send small pieces, and none of these shall wait for another one here.
      for raw in [client, server] {
        var isOn: Int32 = 1
        setsockopt(
          raw, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
      }
      state.withLock {
        $0.began = now
        $0.sockets += [client, server]
        $0.ways[client] = Way(isFromDialler: true)
        $0.ways[server] = Way(isFromDialler: false)
      }
      let ways = Locked(2)
      Thread.detachNewThread { self.carry(client, server, ways) }
      Thread.detachNewThread { self.carry(server, client, ways) }
    }
    Glibc.close(listener)
  }

  private func carry(_ source: Int32, _ target: Int32, _ ways: Locked<Int>) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      state.withLock {
        guard $0.sockets.contains(source) else { return }
        $0.bytes += count
        $0.moved = Clock.now
        $0.ways[source]?.records.append(buffer[..<count])
      }
      var sent = 0
      while sent < count {
        let step = buffer[sent..<count].withUnsafeBytes {
          send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard step > 0 else { break }
        sent += step
      }
      guard sent == count else { break }
    }
    shutdown(target, Int32(SHUT_RDWR))
    state.withLock { state in
      state.sockets.removeAll { $0 == source }
      if let way = state.ways.removeValue(forKey: source) { state.closed.append(way) }
    }
    let isLast = ways.withLock { count in
      count -= 1
      return count == 0
    }
    if isLast {
      Glibc.close(source)
      Glibc.close(target)
    }
  }
}
