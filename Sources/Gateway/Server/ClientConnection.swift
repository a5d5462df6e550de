import CEvent
import Glibc

/// What the gateway knows of one connection; belongs to the thread of the event loop.
///
/// It holds its bufferevent, for evhttp does not tell when it lets go of a connection.
final class ClientConnection {
  /// What the connection is about.
  enum State {
    /// Nothing, or part of a request, has come. Next: working.
    case waiting
    /// A request is complete and is worked on. Next: sending.
    case working
    /// The answer goes out. Next: waiting.
    case sending
    /// An answer goes on for as long as the client listens. Next: sending.
    case streaming
  }

  let bufferEvent: OpaquePointer
  private(set) var state = State.waiting
  private(set) var since = ContinuousClock.now
  /// When the first byte of an unfinished request came, and how many have come.
  private(set) var firstByte: ContinuousClock.Instant?
  private var received = 0
  /// The bytes of it that are NUL: the library ends a line there without a word.
  private var nuls = 0
  private var isCut = false
  /// The size of the answer that goes out.
  private(set) var unsent = 0
  private var counting: OpaquePointer?
  private let hasGrown: (Int) -> Void

  /// `hasGrown` is told of bytes as they come.
  init(_ bufferEvent: OpaquePointer, hasGrown: @escaping (Int) -> Void) {
    self.bufferEvent = bufferEvent
    self.hasGrown = hasGrown
    bufferevent_incref(bufferEvent)
    counting = evbuffer_add_cb(
      bufferevent_get_input(bufferEvent),
      { _, info, owner in
        guard let owner, let added = info?.pointee.n_added, added > 0 else { return }
        Unmanaged<ClientConnection>.fromOpaque(owner).takeUnretainedValue().receive(added)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The bytes of an unfinished request that are kept for it.
  var held: Int { isCut ? 0 : received }

  /// Whether evhttp still has it.
  var isInUse: Bool { flotilla_is_in_use(bufferEvent) != 0 }

  private func receive(_ count: Int) {
    received += count
    nuls += flotilla_count_nul(bufferevent_get_input(bufferEvent), count)
    if firstByte == nil { firstByte = .now }
    hasGrown(count)
  }

  /// A request is complete; how many of its bytes are NUL.
  func work() -> Int {
    defer { (state, since, received, nuls, firstByte) = (.working, .now, 0, 0, nil) }
    return nuls
  }

  func send(_ bytes: Int) {
    (state, since, unsent) = (.sending, .now, bytes)
  }

  func stream() {
    (state, since, unsent) = (.streaming, .now, 0)
  }

  /// The answer is out; the beginning of the next request may be here already.
  func sent() {
    (state, since, unsent) = (.waiting, .now, 0)
    let input = bufferevent_get_input(bufferEvent)
    received = evbuffer_get_length(input)
    nuls = flotilla_count_nul(input, received)
    firstByte = received > 0 ? .now : nil
  }

  /// Whether it has taken more time than it may.
  func isLate(_ limits: ServerLimits, at now: ContinuousClock.Instant) -> Bool {
    switch state {
    case .waiting:
      if let firstByte { return now - firstByte > limits.requestTime }
      return now - since > limits.idleTime
    case .working: return false
    case .sending: return now - since > limits.sendTime
    case .streaming:
      // Since it took the last byte of what there was.
      unsent = evbuffer_get_length(bufferevent_get_output(bufferEvent))
      if unsent == 0 { since = now }
      return now - since > limits.sendTime
    }
  }

  /// Ends the connection: evhttp is told of an error, and lets go of it and of what it holds. What
  /// the kernel has for it is not read any more.
  func cut() {
    guard !isCut else { return }
    isCut = true
    shutdown(bufferevent_getfd(bufferEvent), Int32(SHUT_RDWR))
    bufferevent_disable(bufferEvent, Int16(EV_READ))
    bufferevent_trigger_event(
      bufferEvent, Int16(BEV_EVENT_ERROR | BEV_EVENT_READING),
      Int32(BEV_TRIG_DEFER_CALLBACKS.rawValue))
  }

  /// Gives it back to libevent, which frees it if evhttp has done so.
  func release() {
    if let counting { evbuffer_remove_cb_entry(bufferevent_get_input(bufferEvent), counting) }
    counting = nil
    bufferevent_decref(bufferEvent)
  }
}
