import Foundation
import Glibc

/// What a program left behind; output and errors without the white space around them.
struct Outcome: Sendable {
  let status: Int32
  let output: String
  let error: String
}

/// A program that did not do what it should, with what it said.
struct ProgramFailure: Error, CustomStringConvertible {
  let words: [String]
  let outcome: Outcome

  var description: String {
    "\(words.joined(separator: " ")): exit \(outcome.status)\n\(outcome.output)\n\(outcome.error)"
  }
}

/// One run of a program with its arguments.
struct Program: Sendable {
  let path: String
  let arguments: [String]
  let environment: [String: String]

  init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
  }

  /// Runs it to its end.
  ///
  /// Output goes to files, not pipes: what the program leaves running in the background would hold
  /// a pipe open for ever.
  func run() async throws -> Outcome {
    let place = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let files = [place.appending(path: "out"), place.appending(path: "err")]
    for file in files { try Data().write(to: file) }

    let status = try await start(output: files[0], error: files[1])
    let texts = try files.map { file in
      String(decoding: try Data(contentsOf: file), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }
    return Outcome(status: status, output: texts[0], error: texts[1])
  }

  /// Runs it and throws unless its exit status is 0.
  @discardableResult
  func succeed() async throws -> Outcome {
    let outcome = try await run()
    guard outcome.status == 0 else {
      throw ProgramFailure(words: [path] + arguments, outcome: outcome)
    }
    return outcome
  }

  private func start(output: URL, error: URL) async throws -> Int32 {
    let process = try spawn(output: output.path, error: error.path)
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        let signal = status & 0x7f
        continuation.resume(returning: signal == 0 ? status >> 8 & 0xff : 128 + signal)
      }
    }
  }

  /// Foundation's `Process` would not do: it takes a program for running as long as anything that
  /// it left in the background has inherited a certain descriptor.
  private func spawn(output: String, error: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, error, O_WRONLY, 0)

    // A thread of the pool blocks most signals, and a new program inherits that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    let settings = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = settings.map { strdup("\($0)=\($1)") } + [nil]
    defer { (words + variables).forEach { free($0) } }
    var process: pid_t = 0
    let failure = posix_spawn(&process, path, &actions, &attributes, &words, &variables)
    guard failure == 0 else {
      let outcome = Outcome(status: -1, output: "", error: String(cString: strerror(failure)))
      throw ProgramFailure(words: [path] + arguments, outcome: outcome)
    }
    return process
  }
}

/// Asks again and again until the answer is yes or the time is over; gives the last answer.
func eventually(
  within limit: Duration, every pause: Duration = .milliseconds(100),
  _ condition: () async throws -> Bool
) async throws -> Bool {
  let end = ContinuousClock.now + limit
  while true {
    if try await condition() { return true }
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: pause)
  }
}
