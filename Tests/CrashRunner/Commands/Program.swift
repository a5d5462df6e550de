import CrashShim
import Glibc

/// A real program that was started in a folder, with its words in a file.
final class Program {
  let process: pid_t
  let said: String
  private var ending: Child.Ending?

  /// Starts `words`; the kernel ends it if it lives longer than `seconds`.
  init(
    _ words: [String], in folder: String, environment: [String: String], said: String,
    within seconds: UInt32 = 90
  ) throws {
    self.said = said
    // What an earlier program said there is not to be read as the words of this one.
    unlink(said)
    process = crash_fork()
    guard process >= 0 else { throw CrashFailure("no process") }
    guard process == 0 else { return }
    alarm(seconds)
    chdir(folder)
    let output = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    let input = open("/dev/null", O_RDONLY)
    for (file, number) in [(input, 0), (output, 1), (output, 2)] { dup2(file, Int32(number)) }
    for number in 3..<256 { close(Int32(number)) }
    for (name, value) in environment { setenv(name, value, 1) }
    var arguments = words.map { strdup($0) } + [nil]
    execv(words[0], &arguments)
    _exit(127)
  }

  deinit {
    if hasEnded() { return }
    kill(process, SIGKILL)
    _ = wait()
  }

  var text: String {
    guard let file = fopen(said, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  func hasEnded() -> Bool {
    if ending != nil { return true }
    var status: Int32 = 0
    guard waitpid(process, &status, WNOHANG) == process else { return false }
    ending = Child.Ending(status)
    return true
  }

  @discardableResult
  func wait() -> Child.Ending {
    if let ending { return ending }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let found = Child.Ending(status)
    ending = found
    return found
  }

  /// Asks it to end, and waits.
  @discardableResult
  func stop() -> Child.Ending {
    if !hasEnded() { kill(process, SIGTERM) }
    return wait()
  }
}

/// Asks again and again until the answer is yes or the time is over; gives the last answer.
func eventually(within milliseconds: Int64, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = Clock.uptime + milliseconds
  while true {
    if try condition() { return true }
    guard Clock.uptime < end else { return false }
    usleep(10_000)
  }
}
