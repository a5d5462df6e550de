import Flotilla

/// The rows that differ, in words.
extension Verify {
  /// Rows that are not as this node has noted them.
  static func findings(_ report: VerifyReport, colour: Bool) -> String {
    var table = Table(columns: [
      Table.Column(heading: "  TABLE"), Table.Column(heading: "KEY"),
      Table.Column(heading: "FINDING"),
    ])
    table.rows = report.local.prefix(shown).map { finding in
      [
        Table.Cell("  " + (finding.table ?? "")),
        Table.Cell(Conflicts.words(finding.key ?? [:], in: finding.key_columns)),
        Table.Cell(meaning(of: finding.finding), finding.finding == "waiting" ? .yellow : .red),
      ]
    }
    return table.text(colour: colour) + more(report.local_findings, table.rows.count)
  }

  private static func meaning(of finding: String) -> String {
    switch finding {
    case "changed": "changed without its triggers"
    case "added": "inserted without its triggers"
    case "removed": "deleted without its triggers"
    case "waiting": "edited without the right to; waits to be put back"
    default: "the sums of all rows are wrong"
    }
  }

  /// Rows that the two nodes do not have in the same way.
  static func rows(_ peer: VerifyReport.Peer, colour: Bool) -> String {
    var table = Table(columns: [
      Table.Column(heading: "  TABLE"), Table.Column(heading: "KEY"),
      Table.Column(heading: "WHY"), Table.Column(heading: "HERE"),
      Table.Column(heading: "THERE"),
    ])
    table.rows = peer.differing.prefix(shown).map { row in
      [
        Table.Cell("  " + row.table), Table.Cell(Conflicts.words(row.key, in: row.key_columns)),
        Table.Cell(reason(row, peer.node), .red), Table.Cell(side(row.here)),
        Table.Cell(side(row.there)),
      ]
    }
    return table.text(colour: colour) + more(peer.differing_rows, table.rows.count)
  }

  private static func reason(_ row: VerifyReport.Difference, _ peer: String) -> String {
    switch row.why {
    case "only-here": "only here"
    case "only-there": "only at \(peer)"
    case "newer-here": "newer here"
    case "newer-there": "newer at \(peer)"
    case "other-version": "same content, known as another edit"
    default:
      "written past the triggers"
        + (isStrange(row.there) ? isStrange(row.here) ? "" : " at \(peer)" : " here")
    }
  }

  private static func isStrange(_ side: VerifyReport.Side?) -> Bool {
    side.map { !["live", "deleted"].contains($0.state) } ?? false
  }

  private static func side(_ side: VerifyReport.Side?) -> String {
    guard let side else { return "—" }
    let what =
      switch side.state {
      case "live", "changed": String((side.content ?? "").prefix(8))
      case "deleted": "deleted"
      case "missing": "missing"
      default: "not captured"
      }
    let edited = [side.edited_by, side.edited_at].compactMap { $0 }.joined(separator: " ")
    return edited.isEmpty ? what : "\(what) (\(edited))"
  }

  private static func more(_ all: Int, _ shown: Int) -> String {
    guard all > shown else { return "" }
    return "\n  and \(counted(all - shown, "more row")); --json has the first 1,000"
  }

  /// What to do about what was found.
  static func remedy(_ report: VerifyReport, _ call: Call) -> String? {
    let strange = report.peers.filter { $0.uncaptured > 0 }.map { printable($0.node) }
    if !strange.isEmpty {
      return "on \(strange.joined(separator: ", ")) run: flotilla verify FILE --repair"
    }
    let isWrong =
      report.isWrongHere
      || report.peers.contains { $0.state == .differing && $0.differing_rows > 0 }
    if !isWrong, report.peers.contains(where: { $0.state == .away }) {
      return "where a node runs, and since when one is away: flotilla peers \(call.shellPath)"
    }
    guard isWrong, !call.arguments.has("--repair") else { return nil }
    return "to put it right: flotilla verify \(call.shellPath) --repair"
  }
}
