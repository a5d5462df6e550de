import Flotilla

/// `flotilla conflicts`: versions that lost without having been seen.
enum Conflicts {
  static let command = Command(
    name: "conflicts",
    summary: "shows what lost against another edit, and brings it back",
    discussion: """
      Where two nodes have changed one row without knowing of each other, one edit
      stands. The other is kept on the node where it was made and on the anchor.
      show prints both side by side; restore writes the one that lost again, as a new
      edit; dismiss takes it off the list. 10,000 are kept for 400 days unless --keep
      and --keep-days say otherwise; the oldest go first, settled ones before others,
      and are counted.
      """,
    parameters: [
      .database,
      Parameter(
        name: "ACTION", count: .oneOrNone, kind: .choice(["list", "show", "restore", "dismiss"]),
        help: "list, show, restore or dismiss"),
      Parameter(name: "ID", count: .oneOrNone, help: "the number of a conflict"),
    ],
    options: [
      Option(name: "--parked", help: "shows rows that are held but do not stand in their table"),
      Option(name: "--all", help: "also those that were restored or dismissed"),
      Option(
        name: "--keep", value: Option.Value(name: "COUNT", kind: .number(0...10_000_000)),
        help: "sets how many are kept on this node"),
      Option(
        name: "--keep-days", value: Option.Value(name: "DAYS", kind: .number(0...36_500)),
        help: "sets for how many days they are kept"),
      .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let action = call.arguments.text("ACTION") ?? "list"
    let (count, days) = (call.arguments.text("--keep"), call.arguments.text("--keep-days"))
    if count != nil || days != nil {
      _ = try await call.replica.keepConflicts(
        count: count.flatMap { Int($0) }, days: days.flatMap { Int($0) })
    }
    guard action != "list" else { return try await list(call) }
    guard let text = call.arguments.text("ID"), let id = Int(text), id > 0 else {
      throw FlotillaError(
        .usage, "\(action) needs the number of a conflict",
        remedy: "See: flotilla conflicts \(call.shellPath)")
    }
    switch action {
    case "show":
      let conflict = try await call.replica.conflict(id)
      call.print(conflict, as: sides(conflict, colour: call.output.colour))
    case "restore":
      let change = try await call.replica.restoreConflict(id)
      call.print(change, as: "what lost in conflict \(id) was written again")
    default:
      let change = try await call.replica.dismissConflict(id)
      call.print(change, as: "conflict \(id) was dismissed")
    }
    return .done
  }

  private static func list(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.conflicts(all: call.arguments.has("--all"))
    let isParked = call.arguments.has("--parked")
    call.print(
      report,
      as: isParked
        ? parked(report.parked, colour: call.output.colour)
        : text(report.conflicts, at: .current, colour: call.output.colour))
    if !call.json, report.gone > 0 {
      call.output.remark(
        "\(counted(report.gone, "older conflict")) let go: \(report.keeps.count) are kept, for "
          + counted(report.keeps.days, "day"))
    }
    if !isParked, !call.json, !report.parked.isEmpty {
      call.output.remark(
        "\(counted(report.parked.count, "row")) parked: "
          + "flotilla conflicts \(call.shellPath) --parked"
      )
    }
    return .done
  }

  static func text(
    _ conflicts: [ConflictReport.Conflict], at moment: Moment, colour: Bool
  ) -> String {
    if conflicts.isEmpty { return "no conflicts" }
    var table = Table(columns: [
      Table.Column(heading: "ID", toTheRight: true), Table.Column(heading: "TABLE"),
      Table.Column(heading: "KEY"), Table.Column(heading: "LOST"), Table.Column(heading: "WON"),
      Table.Column(heading: "REASON"), Table.Column(heading: "NOTICED"),
      Table.Column(heading: "STATE"),
    ])
    table.rows = conflicts.map { conflict in
      [
        Table.Cell(String(conflict.id)), Table.Cell(subject(conflict)),
        Table.Cell(conflict.isOfSettings ? "" : words(conflict.key)),
        Table.Cell(author(conflict.loser)),
        Table.Cell(author(conflict.winner)), Table.Cell(conflict.reason),
        Table.Cell(Moment.date(from: conflict.at).map(moment.ago) ?? conflict.at),
        Table.Cell(conflict.state),
      ]
    }
    return table.text(colour: colour)
  }

  /// The table, or of which table the rule is meant.
  private static func subject(_ conflict: ConflictReport.Conflict) -> String {
    conflict.isOfSettings ? "rule of \(words(conflict.key))" : printable(conflict.table)
  }

  private static func author(_ side: ConflictReport.Side?) -> String {
    guard let side else { return "?" }
    return (side.node.map(printable) ?? "?") + (side.deleted ? " (delete)" : "")
  }

  private static func words(_ key: [String: SQLValue]) -> String {
    key.sorted { $0.key < $1.key }.map { printable($0.value.words) }.joined(separator: ", ")
  }

  static func parked(_ rows: [ConflictReport.Parked], colour: Bool) -> String {
    if rows.isEmpty { return "no row is parked" }
    var table = Table(columns: [
      Table.Column(heading: "TABLE"), Table.Column(heading: "KEY"), Table.Column(heading: "WHY"),
      Table.Column(heading: "ROW"),
    ])
    table.rows = rows.map { row in
      let values = row.row.sorted { $0.key < $1.key }
        .map { "\(printable($0.key)) = \(printable($0.value.words))" }
      return [
        Table.Cell(printable(row.table)), Table.Cell(words(row.key)), Table.Cell(row.why),
        Table.Cell(values.joined(separator: ", ")),
      ]
    }
    return table.text(colour: colour)
  }

  /// Both versions side by side; columns that differ are marked.
  static func sides(_ conflict: ConflictReport.Conflict, colour: Bool) -> String {
    let (loser, winner) = (conflict.loser?.row ?? [:], conflict.winner?.row ?? [:])
    var table = Table(columns: [
      Table.Column(heading: ""), Table.Column(heading: "COLUMN"), Table.Column(heading: "LOST"),
      Table.Column(heading: "WON"),
    ])
    table.rows = columns(of: conflict).map { column in
      let differs = loser[column] != winner[column]
      return [
        Table.Cell(differs ? "*" : ""), Table.Cell(printable(column)),
        Table.Cell(loser[column].map { printable($0.words) } ?? "", differs ? .red : nil),
        Table.Cell(winner[column].map { printable($0.words) } ?? ""),
      ]
    }
    let rule = conflict.rule.isEmpty ? "" : ", rule \(conflict.rule)"
    var lines = [
      "\(subject(conflict))\(conflict.isOfSettings ? "" : " " + words(conflict.key)): "
        + "\(conflict.reason)\(rule), \(conflict.state)",
      "lost: \(origin(conflict.loser))", "won:  \(origin(conflict.winner))",
    ]
    if !table.rows.isEmpty { lines.append(table.text(colour: colour)) }
    return lines.joined(separator: "\n")
  }

  /// The key columns, then the others in the order of the table.
  private static func columns(of conflict: ConflictReport.Conflict) -> [String] {
    var columns: [String] = []
    for side in [conflict.loser, conflict.winner] {
      let row = side?.row ?? [:]
      let all = (side?.columns ?? []).filter { row[$0] != nil } + row.keys.sorted()
      for column in all where !columns.contains(column) { columns.append(column) }
    }
    return columns
  }

  private static func origin(_ side: ConflictReport.Side?) -> String {
    guard let side else { return "not known here" }
    let time = side.stamp.map { side.undated ? " at some time after \($0)" : " at \($0)" }
    return author(side) + (time ?? "")
  }
}
