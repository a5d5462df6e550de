import Flotilla
import Foundation

/// A node of its own process, session and log, started from this one.
struct BackgroundNode {
  let process: pid_t
  /// The end of the pipe on which the child tells how the start went; see `Readiness`.
  private let answer: Int32

  /// Starts this program again with `words`, detached, its log appended to the file at `log`.
  ///
  /// "POSIX_SPAWN_SETSID […] the child process shall create a new session and become the session
  /// leader" (posix_spawnattr_setflags, POSIX.1-2024): no terminal can hang it up.
  init(
    words: [String], log: String, executable: String = Self.executable
  ) throws(FlotillaError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Self.failure("pipe", errno) }
    defer { close(ends[1]) }
    Self.closeOnExecution()
    let childEnd: Int32 = 3
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // First the pipe, lest an opened file takes its number; equal numbers only lose O_CLOEXEC.
    posix_spawn_file_actions_adddup2(&actions, ends[1], childEnd)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(
      &actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setflags(&attributes, Self.newSession | Int16(POSIX_SPAWN_SETSIGMASK))

    var environment = ProcessInfo.processInfo.environment
    environment[Readiness.variable] = String(childEnd)
    let pairs = environment.map { "\($0.key)=\($0.value)" }
    var child: pid_t = 0
    let code = withCStrings([ProcessArguments.all[0]] + words) { arguments in
      withCStrings(pairs) { variables in
        posix_spawn(&child, executable, &actions, &attributes, arguments, variables)
      }
    }
    if code != 0 {
      close(ends[0])
      throw Self.failure(log, code)
    }
    process = child
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
      if text.first == UInt8(ascii: "+") { return .ready }
      if count == 0 { break }
    }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let ended = status & 0x7f == 0
    return .ended(
      text: String(decoding: text.dropFirst(), as: UTF8.self),
      status: ended ? ExitStatus(rawValue: status >> 8 & 0xff) : nil)
  }

  /// How a start went.
  enum Outcome: Equatable {
    case ready
    /// It neither serves nor has failed; it may yet come.
    case silent
    /// It has ended with this text; no status if a signal or crash ended it.
    case ended(text: String, status: ExitStatus?)
  }

  /// Marks all open files but the standard streams: a pipe that the caller of this program left
  /// open is not the node's to keep open for days.
  private static func closeOnExecution() {
    let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    for number in (open ?? []).compactMap({ Int32($0) }) where number > STDERR_FILENO {
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }
  }

  /// POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift's module of glibc hides.
  private static let newSession: Int16 = 0x80

  /// The file of this program; the link in /proc is followed so that `ps` shows a name.
  static var executable: String {
    let link = "/proc/self/exe"
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    return target.flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? link
  }

  private static func failure(_ what: String, _ code: Int32) -> FlotillaError {
    FlotillaError(
      .system,
      "cannot start a node in the background (\(what)): "
        + String(cString: strerror(code)))
  }
}

/// Gives a call the array of C strings, closed by a null pointer, that `exec` wants.
private func withCStrings<Value>(
  _ texts: [String], _ call: ([UnsafeMutablePointer<CChar>?]) -> Value
) -> Value {
  let strings = texts.map { strdup($0) }
  defer { for string in strings { free(string) } }
  return call(strings + [nil])
}
