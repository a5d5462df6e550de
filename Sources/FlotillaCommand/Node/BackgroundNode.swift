import Flotilla
import FoundationEssentials
import Glibc

/// A node of its own process, session and log, started from this one.
struct BackgroundNode {
  private let child: ChildProcess
  /// The end of the pipe on which the child tells how the start went; see `Readiness`.
  private let answer: Int32

  var process: pid_t { child.process }

  /// Starts this program again with `words`, detached, its log appended to the file at `log`.
  init(
    words: [String], log: String, executable: String = Self.executable
  ) throws(FlotillaError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Self.failure(errno) }
    let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
    let output = OwnFile.open(log, O_WRONLY | O_APPEND)
    let code = errno
    guard output >= 0 else {
      for file in [nothing, ends[0], ends[1]] { close(file) }
      throw FlotillaError.file(
        "cannot start a node in the background, for its log \(log) cannot be written", code)
    }
    defer { for file in [nothing, output, ends[1]] { close(file) } }
    var environment = ProcessInfo.processInfo.environment
    environment[Readiness.variable] = "3"
    do throws(ChildProcess.Failure) {
      child = try ChildProcess(
        executable, [ProcessArguments.all[0]] + words, environment: environment,
        files: [nothing, output, output, ends[1]], isOfNewSession: true)
    } catch {
      close(ends[0])
      throw Self.failure(error.code)
    }
    answer = ends[0]
  }

  /// Waits until the child is ready, has failed or died; returns its failure text and status.
  func outcome(within limit: Duration) -> Outcome {
    defer { close(answer) }
    let end = ContinuousClock.now + limit
    var text: [UInt8] = []
    while true {
      let left = Int32(max(0, (end - .now) / .milliseconds(1)))
      var wait = pollfd(fd: answer, events: Int16(POLLIN), revents: 0)
      let found = poll(&wait, 1, left)
      if found == 0 { return .silent }
      if found < 0 { continue }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(answer, &buffer, buffer.count)
      if count > 0 { text += buffer.prefix(count) }
      if count == 0 { break }
    }
    let said = String(decoding: text.dropFirst(), as: UTF8.self)
    if text.first == UInt8(ascii: "+") { return .ready(said) }
    switch child.wait() {
    case .exit(let status): return .ended(text: said, status: ExitStatus(rawValue: status))
    case .signal: return .ended(text: said, status: nil)
    }
  }

  /// How a start went.
  enum Outcome: Equatable {
    /// It serves; what it said of databases that it cannot serve.
    case ready(String)
    /// It neither serves nor has failed; it may yet come.
    case silent
    /// It has ended with this text; no status if a signal or crash ended it.
    case ended(text: String, status: ExitStatus?)
  }

  /// The file of this program; the link in /proc is followed so that `ps` shows a name.
  static var executable: String {
    ProgramFile.own.flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? "/proc/self/exe"
  }

  private static func failure(_ code: Int32) -> FlotillaError {
    FlotillaError(
      .system, "cannot start a node in the background: \(String(cString: strerror(code)))")
  }
}
