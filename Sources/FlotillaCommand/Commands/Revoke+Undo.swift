import Flotilla

/// What a node that was shut out has written, as text.
extension Revoke {
  /// So many rows are shown; all are in the JSON.
  private static let shown = 200

  /// `byStamp`: what is dated before, and came later, is left alone.
  static func text(
    _ undo: UndoReport, isDone: Bool, byStamp: Bool, colour: Bool
  ) -> String {
    let name = printable(undo.node)
    guard !undo.rows.isEmpty else {
      return "no row here was written by \(name) since \(undo.since)" + arrivals(undo)
    }
    var table = Table(columns: [
      Table.Column(heading: "TABLE"), Table.Column(heading: "KEY"), Table.Column(heading: "IT"),
      Table.Column(heading: "DATED"), Table.Column(heading: "BEFORE"),
      Table.Column(heading: isDone ? "DONE" : "CAN BE"),
    ])
    table.rows = undo.rows.prefix(shown).map { row in
      [
        Table.Cell(printable(row.table)),
        Table.Cell(Conflicts.words(row.key, in: row.key_columns)), Table.Cell(deed(row)),
        Table.Cell(dated(row)),
        Table.Cell(before(row)), Table.Cell(isDone ? became(row) : canBe(row, byStamp)),
      ]
    }
    let rest = undo.put_back + undo.left - min(shown, undo.rows.count)
    var lines = [table.text(colour: colour)]
    if rest > 0 || undo.more {
      lines.append("and \(undo.more ? "more than " : "")\(counted(rest, "row")) more (see --json)")
    }
    let ways = undo.rows.count { $0.hasWay && !(byStamp && $0.late) }
    lines.append(
      isDone
        ? "\(counted(undo.put_back, "row")) put back, \(undo.left) left to decide about"
          + (undo.awaits_verdict ? "; the anchor has yet to judge them" : "")
        : "\(counted(ways, "row")) can be put back (--yes does it), "
          + "\(undo.left - ways) to decide about")
    return lines.joined(separator: "\n") + arrivals(undo)
  }

  private static func arrivals(_ undo: UndoReport) -> String {
    undo.knows_arrivals
      ? ""
      : "\nthis node does not know what came in after that time: what is dated since then is told"
  }

  private static func dated(_ row: UndoReport.Row) -> String {
    [row.stands?.stamp ?? "not known", row.late ? "came later" : nil].compactMap(\.self)
      .joined(separator: ", ")
  }

  /// What the node did to the row.
  private static func deed(_ row: UndoReport.Row) -> String {
    if row.way == "edited-since" { return "wrote it, and others since" }
    if row.deleted { return "deleted it" }
    return row.new ? "made it" : "changed it"
  }

  private static func before(_ row: UndoReport.Row) -> String {
    guard let before = row.before else { return row.way == "remove" ? "no row" : "not known" }
    if before.deleted { return "no row" }
    return before.row.map(Conflicts.assignments) ?? "not known"
  }

  private static func canBe(_ row: UndoReport.Row, _ byStamp: Bool = false) -> String {
    if byStamp, row.late, row.hasWay { return "left: it is dated before" }
    return switch row.way {
    case "put-back": "put back"
    case "remove": "taken out"
    case "older": "decided: a later state is not known"
    case "edited-since": "decided: others have written on top of it"
    case "parked": "decided: it is not in its table"
    case "setting": "decided: it is a choice for the whole site"
    default: "decided: nothing is known of before"
    }
  }

  private static func became(_ row: UndoReport.Row) -> String {
    if row.done { return row.way == "remove" ? "taken out" : "put back" }
    if let why = row.why { return "left: \(printable(why))" }
    return row.hasWay ? "left: it is dated before" : canBe(row)
  }
}
