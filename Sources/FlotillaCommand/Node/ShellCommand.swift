import Dispatch
import Flotilla
import FoundationEssentials
import Glibc

/// A command of the shell that gets something on its standard input.
struct ShellCommand: Sendable {
  let text: String
  let environment: [String: String]
  /// After so many seconds it is ended, and what it has started; nil: it may go on for ever.
  var limit: Int?

  /// What `timeout` of the coreutils says of a command that it has ended.
  private static let timedOut: Int32 = 124

  /// Runs it and gives its exit status; 128 and the signal if one has ended it.
  ///
  /// What it reads lies in a file without a name: it may read as little or as slowly as it likes.
  func run(input: String) async throws(FlotillaError) -> Int32 {
    var words = ["/bin/sh", "-c", text]
    if let limit { words = ["/usr/bin/timeout", "--kill-after=5", "\(limit)"] + words }
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let start = ContinuousClock.now
    let child: ChildProcess
    do throws(ChildProcess.Failure) {
      let file = try Self.file(holding: input)
      defer { close(file) }
      child = try ChildProcess(
        words[0], words, environment: variables, files: [file, STDOUT_FILENO, STDERR_FILENO])
    } catch {
      throw FlotillaError(.system, "cannot run the command: \(error.text)")
    }
    let end = await withCheckedContinuation { continuation in
      // Waiting for the child blocks, which a thread of the cooperative pool must not.
      DispatchQueue.global().async { continuation.resume(returning: child.wait()) }
    }
    switch end {
    // Where it had to kill, it says 128 and the signal. A command may say the same of its own.
    case .exit(let status) where [Self.timedOut, 128 + SIGKILL].contains(status):
      guard let limit, .now - start >= .seconds(limit) else { return status }
      throw FlotillaError(.timedOut, "the command was ended after \(limit) s")
    case .exit(let status): return status
    case .signal(let number): return 128 + number
    }
  }

  /// A file without a name from which the text is read.
  private static func file(holding text: String) throws(ChildProcess.Failure) -> Int32 {
    let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    let path = "\(folder)/flotilla-\(UUID().uuidString)"
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw ChildProcess.Failure(code: errno) }
    unlink(path)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else {
        defer { close(file) }
        throw ChildProcess.Failure(code: errno)
      }
      rest = rest.dropFirst(max(0, count))
    }
    lseek(file, 0, SEEK_SET)
    return file
  }
}
