import Flotilla

/// `flotilla sync`: one exchange now, both ways.
enum Sync {
  static let command = Command(
    name: "sync",
    summary: "exchanges changes now, both ways",
    discussion: """
      Asks the running node, or does it itself if none runs.
      """,
    parameters: [
      .database,
      Parameter(
        name: "NODE|HOST:PORT", count: .oneOrNone, kind: .nodeOrAddress,
        help: "the node to exchange with; without it all that can be reached"),
    ],
    options: [.timeout, .json],
    statuses: [
      .failed: "failed, there is no node of that name, or what answers at HOST:PORT is no other "
        + "node of this site",
      .notInSync: "some node could not be reached, or its exchange did not end well",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let report = try await call.replica.sync(
      with: call.arguments.text("NODE|HOST:PORT"), timeout: call.arguments.duration("--timeout"),
      progress: bar.show)
    bar.clear()
    call.print(report, as: text(report, colour: call.output.colour))
    if let remedy = remedy(report, path: call.shellPath) { call.output.remark(remedy) }
    return status(of: report)
  }

  /// What to type next if a node was not reached, or was not done.
  static func remedy(_ report: SyncReport, path: String) -> String? {
    // Why this node is shut out is told with what helps.
    let errors = report.peers.compactMap(\.error).filter { !$0.contains("flotilla ") }
    if errors.isEmpty { return nil }
    if errors.allSatisfy({ $0 == SyncReport.late }) {
      return "more time: flotilla sync \(path) --timeout 5m; what has come is kept"
    }
    return "where a node runs, and at which address: flotilla peers \(path)\n"
      + "  start one on its machine: flotilla run DB --background"
  }

  static func status(of report: SyncReport) -> ExitStatus {
    report.peers.contains { $0.error != nil } ? .notInSync : .done
  }

  /// What went to and came from each node.
  static func text(_ report: SyncReport, colour: Bool) -> String {
    if report.peers.isEmpty { return "there is no other node" }
    var table = Table(columns: [
      Table.Column(heading: "NODE"), Table.Column(heading: "SENT"),
      Table.Column(heading: "RECEIVED"), Table.Column(heading: "TIME"),
      Table.Column(heading: "RESULT"),
    ])
    table.rows = report.peers.map { peer in
      let reached = peer.error == nil
      return [
        Table.Cell(peer.node), Table.Cell(counted(peer.sent_rows, "row")),
        Table.Cell(counted(peer.received_rows, "row")), Table.Cell(span(peer.seconds)),
        Table.Cell(peer.error ?? "done", reached ? .green : .red),
      ]
    }
    return table.text(colour: colour)
  }
}
