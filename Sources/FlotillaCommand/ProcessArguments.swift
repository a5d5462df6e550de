import FoundationEssentials
import Glibc

/// The words with which this program was started, the program's name first.
enum ProcessArguments {
  /// Swift on Linux looks for the arguments beside the environment, and finds none if a library
  /// that was loaded before (LD_PRELOAD) has moved that with `setenv`
  /// (https://github.com/swiftlang/swift/issues/76080). The kernel still knows them: "holds the
  /// complete command line […] as a set of strings separated by null bytes" (proc(5)).
  static let all: [String] = {
    let found = CommandLine.arguments
    guard found.isEmpty else { return found }
    let line = FileManager.default.contents(atPath: "/proc/self/cmdline") ?? Data()
    let words = split(line)
    return words.isEmpty ? ["flotilla"] : words
  }()

  /// The words of a command line as the kernel gives it: each ends with a null byte.
  static func split(_ line: Data) -> [String] {
    line.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
