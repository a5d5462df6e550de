import Flotilla
import FoundationEssentials
import Glibc
import Synchronization

/// The log of a node in the background is kept short: what is older lies beside it, once.
enum LogRotation {
  /// With so many bytes a new file is begun.
  static let most: off_t = 4 << 20
  /// Only a file that a start in the background has opened is one of ours.
  private static let ending = "-flotilla/node.log"
  /// Of two threads that find it long one begins the new file; the other finds that one.
  private static let turn = Mutex(())

  /// Begins a new file if the one that standard error goes to has become long.
  ///
  /// "O_APPEND: The file is opened in append mode" (open(2)): both streams go on at its end.
  static func rotate(_ stream: Int32 = STDERR_FILENO, most: off_t = most) {
    turn.withLock { _ in
      var status = stat()
      guard fstat(stream, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > most,
        let path = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(stream)"),
        path.hasSuffix(ending)
      else { return }
      begin(path, for: stream)
    }
  }

  /// Where there is no room for it, or no descriptor, the log goes on as it is, and the next line
  /// tries again.
  private static func begin(_ path: String, for stream: Int32) {
    let next = OwnFile.begin(path)
    guard next >= 0 else { return }
    defer { close(next) }
    for end in stream == STDERR_FILENO ? [STDOUT_FILENO, STDERR_FILENO] : [stream] {
      dup2(next, end)
    }
  }
}
