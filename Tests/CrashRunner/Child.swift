import CrashShim
import Glibc

/// A forked process that tells what it does on a pipe, line by line, and may be told to go on.
final class Child {
  enum Ending: Equatable {
    case ended(Int32)
    case killed(Int32)

    /// What waitpid(2) says.
    init(_ status: Int32) {
      self = status & 0x7f == 0 ? .ended(status >> 8 & 0xff) : .killed(status & 0x7f)
    }
  }

  let process: pid_t
  private let hears: Int32
  private let tells: Int32
  private var rest: [UInt8] = []

  /// The child's side of the pipes.
  struct Line {
    fileprivate let hears: Int32
    fileprivate let tells: Int32

    func tell(_ text: String) {
      let bytes = Array((text.replacing("\n", with: " ") + "\n").utf8)
      _ = bytes.withUnsafeBytes { write(tells, $0.baseAddress, $0.count) }
    }

    func wait() {
      var byte: UInt8 = 0
      while read(hears, &byte, 1) < 0, errno == EINTR {}
    }
  }

  /// Runs `body` in a child, which is ended by the kernel if it takes longer than `seconds`.
  init(within seconds: UInt32, _ body: (Line) -> Int32) throws {
    var up: [Int32] = [0, 0]
    var down: [Int32] = [0, 0]
    guard pipe(&up) == 0, pipe(&down) == 0 else { throw CrashFailure("no pipe") }
    process = crash_fork()
    guard process >= 0 else { throw CrashFailure("no process") }
    if process == 0 {
      close(up[0])
      close(down[1])
      signal(SIGPIPE, SIG_IGN)
      alarm(seconds)
      _exit(body(Line(hears: down[0], tells: up[1])))
    }
    close(up[1])
    close(down[0])
    (hears, tells) = (up[0], down[1])
  }

  deinit {
    close(hears)
    close(tells)
  }

  /// The next line, or nil when the child has ended.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: 10) {
        defer { rest.removeFirst(end + 1) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(hears, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      rest += bytes.prefix(count)
    }
  }

  func lines() -> [String] {
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    return lines
  }

  func goOn() {
    var byte: UInt8 = 1
    _ = write(tells, &byte, 1)
  }

  func ending() -> Ending {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return Ending(status)
  }
}
