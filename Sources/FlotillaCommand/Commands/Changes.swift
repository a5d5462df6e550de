import Flotilla
import FoundationEssentials
import Glibc

/// `flotilla changes`: which rows change here, as JSON lines.
enum Changes {
  static let command = Command(
    name: "changes",
    summary: "prints rows that change, as JSON lines",
    discussion: """
      Each line is one row as its table shows it, whoever has changed it:
      {"cursor":…,"table":…,"key":…,"deleted":…,"row":…,"author":…,"stamp":…,
      "certified":…}. Of several changes of one row the last is told. The last line
      is {"cursor":…}: go on there with --since. Without it changes begin now.

      --follow goes on until it is stopped. --exec runs a command for each batch of
      lines, which it finds on its standard input. --cursor keeps the place in a
      file, written after each batch: a program that starts again misses nothing.

      {"cursor":…,"reset":true} means that changes were missed, for nobody has asked
      for a week, the file was put back or its tables were altered: read the tables,
      then go on from there.
      """,
    parameters: [
      .database,
      Parameter(name: "TABLE", count: .any, kind: .text, help: "only changes of these tables"),
    ],
    options: [
      Option(
        name: "--since", value: Option.Value(name: "CURSOR", kind: .text),
        help: "begins after this change"),
      Option(
        name: "--cursor", value: Option.Value(name: "FILE", kind: .text),
        help: "goes on from the cursor in the file, and keeps it there"),
      Option(name: "--follow", help: "waits for more until it is stopped"),
      Option(
        name: "--exec", value: Option.Value(name: "CMD", kind: .text),
        help: "runs a shell command for each batch, with the lines as its input"),
    ],
    choices: [Choice(names: ["--since", "--cursor"])],
    statuses: [
      .failed: "failed, or changes were missed and nobody follows"
    ],
    body: run)

  /// So long a node is asked to wait for changes at a time.
  private static let patience = Duration.seconds(10)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let isFollowing = call.arguments.has("--follow")
    let file = call.arguments.text("--cursor").map(CursorFile.init)
    let tables = call.arguments.texts("TABLE")
    let reader = Reader(
      replica: call.replica, tables: tables.isEmpty ? nil : tables, file: file,
      command: call.arguments.text("--exec"), output: call.output)
    let start = try file?.read() ?? call.arguments.text("--since")
    guard isFollowing else { return try await reader.readOnce(from: start) }
    return try await stoppingOnSignal { () async throws(FlotillaError) in
      try await reader.follow(from: start)
    }
  }

  /// Where the changes go.
  private struct Reader: Sendable {
    let replica: Replica
    let tables: [String]?
    let file: CursorFile?
    let command: String?
    let output: Output

    func readOnce(from start: String?) async throws(FlotillaError) -> ExitStatus {
      var cursor = start
      var isComplete = true
      while true {
        let news = try await replica.changes(since: cursor, tables: tables, within: .zero)
        guard try await deliver(news, isLast: !news.more) else { return .done }
        isComplete = isComplete && !news.reset
        cursor = news.cursor
        guard news.more else { return isComplete ? .done : .failed }
      }
    }

    func follow(from start: String?) async throws(FlotillaError) -> ExitStatus {
      var cursor = start
      while !Task.isCancelled {
        let began = ContinuousClock.now
        let news = try await replica.changes(
          since: cursor, tables: tables, within: Changes.patience)
        let isNews = cursor == nil || news.reset || !news.changes.isEmpty
        if isNews, try await !deliver(news, isLast: cursor == nil) { break }
        if news.cursor != cursor, !isNews { try file?.write(news.cursor) }
        cursor = news.cursor
        // Where no node runs nobody waits for us.
        if !isNews, ContinuousClock.now - began < .seconds(1) {
          try? await Task.sleep(for: .seconds(1))
        }
      }
      return .done
    }

    /// Prints a batch, or gives it to the command; then its end is noted. False if nobody reads it.
    private func deliver(
      _ news: OpenReplica.Changes, isLast: Bool
    ) async throws(FlotillaError) -> Bool {
      var lines = news.changes.map { JSON($0).description }
      let place = ["cursor": JSON.text(news.cursor)]
      if news.reset {
        lines.append(JSON.object(place.merging(["reset": .bool(true)]) { $1 }).description)
        output.warnings(["changes were missed: read the tables, then go on from this cursor"])
      } else if isLast, command == nil {
        lines.append(JSON.object(place).description)
      }
      if let command {
        if !lines.isEmpty { try await run(command, on: lines, upTo: news.cursor) }
      } else {
        for line in lines { output.data(line) }
        guard output.isRead else { return false }
      }
      try file?.write(news.cursor)
      return true
    }

    private func run(
      _ command: String, on lines: [String], upTo cursor: String
    ) async throws(FlotillaError) {
      let status = try await ShellCommand(
        text: command, environment: ["FLOTILLA_CURSOR": cursor]
      ).run(input: lines.map { $0 + "\n" }.joined())
      guard status == 0 else {
        throw FlotillaError(
          .system,
          "\(printable(command)) ended with status \(status); its batch of "
            + "\(lines.count) lines was not counted as done",
          remedy: file == nil
            ? "Mend it, and go on with --since CURSOR, the one that the last good batch had "
              + "in FLOTILLA_CURSOR."
            : "Mend it and start again: the batch comes once more.")
      }
    }
  }
}
