import FoundationEssentials
import Glibc
import Synchronization

/// Where a command's words go: results to standard output, everything else to standard error.
struct Output: Sendable {
  private let toResults: @Sendable (String) -> Void
  private let toRemarks: @Sendable (String) -> Void
  /// The number of the error for which results go nowhere; 0 while they are read.
  private let loss: @Sendable () -> Int32
  /// Whether results may be coloured.
  let colour: Bool
  /// Whether a line on standard error can be redrawn in place.
  let redraws: Bool
  /// The same of results.
  let isTerminal: Bool
  /// So many columns a line that is redrawn may take: one that is wrapped could not be taken back.
  private let columns: @Sendable () -> Int

  init(
    results: @escaping @Sendable (String) -> Void, remarks: @escaping @Sendable (String) -> Void,
    loss: @escaping @Sendable () -> Int32 = { 0 },
    colour: Bool = false, redraws: Bool = false, isTerminal: Bool = false,
    columns: @escaping @Sendable () -> Int = { Screen.size(of: STDERR_FILENO).columns }
  ) {
    toResults = results
    toRemarks = remarks
    self.loss = loss
    self.colour = colour
    self.redraws = redraws
    self.isTerminal = isTerminal
    self.columns = columns
  }

  /// The streams of this process.
  static let standard: Output = {
    let environment = ProcessInfo.processInfo.environment
    let results = Results()
    return Output(
      results: { results.write($0) }, remarks: { _ = writeAll($0, to: STDERR_FILENO) },
      loss: { results.loss },
      colour: isatty(STDOUT_FILENO) == 1 && wantsColour(environment),
      redraws: isatty(STDERR_FILENO) == 1 && canRedraw(environment),
      isTerminal: isatty(STDOUT_FILENO) == 1 && canRedraw(environment))
  }()

  /// Whether a terminal shows colour and the person who sits there wants it.
  ///
  /// "Command-line software which adds ANSI color to its output by default should check for a
  /// NO_COLOR environment variable that, when present and not an empty string […], prevents the
  /// addition of ANSI color" (no-color.org).
  static func wantsColour(_ environment: [String: String]) -> Bool {
    canRedraw(environment) && (environment["NO_COLOR"] ?? "").isEmpty
  }

  /// Whether the terminal understands more than plain text.
  static func canRedraw(_ environment: [String: String]) -> Bool {
    !["", "dumb"].contains(environment["TERM"] ?? "")
  }

  /// So many columns a result should take.
  var resultColumns: Int { isTerminal ? Screen.size().columns : .max }

  /// Whether anybody has got all results so far: what goes on without end looks at it, and ends.
  var isRead: Bool { loss() == 0 }

  /// How a command ends that has come to `status`. A reader that went away (`| head`) is no error,
  /// a full disk is.
  func end(_ status: ExitStatus) -> ExitStatus {
    status == .done && ![0, EPIPE].contains(loss()) ? .failed : status
  }

  /// Writes text to standard output as it is.
  func write(_ text: String) { toResults(text) }

  /// Writes one result for programs as it is, with a line end.
  func data(_ text: String) { toResults(text + "\n") }

  /// Writes one result for people, with a line end.
  func result(_ text: String) { toResults(printableLines(text) + "\n") }

  /// Writes one remark for a person.
  func remark(_ text: String) { toRemarks(printableLines(text) + "\n") }

  /// Writes warnings, one line each.
  func warnings(_ texts: [String]) {
    for text in texts { remark("warning: " + printable(text)) }
  }

  /// Says what failed and, indented, what to do.
  func failure(_ message: String, remedy: String?) {
    toRemarks(failureText(message, remedy: remedy))
  }

  /// Passes on what another process said, as it is.
  func relay(_ text: String) { toRemarks(text) }

  /// Draws the last line of a terminal again; empty text clears it.
  func redraw(_ text: String) {
    if redraws { toRemarks("\r\u{1b}[K" + Screen.cut(text, to: columns())) }
  }
}

/// A failure as it is shown: the message, then the remedy indented below it.
func failureText(_ message: String, remedy: String?) -> String {
  let lines = (remedy ?? "").split(separator: "\n").map { "  \(printable(String($0)))\n" }
  let body = message.split(separator: "\n").map { printable(shortened(String($0))) }
  return "flotilla: " + body.joined(separator: "\n  ") + "\n" + lines.joined()
}

/// Cuts what no path and no name is: a word of thousands of characters hides what is said of it.
private func shortened(_ line: String) -> String {
  if line.utf8.count <= 512 { return line }
  return line.split(separator: " ", omittingEmptySubsequences: false).map { word in
    guard word.utf8.count > 512 else { return String(word) }
    return word.prefix(80) + (word.hasSuffix("\"") ? "…\"" : "…")
  }.joined(separator: " ")
}

/// Standard output. Once it takes nothing any more the command goes on in silence: it may be in the
/// middle of its work, and its status is not known yet.
private final class Results: Sendable {
  private let lost = Atomic<Int32>(0)

  var loss: Int32 { lost.load(ordering: .relaxed) }

  func write(_ text: String) {
    guard loss == 0 else { return }
    let code = writeAll(text, to: STDOUT_FILENO)
    guard code != 0 else { return }
    lost.store(code, ordering: .relaxed)
    guard code != EPIPE else { return }
    let reason = String(cString: strerror(code))
    _ = writeAll("flotilla: cannot write the results: \(reason)\n", to: STDERR_FILENO)
  }
}

/// Writes all of `text`, however many calls that takes; returns 0 or the error number.
func writeAll(_ text: String, to descriptor: Int32) -> Int32 {
  var left = Array(text.utf8)[...]
  while !left.isEmpty {
    let count = left.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count >= 0 {
      left = left.dropFirst(count)
    } else if errno == EAGAIN {
      var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&wait, 1, -1)
    } else if errno != EINTR {
      return errno
    }
  }
  return 0
}
