import Flotilla

/// `flotilla verify`: proof that nodes are equal.
enum Verify {
  static let command = Command(
    name: "verify",
    summary: "proves that the rows here are those of the other nodes",
    discussion: """
      Reads every row here and compares it with what this node has noted of it, then
      exchanges with the other nodes, or the one named, and compares row by row with
      each. Asks the running node, or does it itself if none runs. Rows that differ
      are listed with the reason. A node that may not read every table cannot be
      compared; it does not count unless it is named.

      --repair makes edits of what was written past the triggers, puts the sums
      right, has nodes that differ send each other their rows, of which the later
      edit stands, and verifies again.
      """,
    parameters: [
      .database,
      Parameter(
        name: "NODE", count: .oneOrNone,
        help: "the node to compare with; without it all that can be reached"),
    ],
    options: [Option(name: "--repair", help: "puts right what differs"), .timeout, .json],
    statuses: [
      .done: "all is identical", .failed: "something differs, or could not be compared",
      .notInSync: "nothing differs, but rows are on their way, a node is not in reach, or the "
        + "time was over first",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let report = try await call.replica.verify(
      with: call.arguments.text("NODE"), repairs: call.arguments.has("--repair"),
      timeout: call.arguments.duration("--timeout"), progress: bar.show)
    bar.clear()
    call.print(report, as: text(report, colour: call.output.colour))
    if !call.json, let remedy = remedy(report, call) { call.output.remark(remedy) }
    return status(of: report)
  }

  /// What differs is a failure; what is on its way, or cannot be reached, may yet be equal.
  static func status(of report: VerifyReport) -> ExitStatus {
    if report.identical { return .done }
    if report.isWrongHere { return .failed }
    let states = report.peers.map(\.state)
    if states.contains(.differing) || states.contains(.failed) { return .failed }
    return states == [.incomparable] ? .failed : .notInSync
  }

  /// One line for this node and each other one, and what differs below it.
  static func text(_ report: VerifyReport, colour: Bool) -> String {
    var lines = [own(report)]
    if report.local_findings > 0 { lines.append(findings(report, colour: colour)) }
    if report.peers.isEmpty { lines.append("there is no other node to compare with") }
    for peer in report.peers {
      lines.append("\(printable(peer.node)): \(line(peer, beside: report.digest))")
      if !peer.differing.isEmpty { lines.append(rows(peer, colour: colour)) }
    }
    lines += report.waiting.map { "! " + printable($0) }
    return lines.joined(separator: "\n")
  }

  private static func own(_ report: VerifyReport) -> String {
    let state =
      report.local_findings == 0
      ? "sound" : "\(counted(report.local_findings, "finding"))"
    let repaired = report.repaired > 0 ? ", \(thousands(report.repaired)) repaired" : ""
    let parked = report.parked > 0 ? ", \(thousands(report.parked)) parked" : ""
    return "\(printable(report.node)) (this node): \(state), \(counted(report.rows, "row"))"
      + "\(parked), digest \(report.digest)\(repaired)"
  }

  private static func line(_ peer: VerifyReport.Peer, beside own: String) -> String {
    var parts: [String] = []
    switch peer.state {
    case .identical:
      // Where programs write, each peer is compared with what is here at another moment.
      let when = peer.digest == own ? "" : " when it was compared, of what was here then"
      let digest = peer.digest ?? "?"
      parts = ["identical" + when, counted(peer.rows ?? 0, "row"), "digest \(digest)"]
    case .differing where peer.differing_rows > 0:
      parts = [peer.differing_rows == 1 ? "1 row differs" : differ(peer.differing_rows)]
    case .differing: parts = [peer.error.map(printable) ?? "as here"]
    case .moving: parts = ["no difference so far"]
    case .away: parts = ["away: \(peer.error ?? "not in reach")"]
    case .incomparable, .late, .failed: parts = ["not compared: \(printable(peer.error ?? ""))"]
    }
    if peer.on_the_way > 0 { parts.append("\(counted(peer.on_the_way, "row")) on the way") }
    if peer.forgotten > 0 {
      parts.append("\(counted(peer.forgotten, "delete")) that one of the two has forgotten")
    }
    if peer.uncaptured > 0 {
      parts.append("\(counted(peer.uncaptured, "row")) there written past the triggers")
    }
    if peer.repaired > 0 { parts.append("\(thousands(peer.repaired)) repaired") }
    return parts.joined(separator: ", ")
  }

  private static func differ(_ count: Int) -> String { "\(thousands(count)) rows differ" }

  /// So many rows are shown; --json has more.
  static let shown = 50
}
