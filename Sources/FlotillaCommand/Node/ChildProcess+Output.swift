import Flotilla
import FoundationEssentials
import Glibc

extension ChildProcess {
  /// Runs a program that is found by its name, and gives what it printed and its exit status.
  static func said(
    by words: [String]
  ) throws(FlotillaError) -> (text: String, status: Int32) {
    let child: ChildProcess
    let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
    var ends: [Int32] = [-1, -1]
    defer { for file in [nothing, ends[0]] where file >= 0 { close(file) } }
    do throws(ChildProcess.Failure) {
      guard pipe(&ends) == 0 else { throw ChildProcess.Failure(code: errno) }
      defer { close(ends[1]) }
      child = try ChildProcess("/usr/bin/env", ["env"] + words, files: [nothing, ends[1], ends[1]])
    } catch {
      throw FlotillaError(.system, "cannot run \(words[0]): \(error.text)")
    }
    var (said, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      said += buffer.prefix(count)
    }
    let text = String(decoding: said, as: UTF8.self).trimmed
    switch child.wait() {
    case .exit(let status): return (text, status)
    case .signal(let number): return (text, 128 + number)
    }
  }
}
