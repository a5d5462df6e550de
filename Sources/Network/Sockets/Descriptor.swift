// For `pollfd` alone: in a build of the whole module the compiler takes it for Avahi's, whose
// headers include the system's.
import CAvahi
import CLinux
import Glibc

/// One open descriptor, owned once and closed once.
struct Descriptor: ~Copyable, Sendable {
  /// The number, to be lent to calls while the owner lives.
  let raw: Int32

  /// Takes over a descriptor that a call has just returned.
  init(owning raw: Int32) {
    precondition(raw >= 0, "\(raw) is no descriptor")
    self.raw = raw
  }

  /// A new stream socket that no child process inherits.
  init(streamSocket family: Int32, flags: Int32 = 0) throws(NetworkError) {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags
    let raw = socket(family, kind, 0)
    guard raw >= 0 else { throw NetworkError.system(errno, during: "make a socket") }
    self.raw = raw
  }

  // close(2): "Retrying the close() after a failure return is the wrong thing to do".
  deinit { close(raw) }

  /// Sets one option of the socket that takes an integer.
  borrowing func set(_ option: Int32, level: Int32, to value: Int32) throws(NetworkError) {
    var value = value
    let outcome = setsockopt(raw, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    guard outcome == 0 else { throw NetworkError.system(errno, during: "set a socket option") }
  }

  /// The error that the socket has in store, 0 if none.
  borrowing func pendingError() -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(raw, SOL_SOCKET, SO_ERROR, &value, &size) == 0 ? value : errno
  }

  /// Makes calls on this descriptor wait, or not.
  borrowing func setBlocking(_ blocking: Bool) throws(NetworkError) {
    let flags = fcntl(raw, F_GETFL)
    let wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK
    guard flags >= 0, fcntl(raw, F_SETFL, wanted) == 0 else {
      throw NetworkError.system(errno, during: "change the mode of a socket")
    }
  }
}

/// Something that a thread can poll for and that any other thread can set.
final class Wakeup: Sendable {
  private let descriptor: Descriptor

  init() throws(NetworkError) {
    let raw = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard raw >= 0 else { throw NetworkError.system(errno, during: "make an eventfd") }
    descriptor = Descriptor(owning: raw)
  }

  /// The number, for a poll that is not `wait`.
  var raw: Int32 { descriptor.raw }

  /// Ends the present wait and every later one, until it is cleared.
  func signal() { eventfd_write(descriptor.raw, 1) }

  /// Takes back all signals so far.
  static func clear(_ raw: Int32) {
    var count: eventfd_t = 0
    eventfd_read(raw, &count)
  }

  /// How a wait has ended.
  enum Outcome { case ready, timedOut, signalled }

  /// Blocks until `raw` is ready for `events`, the time is over or the wakeup is set.
  ///
  /// Without a descriptor it only sleeps.
  func wait(for raw: Int32?, events: Int32, milliseconds: Int = -1) -> Outcome {
    var entries = [
      pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0),
      pollfd(fd: raw ?? -1, events: Int16(events), revents: 0),
    ]
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    while true {
      let rest =
        milliseconds < 0
        ? -1 : max(.zero, ContinuousClock.now.duration(to: deadline)).wholeMilliseconds
      let count = poll(&entries, nfds_t(entries.count), Int32(rest))
      if count < 0 && errno == EINTR { continue }
      precondition(count >= 0, "poll failed with \(errno) on two open descriptors")
      if entries[0].revents != 0 { return .signalled }
      return count == 0 ? .timedOut : .ready
    }
  }
}
