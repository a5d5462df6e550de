import Flotilla
import FoundationEssentials
import Glibc

/// `flotilla status --watch`: the state as it goes on.
extension Status {
  /// So often the running node is asked; a file without a node is looked at less often, for that
  /// keeps a node from starting for a moment.
  private static let pauses = (running: Duration.seconds(1), idle: Duration.seconds(5))
  /// What the last looks have shown: two lines of bars.
  struct History {
    private static let memory = 60
    private(set) var behind: [Int] = []
    /// Rows that were written or came, in a second.
    private(set) var rates: [Int] = []
    private var last: (edits: Int, at: ContinuousClock.Instant)?
    /// Rows a second by which each peer, by its id, came nearer between the last two looks.
    private(set) var paces: [String: Double] = [:]
    private var gaps: (rows: [String: Int], at: ContinuousClock.Instant)?

    mutating func look(_ report: StatusReport, at now: ContinuousClock.Instant) {
      let sum = report.peers.reduce(0) { $0.addingReportingOverflow($1.behind_rows).partialValue }
      behind = (behind + [sum]).suffix(Self.memory)
      measure(report.peers, at: now)
      guard let edits = report.edits else { return }
      if let last, last.at < now {
        let seconds = Double((now - last.at) / .milliseconds(1)) / 1_000
        let news = Double(edits) - Double(last.edits)
        rates = (rates + [Int(max(0, min(news / seconds, 1e12)).rounded())]).suffix(Self.memory)
      }
      last = (edits, now)
    }

    private mutating func measure(_ peers: [PeerReport], at now: ContinuousClock.Instant) {
      let rows = Dictionary(peers.map { ($0.id, $0.behind_rows) }, uniquingKeysWith: max)
      paces = [:]
      if let gaps, gaps.at < now {
        let seconds = Double((now - gaps.at) / .milliseconds(1)) / 1_000
        for (peer, left) in rows where left > 0 && left < gaps.rows[peer] ?? 0 {
          paces[peer] = (Double(gaps.rows[peer] ?? 0) - Double(left)) / seconds
        }
      }
      gaps = (rows, now)
    }
  }

  /// Shows the state until a signal comes: in place on a terminal, elsewhere whenever it changes.
  static func watch(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    try await stoppingOnSignal { () async throws(FlotillaError) in
      var screen = Screen()
      var shown = ""
      var history = History()
      var last = ExitStatus.done
      while !Task.isCancelled {
        let report = try await call.replica.status(all: call.arguments.has("--all"))
        last = status(of: report)
        history.look(report, at: .now)
        if call.output.isTerminal, !call.json {
          let text = watched(
            report, history, path: call.shellPath, at: .current, colour: call.output.colour)
          call.output.write(screen.frame(text, in: Screen.size()))
        } else {
          let text = call.json ? JSON(reflecting: report).description : plain(report)
          if text != shown {
            if call.json { call.output.data(text) } else { call.output.result(stamped(text)) }
          }
          shown = text
        }
        guard call.output.isRead else { break }
        try? await Task.sleep(for: report.running ? pauses.running : pauses.idle)
      }
      return last
    }
  }

  /// The state, what happened lately, and when that was.
  static func watched(
    _ report: StatusReport, _ history: History, path: String, at moment: Moment, colour: Bool
  ) -> String {
    var lines = [text(report, at: moment, paces: history.paces, colour: colour)]
    if history.rates.contains(where: { $0 > 0 }) {
      let rate = thousands(history.rates.last ?? 0)
      lines.append("rows a second: \(Sparkline.text(history.rates)) \(rate)")
    }
    if history.behind.contains(where: { $0 > 0 }) {
      let rows = thousands(history.behind.last ?? 0)
      lines.append("rows behind:   \(Sparkline.text(history.behind)) \(rows)")
    }
    if let hint = hint(report, path: path) { lines.append(hint) }
    if !report.running { lines.append(notRunning(path, path, stopped: report.stopped)) }
    lines.append("\(moment.stamp.prefix(19)) · Ctrl-C ends this")
    return lines.joined(separator: "\n")
  }

  /// In one line, without what changes with every second.
  static func plain(_ report: StatusReport) -> String {
    let peers = report.peers.map { peer in
      let rows = peer.behind_rows > 0 ? " (\(counted(peer.behind_rows, "row")) behind)" : ""
      return "\(printable(peer.node)) \(peer.state.rawValue)\(rows)"
    }
    let state = report.in_sync ? "in sync" : "not in sync"
    let trouble = report.trouble.map { printable($0.text) }
    return
      ([report.running ? state : "\(state), no node runs"] + peers
      + [counted(report.conflicts, "conflict"), "\(thousands(report.parked)) parked", trouble]
      .compactMap { $0 }).joined(separator: " · ")
  }

  private static func stamped(_ text: String) -> String {
    "\(Moment.current.stamp.prefix(19)) \(text)"
  }
}
