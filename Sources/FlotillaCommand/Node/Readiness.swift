import Flotilla
import FoundationEssentials
import Glibc
import Synchronization

/// Tells the process that started this one in the background that the node serves, or why not.
///
/// It is a pipe: its end is seen by the starter however this process ends, even if killed, which
/// no file on disk can promise. One byte says which: `+` ready, `-` not; behind it is what failed.
final class Readiness: Sendable {
  /// The environment variable with the descriptor of the pipe.
  static let variable = "FLOTILLA_READY_FD"

  /// The open end of the pipe; nil if nobody waits, or has been told.
  private let descriptor: Mutex<Int32?>

  /// Takes the pipe that the starter left, so that nothing this process starts inherits it.
  init() {
    let text = ProcessInfo.processInfo.environment[Self.variable]
    unsetenv(Self.variable)
    let number = text.flatMap(Int32.init).flatMap { $0 > STDERR_FILENO ? $0 : nil }
    if let number, fcntl(number, F_SETFD, FD_CLOEXEC) == 0 {
      descriptor = Mutex(number)
    } else {
      descriptor = Mutex(nil)
    }
  }

  /// The databases that can be served are; of the others it is said why not.
  /// `also`: a line for the person who started it.
  func ready(_ broken: [FlotillaError], also: String?) {
    let failures = broken.map { failureText($0.message, remedy: $0.remedy) }.joined()
    tell("+" + failures + (also.map { $0 + "\n" } ?? ""))
  }

  func failed(_ error: FlotillaError) {
    tell("-" + failureText(error.message, remedy: error.remedy))
  }

  private func tell(_ text: String) {
    descriptor.withLock { descriptor in
      guard let number = descriptor else { return }
      _ = writeAll(text, to: number)
      close(number)
      descriptor = nil
    }
  }
}
