import Foundation
import Glibc

/// A program that was started; it ends at the latest with this process.
final class Child {
  struct Ended {
    /// The exit status, or 128 and the number of the signal.
    let status: Int32
    /// The largest resident memory.
    let peakMiB: Double
    let output: String
    let error: String
  }

  let pid: pid_t
  private let name: String
  private let files: (output: String, error: String)
  private let signal: Int32
  private var ended: Ended?
  /// The largest resident memory up to the last look. The kernel's own account at the end
  /// (getrusage(2), ru_maxrss) survives exec and so begins with this process's memory.
  private var peakMiB = 0.0

  /// Ends with this process, however that ends.
  static let launcher = ["/usr/bin/setpriv", "--pdeathsig", "KILL"]

  /// Starts `words`, the first of which is a path; output and errors go to files in `folder`.
  ///
  /// The launcher keeps its process id for the program, which `signal` ends at once.
  init(
    _ words: [String], in folder: String, environment: [String: String] = [:],
    launcher: [String] = Child.launcher, endedBy signal: Int32 = SIGKILL
  ) throws {
    self.name = words.joined(separator: " ")
    let stem = "\(folder)/\(UUID().uuidString)"
    self.files = ("\(stem).out", "\(stem).err")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let create = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, files.output, create, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, files.error, create, 0o600)
    // This process ignores the signals that end it (see Leftovers); its children must not.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let settings = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
    let all = launcher + words
    var arguments = all.map { strdup($0) } + [nil]
    var variables = settings.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, all[0], &actions, &attributes, &arguments, &variables)
    guard code == 0 else {
      throw BenchError("cannot start \(name): \(String(cString: strerror(code)))")
    }
    self.pid = pid
    self.signal = signal
    Leftovers.add(pid, endedBy: signal)
  }

  deinit {
    guard ended == nil else { return }
    kill(pid, signal)
    waitpid(pid, nil, 0)
    Leftovers.remove(pid)
  }

  /// What it has written to standard error so far.
  var log: String { Self.text(files.error) }

  /// Takes notice of its end, if it has ended.
  func poll() -> Ended? {
    if let ended { return ended }
    let peak = ProcessFacts(pid: pid).peakMiB
    if peak.isFinite { peakMiB = peak }
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
    Leftovers.remove(pid)
    let signal = status & 0x7F
    ended = Ended(
      status: signal == 0 ? status >> 8 & 0xFF : 128 + signal, peakMiB: peakMiB,
      output: Self.text(files.output), error: log)
    return ended
  }

  /// Waits for its end; throws unless it ends by itself with status 0.
  @discardableResult
  func wait(within limit: Duration, every pause: Duration = .milliseconds(2)) throws -> Ended {
    try Clock.wait("the end of \(name)", within: limit, every: pause) { poll() != nil }
    guard let ended, ended.status == 0 else {
      throw BenchError("\(name): exit \(ended?.status ?? -1): \(ended?.error ?? "")")
    }
    return ended
  }

  func send(_ signal: Int32) { if ended == nil { kill(pid, signal) } }

  private static func text(_ path: String) -> String {
    String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
