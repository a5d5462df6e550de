import CLinux
import Dispatch
import Glibc

/// A listening socket of either kind, and the wait for the next connection.
final class Acceptor: Sendable {
  private struct State: ~Copyable {
    var descriptor: Descriptor?
    let raw: Int32
    var isClosed = false
  }

  private let state: Locked<State>
  private let queue = DispatchQueue(label: "flotilla.network.accept")
  private let closing: Wakeup

  /// Takes over a bound socket in non-blocking mode and starts to listen.
  init(listening descriptor: consuming Descriptor) throws(NetworkError) {
    closing = try Wakeup()
    guard listen(descriptor.raw, 64) == 0 else {
      throw NetworkError.system(errno, during: "listen")
    }
    let raw = descriptor.raw
    state = Locked(State(descriptor: consume descriptor, raw: raw))
  }

  /// Waits for a connection and makes a channel of it, on this listener's own thread.
  func accept<Channel: Sendable>(
    _ make:
      @escaping @Sendable (consuming Descriptor, SocketAddress?) throws(NetworkError) ->
      Channel
  ) async throws(NetworkError) -> Channel {
    try await queue.run { () -> Result<Channel, NetworkError> in
      Result { () throws(NetworkError) in try self.next(make) }
    }.get()
  }

  /// Stops listening and ends every `accept` that waits; false if it was closed before.
  @discardableResult
  func close() -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    guard isFirst else { return false }
    closing.signal()
    queue.async { self.state.withLock { $0.descriptor = nil } }
    return true
  }

  private func next<Channel>(
    _ make: (consuming Descriptor, SocketAddress?) throws(NetworkError) -> Channel
  ) throws(NetworkError) -> Channel {
    while true {
      guard let raw = state.withLock({ $0.isClosed ? nil : $0.raw }) else {
        throw .closedHere
      }
      guard closing.wait(for: raw, events: POLLIN) == .ready else { throw .closedHere }
      var accepted: Int32 = -1
      let address = SocketAddress.filled { pointer, length in
        accepted = flotilla_accept(raw, pointer, length)
        return accepted
      }
      if accepted >= 0 { return try make(Descriptor(owning: accepted), address) }
      switch AcceptFailure(errno) {
      case .passing: continue
      case .exhausted: _ = closing.wait(for: nil, events: 0, milliseconds: 200)
      case .lasting(let number): throw .system(number, during: "accept a connection")
      }
    }
  }
}

/// What an error of `accept` means for the next call.
enum AcceptFailure: Hashable {
  /// It belonged to one connection: look for the next at once.
  case passing
  /// The process or the system is short of something, and the connection stays in the queue,
  /// so the socket stays readable: without a pause the loop would spin.
  case exhausted
  /// The listener itself is broken.
  case lasting(Int32)

  init(_ number: Int32) {
    switch number {
    case EAGAIN, EINTR, ECONNABORTED, EPERM: self = .passing
    // accept(2): "Linux accept() passes already-pending network errors on the new socket as an
    // error code … For reliable operation the application should detect [these] and treat them
    // like EAGAIN by retrying."
    case ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH:
      self = .passing
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .exhausted
    default: self = .lasting(number)
    }
  }
}
