import CLinux
import Dispatch
import Glibc

/// A connected stream socket, TCP or UNIX-domain.
///
/// Blocking calls on two serial queues, one for each direction, are the least code that gives
/// back-pressure. `close()` shuts the socket down, which ends both calls, and the last of them
/// closes the descriptor: so its number cannot be reused under a call.
package final class SocketChannel: ByteChannel {
  /// The bytes that went through a channel so far.
  package struct Traffic: Sendable, Hashable {
    package var bytesIn: UInt64 = 0
    package var bytesOut: UInt64 = 0
  }

  private struct State: ~Copyable {
    var descriptor: Descriptor?
    let raw: Int32
    var isClosed = false
    /// How many calls are under way that have the number.
    var calls = 0
    var traffic = Traffic()
  }

  /// The most that one read returns, whatever was asked for.
  private static let readLimit = 1 << 20

  package let remote: Endpoint
  private let state: Locked<State>
  private let reading = DispatchQueue(label: "flotilla.network.read")
  private let writing = DispatchQueue(label: "flotilla.network.write")

  /// Takes over a connected socket in blocking mode.
  init(owning descriptor: consuming Descriptor, remote: Endpoint) {
    self.remote = remote
    let raw = descriptor.raw
    state = Locked(State(descriptor: consume descriptor, raw: raw))
  }

  /// The bytes that went through so far.
  package var traffic: Traffic { state.withLock { $0.traffic } }

  /// This end, or nil for a UNIX-domain socket and after `close()`.
  package var local: Endpoint? {
    state.withLock { state in
      if state.isClosed { return nil }
      return SocketAddress.filled { getsockname(state.raw, $0, $1) }?.endpoint
    }
  }

  package func read(upTo limit: Int) async throws(NetworkError) -> [UInt8] {
    precondition(limit > 0, "a read of \(limit) bytes")
    return try await reading.run { self.receive(min(limit, Self.readLimit)) }.get()
  }

  package func write(_ bytes: [UInt8]) async throws(NetworkError) {
    try await writing.run { self.send(bytes) }.get()
  }

  /// Tells the peer that nothing more will come, and still reads.
  package func finishWriting() {
    writing.async {
      _ = self.withDescriptor { raw in shutdown(raw, Int32(SHUT_WR)) }
    }
  }

  package func close() {
    state.withLock { state in
      if state.isClosed { return }
      state.isClosed = true
      shutdown(state.raw, Int32(SHUT_RDWR))
      if state.calls == 0 { state.descriptor = nil }
    }
  }

  /// Lends the number to a call that may block, or gives nil after `close()`.
  private func withDescriptor<Value>(_ call: (Int32) -> Value) -> Value? {
    let raw: Int32? = state.withLock { state in
      if state.isClosed { return nil }
      state.calls += 1
      return state.raw
    }
    guard let raw else { return nil }
    defer {
      state.withLock { state in
        state.calls -= 1
        if state.isClosed && state.calls == 0 { state.descriptor = nil }
      }
    }
    return call(raw)
  }

  private func receive(_ limit: Int) -> Result<[UInt8], NetworkError> {
    var failure: Int32 = 0
    let received = withDescriptor { raw in
      [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        while true {
          let received = recv(raw, buffer.baseAddress, limit, 0)
          if received < 0 && errno == EINTR { continue }
          failure = received < 0 ? errno : 0
          count = max(0, received)
          return
        }
      }
    }
    guard let bytes = received else { return .failure(.closedHere) }
    return state.withLock { state in
      // After shutdown(2) by this side recv(2) returns 0 as if the peer had closed.
      if state.isClosed { return .failure(.closedHere) }
      if failure != 0 { return .failure(.system(failure, during: "receive")) }
      state.traffic.bytesIn += UInt64(bytes.count)
      return .success(bytes)
    }
  }

  private func send(_ bytes: [UInt8]) -> Result<Void, NetworkError> {
    var failure: Int32 = 0
    var sent = 0
    let isOpen: Void? = withDescriptor { raw in
      bytes.withUnsafeBytes { buffer in
        while sent < buffer.count {
          let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
          // MSG_NOSIGNAL: a peer that is gone gives EPIPE, never SIGPIPE to the application.
          let count = Glibc.send(raw, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
          if count < 0 && errno == EINTR { continue }
          guard count >= 0 else {
            failure = errno
            return
          }
          sent += count
        }
      }
    }
    guard isOpen != nil else { return .failure(.closedHere) }
    return state.withLock { state in
      state.traffic.bytesOut += UInt64(sent)
      if failure == 0 { return .success(()) }
      return .failure(state.isClosed ? .closedHere : .system(failure, during: "send"))
    }
  }
}
