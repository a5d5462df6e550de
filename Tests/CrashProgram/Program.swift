import Flotilla
import Foundation

/// A program that uses the library as any would, and prints what it was told:
/// `saved N` and `changed` once a write is committed, `judged NUMBER KEY VERDICT` for each verdict.
///
/// It goes on after the last row and the last verdict of its life before, writes a few rows, and
/// ends when the last of them is judged: verdicts come in the order of the edits.
@main struct CrashProgram {
  /// DB HOST:PORT PEER LAST-VERDICT
  static func main() async {
    let words = CommandLine.arguments
    guard words.count == 5, let last = UInt64(words[4]) else { exit(2) }
    do {
      var options = RunOptions()
      (options.listen, options.peers, options.discovery) = (words[2], [words[3]], false)
      let replica = try await Replica.open(words[1], options: options)
      let asked = endWhenAsked(replica)
      defer { asked.cancel() }
      try await work(replica, after: last)
      await replica.close()
    } catch {
      say("failed: \(error)")
      exit(1)
    }
  }

  private static func work(_ replica: OpenReplica, after last: UInt64) async throws {
    let verdicts = replica.verdicts(after: last)
    let first = try await nextNumber(replica)
    let end = first + 7
    let reader = Task {
      for try await judgement in verdicts {
        let key = judgement.key["a"] ?? .null
        say("judged \(judgement.number) \(number(key)) \(judgement.verdict.verdict)")
        if key == .integer(end) { break }
      }
    }
    for number in first...end {
      if number % 2 == 0 {
        // The office writes this row, too.
        let word = SQLValue.text("program \(number)")
        _ = try await replica.update("u", key: key(0), set: ["w": word])
        say("changed")
      }
      _ = try await replica.save(row(number), in: "u")
      say("saved \(number)")
      try await Task.sleep(for: .milliseconds(15))
    }
    try await reader.value
  }

  private static func key(_ number: Int64) -> [String: SQLValue] {
    ["a": .integer(number), "b": .text("program")]
  }

  private static func row(_ number: Int64) -> [String: SQLValue] {
    key(number).merging(["w": .text("row \(number)")]) { $1 }
  }

  private static func nextNumber(_ replica: OpenReplica) async throws -> Int64 {
    let query = try replica.query("SELECT max(a) FROM u WHERE b = 'program'")
    for try await answer in query {
      return number(answer.report.rows[0][0]) + 1
    }
    return 1
  }

  private static func number(_ value: SQLValue) -> Int64 {
    if case .integer(let number) = value { number } else { -1 }
  }

  /// Closes the replica and ends the program on SIGTERM.
  private static func endWhenAsked(_ replica: OpenReplica) -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    source.setEventHandler {
      Task {
        await replica.close()
        exit(0)
      }
    }
    source.resume()
    return source
  }

  /// At once: what was printed is what the program knows when it is killed.
  private static func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }
}
