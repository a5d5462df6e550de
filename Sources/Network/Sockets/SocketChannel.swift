import CLinux
import Dispatch
import Glibc

/// A connected stream socket, TCP or UNIX-domain.
///
/// Blocking calls on two serial queues, one for each direction, are the least code that gives
/// back-pressure. `close()` shuts the socket down, which ends both calls, and the descriptor is
/// closed by the last job of both queues: so its number cannot be reused under a call.
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
      guard let raw = self.openDescriptor() else { return }
      shutdown(raw, Int32(SHUT_WR))
    }
  }

  package func close() {
    let isFirst = state.withLock { state in
      if state.isClosed { return false }
      state.isClosed = true
      shutdown(state.raw, Int32(SHUT_RDWR))
      return true
    }
    guard isFirst else { return }
    reading.async {
      self.writing.async { self.state.withLock { $0.descriptor = nil } }
    }
  }

  /// The number, good until the running job of a queue ends, or nil after `close()`.
  private func openDescriptor() -> Int32? {
    state.withLock { $0.isClosed ? nil : $0.raw }
  }

  private func receive(_ limit: Int) -> Result<[UInt8], NetworkError> {
    guard let raw = openDescriptor() else { return .failure(.closedHere) }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      while true {
        let received = recv(raw, buffer.baseAddress, limit, 0)
        if received < 0 && errno == EINTR { continue }
        failure = received < 0 ? errno : 0
        count = max(0, received)
        return
      }
    }
    return state.withLock { state in
      // After shutdown(2) by this side recv(2) returns 0 as if the peer had closed.
      if state.isClosed { return .failure(.closedHere) }
      if failure != 0 { return .failure(.system(failure, during: "receive")) }
      state.traffic.bytesIn += UInt64(bytes.count)
      return .success(bytes)
    }
  }

  private func send(_ bytes: [UInt8]) -> Result<Void, NetworkError> {
    guard let raw = openDescriptor() else { return .failure(.closedHere) }
    var failure: Int32 = 0
    var sent = 0
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
    return state.withLock { state in
      state.traffic.bytesOut += UInt64(sent)
      if failure == 0 { return .success(()) }
      return .failure(state.isClosed ? .closedHere : .system(failure, during: "send"))
    }
  }
}
