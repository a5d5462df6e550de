import Flotilla

/// `flotilla wait`: returns when what was committed here is there.
enum Wait {
  static let command = Command(
    name: "wait",
    summary: "waits until what was committed here has arrived",
    discussion: """
      Waits for what was committed here before the call. The anchor has got it, too,
      if it has judged it, though it was never met.
      """,
    parameters: [.database],
    options: [
      Option(
        name: "--for",
        value: Option.Value(name: "NODE|anchor|all", kind: .name, standard: "all"),
        help: "where it must have arrived"),
      .timeout, .json,
    ],
    statuses: [
      .done: "what was committed has arrived", .notInSync: "the time was over first",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.wait(
      for: target(call.arguments.text("--for") ?? "all"),
      timeout: call.arguments.duration("--timeout"))
    call.print(report, as: text(report))
    if !call.json, !report.missing.isEmpty {
      call.output.remark("what it waits for: flotilla status \(call.shellPath)")
    }
    return report.missing.isEmpty ? .done : .notInSync
  }

  static func target(_ word: String) -> WaitTarget {
    switch word {
    case "all": .all
    case "anchor": .anchor
    default: .node(word)
    }
  }

  /// Which nodes hold it and which do not.
  static func text(_ report: WaitReport) -> String {
    if report.reached.isEmpty, report.missing.isEmpty {
      return report.remark.map(printable) ?? "there is no other node"
    }
    let lines = [("arrived at", report.reached), ("not yet at", report.missing)]
    let named = lines.filter { !$0.1.isEmpty }
      .map { "\($0.0) \($0.1.map(printable).joined(separator: ", "))" }
    return (named + [report.remark.map(printable)].compactMap { $0 }).joined(separator: "\n")
  }
}
