import FoundationEssentials
import Glibc

/// A program that this one starts.
struct ChildProcess {
  let process: pid_t

  /// Starts a program. It has the open `files` as its descriptors 0, 1, 2 and so on, and no others;
  /// no signal is blocked or ignored. A failure is a number of errno.
  ///
  /// "POSIX_SPAWN_SETSID […] the child process shall create a new session and become the session
  /// leader" (posix_spawnattr_setflags, POSIX.1-2024): no terminal can hang it up.
  init(
    _ executable: String, _ words: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment, files: [Int32],
    isOfNewSession: Bool = false
  ) throws(Failure) {
    Self.closeOnExecution()
    // Out of the way of the numbers that they are to have.
    let copies = files.map { fcntl($0, F_DUPFD_CLOEXEC, Int32(files.count)) }
    defer { for copy in copies where copy >= 0 { close(copy) } }
    guard !copies.contains(where: { $0 < 0 }) else { throw Failure(code: errno) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, copy) in copies.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, copy, Int32(number))
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        | (isOfNewSession ? Self.newSession : 0))
    var child: pid_t = 0
    let code = Self.withCStrings(words) { words in
      Self.withCStrings(environment.map { "\($0.key)=\($0.value)" }) { variables in
        posix_spawn(&child, executable, &actions, &attributes, words, variables)
      }
    }
    guard code == 0 else { throw Failure(code: code) }
    process = child
  }

  struct Failure: Error {
    let code: Int32
    var text: String { String(cString: strerror(code)) }
  }

  /// How it ended.
  enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  /// Waits on this thread until it has ended.
  func wait() -> End {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7f
    return signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
  }

  /// Marks all open files but the standard streams: a pipe that the caller of this program left
  /// open is not the child's to keep open for days.
  private static func closeOnExecution() {
    let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    for number in (open ?? []).compactMap({ Int32($0) }) where number > STDERR_FILENO {
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }
  }

  /// POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift's module of glibc hides.
  private static let newSession: Int16 = 0x80

  /// Gives a call the array of C strings, closed by a null pointer, that `exec` wants.
  private static func withCStrings<Value>(
    _ texts: [String], _ call: ([UnsafeMutablePointer<CChar>?]) -> Value
  ) -> Value {
    let strings = texts.map { strdup($0) }
    defer { for string in strings { free(string) } }
    return call(strings + [nil])
  }
}
