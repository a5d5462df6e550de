import Flotilla

/// `flotilla rule`: shows or sets merge rules.
enum Rule {
  static let command = Command(
    name: "rule",
    summary: "shows or sets the merge rule of a table",
    discussion: """
      The rule says which version of a row stands when two nodes changed it. All
      rules but newest-wins need an anchor: until one is appointed they are stored
      and act as newest-wins.
      """,
    parameters: [
      .database,
      Parameter(name: "TABLE", count: .oneOrNone, help: "the name of a table"),
      Parameter(
        name: "RULE", count: .oneOrNone, kind: .rule,
        help: "the rule to set: \(enumerated(mergeRules))"),
    ],
    options: [.json],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    var report = try await call.replica.rule(
      table: call.arguments.text("TABLE"), rule: call.arguments.text("RULE"))
    let remark = report.remark
    // The text says it below the table.
    let waiting = waitingRules(report.rules)
    if call.json, remark == nil, !waiting.isEmpty {
      report.remark = waiting.joined(separator: "\n")
    }
    call.print(report, as: text(report, colour: call.output.colour))
    if let remark { call.output.remark(printable(remark)) }
    return .done
  }

  /// The rule of each table; what waits for an anchor is said below.
  static func text(_ report: RuleReport, colour: Bool) -> String {
    if report.rules.isEmpty { return "no table is replicated" }
    var table = Table(columns: [Table.Column(heading: "TABLE"), Table.Column(heading: "RULE")])
    table.rows = report.rules.map { [Table.Cell($0.table), Table.Cell($0.rule)] }
    let waiting = waitingRules(report.rules)
    return ([table.text(colour: colour)] + waiting).joined(separator: "\n")
  }

  /// Says which rules do not act, and why, a line for each rule.
  static func waitingRules(_ entries: [RuleReport.Entry]) -> [String] {
    var told: Set<String> = []
    return entries.filter { $0.rule != $0.acting_rule }.compactMap { entry in
      guard told.insert(entry.rule).inserted else { return nil }
      let tables = entries.filter { $0.rule == entry.rule }.map { printable($0.table) }
      let more = tables.count > 4 ? " and \(tables.count - 3) more" : ""
      let names = tables.prefix(more.isEmpty ? 4 : 3).joined(separator: ", ") + more
      let rule = "\(names): \(printable(entry.rule))"
      guard mergeRules.contains(entry.rule) else {
        return "\(rule) is no rule that this version knows, and acts as "
          + printable(entry.acting_rule)
      }
      return "\(rule) acts as \(printable(entry.acting_rule)) until an anchor is appointed"
    }
  }
}
