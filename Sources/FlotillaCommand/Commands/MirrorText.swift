import Flotilla
import Mirror

/// How a mirror is, for people.
enum MirrorText {
  static func text(_ plan: MirrorPlan) -> String {
    var lines = ["\(plan.server) · \(printable(plan.version))"]
    for table in plan.tables {
      let name = printable(table.table)
      let there = printable(table.server_table)
      switch table.action {
      case "map":
        lines.append("  \(name) is kept equal with \(there)")
        lines += table.reasons.map { "    \(printable($0))" }
      case "keep": lines.append("  \(name) is kept equal with \(there) already")
      case "create":
        lines.append("  \(name) is kept equal with \(there), which is made:")
        lines += (table.statement ?? "").split(separator: "\n").map {
          "    \(printable(String($0)))"
        }
      default:
        lines.append("  \(name) cannot be kept equal with \(there):")
        lines += table.reasons.map { "    \(printable($0))" }
      }
    }
    lines += plan.missing.map { "  \(printable($0))" }
    return lines.joined(separator: "\n")
  }

  static func text(_ report: MirrorReport, colour: Bool) -> String {
    var lines = ["\(report.server) · \(state(report))"]
    if let trouble = report.trouble {
      let since = report.trouble_since.map { " (since \($0))" } ?? ""
      lines.append("waits: \(printable(trouble))\(since)")
    }
    lines.append(
      "\(counted(report.tables.count, "table")) · \(behind(report))"
        + (report.behind_seconds > 0 ? ", \(report.behind_seconds) s" : "")
        + " · \(report.sent) out, \(report.taken) in · \(report.retries) tries again")
    if let compared = report.compared {
      lines.append(
        "compared \(compared): \(counted(report.rows_compared, "row")), "
          + "\(report.differences) differed")
    }
    for table in report.stopped {
      lines.append("\(printable(table.table)) is not mirrored: \(printable(table.reason))")
    }
    if !report.waiting.isEmpty {
      lines.append("tried again until they go out:")
      lines.append(rows(report.waiting, colour: colour))
    }
    if !report.held.isEmpty {
      lines.append("\(counted(report.held_count, "row")) held:")
      lines.append(rows(report.held, colour: colour))
    }
    return lines.joined(separator: "\n")
  }

  static func rows(_ held: [MirrorReport.Held], colour: Bool) -> String {
    var table = Table(columns: [
      Table.Column(heading: "TABLE"), Table.Column(heading: "KEY"), Table.Column(heading: "WAY"),
      Table.Column(heading: "WHY", gap: 3),
    ])
    table.rows = held.prefix(100).map { row in
      [row.table, row.key, row.direction, row.reason].map { Table.Cell(printable($0)) }
    }
    return table.text(colour: colour)
  }

  /// What the server's programs have changed is not known before it is asked.
  private static func behind(_ report: MirrorReport) -> String {
    let isAtWork = ["following", "comparing"].contains(report.state)
    guard let rows = report.behind_rows else { return "nobody knows how many rows behind" }
    return isAtWork
      ? "\(counted(rows, "row")) behind" : "\(counted(rows, "row")) wait to go out"
  }

  /// What `doctor` says of it.
  static func finding(_ report: MirrorReport, path: String) -> DoctorReport.Finding {
    guard let obstacle = report.obstacle else {
      return DoctorReport.Finding(
        check: "mirror", level: .ok, text: "\(report.server): \(state(report))", remedy: nil)
    }
    return DoctorReport.Finding(
      check: "mirror", level: .warning, text: "the mirror to \(report.server) \(obstacle)",
      remedy: "See: flotilla mirror \(path) status")
  }

  private static func state(_ report: MirrorReport) -> String {
    switch report.state {
    case "following" where report.in_sync: "in sync"
    case "following" where report.takes_in: "following, and more is to come in than was read"
    case "following": "following"
    case "comparing": "comparing, \(counted(report.progress, "row")) so far"
    case "connecting": "on its way"
    case "off": "no node runs: flotilla run DB does the work"
    default: report.state
    }
  }

  static func verdict(_ report: MirrorReport) -> String {
    let rows = counted(report.rows_compared, "row")
    if report.differences > 0 {
      return "\(rows) compared: \(report.differences) differed, and were put right"
    }
    return report.held_count > 0
      ? "\(rows) compared: equal but for \(counted(report.held_count, "row")) that are held"
      : "\(rows) compared: equal"
  }
}
