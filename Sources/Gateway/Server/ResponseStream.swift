import Synchronization

/// The body of an answer that is written part by part, from any thread.
///
/// One part is on its way at a time, so a client that reads slowly holds no more than that.
package final class ResponseStream: Sendable {
  private enum State {
    /// Next: sending, closed.
    case idle
    /// A part is on its way. Next: idle, closed.
    case sending(CheckedContinuation<Void, Never>)
    case closed
  }

  private let number: Int
  private let mailbox: Mailbox
  private let state = Mutex(State.idle)
  /// Ends the work of a writer who waits for something else than the client.
  private let end: @Sendable () -> Void

  init(_ number: Int, _ mailbox: Mailbox, end: @escaping @Sendable () -> Void) {
    (self.number, self.mailbox, self.end) = (number, mailbox, end)
  }

  /// Sends a part and waits until the system has taken it; false once the client is gone.
  func write(_ bytes: [UInt8]) async -> Bool {
    guard !bytes.isEmpty else { return isOpen }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          guard case .idle = state else { return false }
          state = .sending(continuation)
          return true
        }
        if isOpen { mailbox.post(.part(number, bytes)) } else { continuation.resume() }
      }
    } onCancel: {
      close()
    }
    return isOpen
  }

  func write(_ text: String) async -> Bool { await write(Array(text.utf8)) }

  private var isOpen: Bool {
    state.withLock { if case .closed = $0 { false } else { true } }
  }

  /// The part is out.
  func sent() { become(.idle) }

  /// The client is gone.
  func close() {
    become(.closed)
    end()
  }

  private func become(_ next: State) {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      switch state {
      case .closed: return nil
      case .idle:
        state = next
        return nil
      case .sending(let continuation):
        state = next
        return continuation
      }
    }
    waiting?.resume()
  }
}
