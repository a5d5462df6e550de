import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// The shell stands in for the node: file 3 is the pipe that `Readiness` writes to.
@Suite struct `A node in the background` {
  private func outcome(_ script: String, within limit: Duration = .seconds(30)) throws
    -> (BackgroundNode.Outcome, log: String)
  {
    let folder = FileManager.default.temporaryDirectory
      .appending(component: "flotilla-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let log = folder.appending(component: "node.log")
    try Data("before\n".utf8).write(to: log)
    let node = try BackgroundNode(words: ["-c", script], log: log.path, executable: "/bin/sh")
    let outcome = node.outcome(within: limit)
    return (outcome, try String(contentsOf: log, encoding: .utf8))
  }

  @Test func `is ready when it says so, and goes on`() throws {
    #expect(try outcome("printf + >&3; exec 3>&-; sleep 1").0 == .ready(""))
    #expect(try outcome("printf '+b: x' >&3; exec 3>&-; sleep 1").0 == .ready("b: x"))
  }

  @Test func `hands back its failure and its status`() throws {
    let (outcome, log) = try outcome("echo oh; echo no >&2; printf -- '-flotilla: no' >&3; exit 3")
    #expect(outcome == .ended(text: "flotilla: no", status: .notInSync))
    #expect(log == "before\noh\nno\n")
  }

  @Test func `is known to have died without a word`() throws {
    #expect(try outcome("kill -9 $$").0 == .ended(text: "", status: nil))
  }

  @Test func `is not waited for without end`() throws {
    #expect(try outcome("sleep 1", within: .milliseconds(50)).0 == .silent)
  }

  @Test func `leads a session of its own and holds nothing that its starter had open`() throws {
    let leaked = fcntl(STDERR_FILENO, F_DUPFD, 200)
    defer { close(leaked) }
    let script = """
      cut -d' ' -f6 /proc/$$/stat; echo $$; readlink /proc/$$/fd/0
      test -e /proc/$$/fd/\(leaked) && echo leaked
      while read -r name value; do
        test "$name" = SigBlk: && echo "blocked $value"
      done < /proc/$$/status
      printf + >&3
      """
    let (outcome, log) = try outcome(script)
    let lines = log.split(separator: "\n").dropFirst()
    #expect(outcome == .ready(""))
    #expect(lines.first == lines.dropFirst().first)
    #expect(lines.dropFirst(2) == ["/dev/null", "blocked 0000000000000000"])
  }

  @Test func `is started again with the same arguments but in the foreground`() throws {
    let words = [
      "run", "--listen", ":7391", "a.db", "--background", "--log", "json", "--peer=x:1", "--",
      "-b.db",
    ]
    guard case .call(_, let arguments) = try Program.flotilla.request(from: words) else { return }
    let again = Run.words(from: arguments)
    #expect(again == ["run", "--listen=:7391", "--peer=x:1", "--log=json", "--", "a.db", "-b.db"])
    guard case .call(_, let read) = try Program.flotilla.request(from: again) else { return }
    #expect(Run.options(from: read) == Run.options(from: arguments))
    #expect(read.texts("DB") == arguments.texts("DB"))
  }
}

@Suite struct `A line of the log` {
  private let line = LogLine(
    LogEntry("a \"b\"\u{1b}[1m"), at: Moment(now: Date(timeIntervalSince1970: 0.125), zone: .utc))

  @Test func `is dated unless the reader dates it, and harmless to a terminal`() {
    let text = line.written(as: .text, isDated: false)
    #expect(!text.contains("\u{1b}"))
    #expect(line.written(as: .text, isDated: true) == "1970-01-01 00:00:00.125 " + text)
  }

  @Test func `is JSON for programs`() throws {
    let text = line.written(as: .json, isDated: false)
    let object = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
    #expect(
      object == ["time": "1970-01-01T00:00:00.125Z", "message": "a \"b\"\u{1b}[1m"])
    #expect(!text.contains("\n") && !text.contains("\u{1b}"))
  }
}
