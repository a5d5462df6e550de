import Glibc
import Synchronization

/// Brings answers from the threads that work them out to the one thread that talks to clients.
///
/// libevent is used without its locks: all its calls are on that thread, and this pipe wakes it.
final class Mailbox: Sendable {
  enum Message: Sendable {
    case answer(Int, HTTPResponse)
    /// An answer begins that goes on in parts, and ends.
    case begin(Int, HTTPResponse, ResponseStream)
    case part(Int, [UInt8])
    case finish(Int)
    case stop
  }

  private struct State: Sendable {
    var messages: [Message] = []
    var isOpen = true
  }

  let readEnd: Int32
  private let writeEnd: Int32
  private let state = Mutex(State())

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "no pipe for the gateway: error \(errno)")
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  func post(_ message: Message) {
    state.withLock { state in
      guard state.isOpen else { return }
      state.messages.append(message)
      var byte: UInt8 = 1
      _ = write(writeEnd, &byte, 1)
    }
  }

  /// Everything that has come since; empties the pipe.
  func take() -> [Message] {
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(readEnd, &bytes, bytes.count) > 0 {}
    return state.withLock { state in
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// Nothing is taken any more.
  func shut() { state.withLock { $0.isOpen = false } }
}
