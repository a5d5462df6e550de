import Flotilla
import Mirror

/// `flotilla status`: has the data arrived?
enum Status {
  static let command = Command(
    name: "status",
    summary: "shows whether this node and the others are in sync",
    discussion: """
      In sync means: the connected nodes hold what this one holds, and the other way
      round, and no edit waits for the anchor's verdict. Rows that are parked are
      held, so they do not count against it; but they are not in their tables, and
      programs do not see them: the table is missing here, or is another one, or a
      constraint forbids them. `flotilla doctor` says which. Tables and columns that
      a connected node lacks, or has and this file lacks, are named below.
      """,
    parameters: [.database],
    options: [
      Option(name: "--all", help: "counts nodes that are away, too"),
      Option(
        name: "--watch",
        help: "goes on until Ctrl-C: in place on a terminal, else a line whenever it changes"),
      .json,
    ],
    statuses: [
      .done: "in sync", .failed: "it cannot tell",
      .notInSync: "not in sync, the first copy of a node that has joined is not complete, or the "
        + "file cannot be written for want of room or rights",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    if call.arguments.has("--watch") { return try await watch(call) }
    var report = try await call.replica.status(all: call.arguments.has("--all"))
    report.remarks += await call.replica.unreached(report)
    call.print(
      report,
      as: text(
        report, at: .current, colour: call.output.colour, columns: call.output.resultColumns))
    for remark in report.remarks { call.output.remark(printable(remark)) }
    if let hint = hint(report, path: call.shellPath) { call.output.remark(hint) }
    if !report.running { call.output.remark(notRunning(call, stopped: report.stopped)) }
    if report.running, let mirror = try await ServerMirror(call.replica).briefReport(),
      let obstacle = mirror.obstacle
    {
      call.output.remark(
        "the mirror to \(mirror.server) \(printable(obstacle))\n"
          + "  see: flotilla mirror \(call.shellPath) status")
    }
    return status(of: report)
  }

  /// Who only looks needs no lock, and another program gives it back.
  static func status(of report: StatusReport) -> ExitStatus {
    let isTroubled = report.trouble.map { $0.kind != "locked" } ?? false
    return report.in_sync && !isTroubled ? .done : .notInSync
  }

  /// How to see rows that are kept, but do not stand in their tables; nil if there are none.
  static func hint(_ report: StatusReport, path: String) -> String? {
    var lines: [String] = []
    if report.parked > 0 {
      lines.append(
        "\(counted(report.parked, "row")) parked: kept, but programs do not see them; see which, "
          + "and why, with\n  flotilla conflicts \(path) --parked")
    }
    if report.conflicts > 0 {
      lines.append(
        "what lost in \(counted(report.conflicts, "conflict")) is kept; see it with\n"
          + "  flotilla conflicts \(path)")
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// Says that what is shown is old, and how to start a node.
  static func notRunning(_ call: Call, stopped: String? = nil) -> String {
    notRunning(call.path, call.shellPath, stopped: stopped)
  }

  /// The same by the path as it was given, and as a word of a shell.
  static func notRunning(_ path: String, _ shellPath: String, stopped: String?) -> String {
    let why = stopped.map { " (it was stopped with flotilla stop at \($0))" } ?? ""
    return """
      no node runs for \(printable(path))\(why), so this is what was known last
        start it: flotilla run \(shellPath) --background
      """
  }

  /// The header, the table of nodes, rules that wait, and the sums.
  static func text(
    _ report: StatusReport, at moment: Moment, paces: [String: Double] = [:], colour: Bool,
    columns: Int = .max
  ) -> String {
    var lines = [Screen.lines(of: header(report), within: columns)]
    lines += trouble(report, at: moment)
    if !report.peers.isEmpty {
      let table = Peers.table(report.peers, at: moment, paces: paces, addresses: false)
      lines.append(table.text(colour: colour))
    }
    for peer in report.peers where peer.state == .failing {
      let error = printable(peer.error ?? "?")
      lines.append("! no exchange with \(printable(peer.node)) succeeds: \(error)")
      if let remedy = peer.remedy { lines.append("  " + printable(remedy)) }
    }
    lines += Rule.waitingRules(
      report.tables.map {
        RuleReport.Entry(table: $0.name, rule: $0.rule, acting_rule: $0.acting_rule)
      })
    lines.append(Screen.lines(of: sums(report), within: columns))
    return lines.joined(separator: "\n")
  }

  /// What keeps this node from its file, and what to do about it.
  private static func trouble(_ report: StatusReport, at moment: Moment) -> [String] {
    guard let trouble = report.trouble else { return [] }
    let since = Moment.date(from: trouble.since).map { " (since \(moment.clock($0)))" } ?? ""
    return ["! \(printable(trouble.text))\(since)"]
      + (trouble.remedy.map { ["  " + printable($0)] } ?? [])
  }

  private static func header(_ report: StatusReport) -> [String] {
    let isAnchor = report.anchor == report.node
    let hasStoodDown = report.anchor_state == "stood-down"
    let office = hasStoodDown ? "was the anchor" : "anchor"
    let parts =
      (report.role == "writer" || report.role == "anchor" && isAnchor ? [] : [report.role])
      + (isAnchor ? [office] : [])
    let role = parts.isEmpty ? "" : " (\(printable(parts.joined(separator: ", "))))"
    let rows = report.tables.reduce(0) { $0 + $1.rows }
    let anchor =
      isAnchor
      ? nil
      : report.anchor.map {
        "anchor: \(printable($0))" + (hasStoodDown ? " (does not judge)" : "")
      }
    return [
      printable(report.site), "this node: \(printable(report.node))\(role)", anchor,
      counted(report.tables.count, "table")
        + (report.takes_new_tables ? ", and those to come" : ""),
      counted(rows, "row"),
    ].compactMap { $0 }
  }

  private static func sums(_ report: StatusReport) -> [String] {
    let members = report.peers.filter { $0.state != .revoked }
    let inSync = members.count { $0.state == .inSync }
    var parts = [counted(report.conflicts, "conflict"), "\(thousands(report.parked)) parked"]
    if report.parked > 0 { parts[1] += " (not in their tables)" }
    if report.unjudged > 0 { parts.append("\(thousands(report.unjudged)) unjudged") }
    if let copy = report.first_copy {
      parts.append(
        "first copy not complete: \(thousands(copy.rows)) of about \(counted(copy.of, "row"))")
      return parts
    }
    if !report.in_sync, !report.not_in_sync.isEmpty {
      parts.append("not in sync: " + printable(report.not_in_sync.joined(separator: "; ")))
      return parts
    }
    guard !members.isEmpty else {
      return parts + [alone(report)]
    }
    parts.append(
      inSync > 0
        ? "in sync with \(inSync) of \(counted(members.count, "node"))"
        : "not in sync: " + away(members))
    return parts
  }

  /// Which nodes keep this one from being in sync with any, and how; up to three by their names.
  private static func away(_ members: [PeerReport]) -> String {
    let states: [(state: PeerReport.State, one: String, several: String)] = [
      (.catchingUp, "catches up", "catch up"), (.failing, "is failing", "are failing"),
      (.connecting, "is connecting", "are connecting"), (.away, "is away", "are away"),
    ]
    return states.compactMap { state, one, several in
      let names = members.filter { $0.state == state }.map { printable($0.node) }
      guard let last = names.last else { return nil }
      let verb = names.count == 1 ? one : several
      if members.count > 3 { return "\(counted(names.count, "node")) \(verb)" }
      let others = names.dropLast().joined(separator: ", ")
      return (others.isEmpty ? last : "\(others) and \(last)") + " \(verb)"
    }.joined(separator: ", ")
  }

  /// Why there is no other node.
  private static func alone(_ report: StatusReport) -> String {
    let were = [(report.forgotten_members ?? 0, "forgotten"), (report.peers.count, "shut out")]
      .filter { $0.0 > 0 }.map { "\(thousands($0.0)) \($0.1)" }
    return were.isEmpty
      ? "no other node has joined" : "no other node is left (\(were.joined(separator: ", ")))"
  }
}
