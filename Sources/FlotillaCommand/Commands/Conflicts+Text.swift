import Flotilla

/// Conflicts and parked rows as text.
extension Conflicts {
  /// What was written or deleted, and what that has replaced.
  static func restored(_ change: ConflictChange) -> String {
    var text =
      change.isDelete
      ? "the row of conflict \(change.id) was deleted again, which had lost"
      : "what lost in conflict \(change.id) was written again"
    if let replaced = change.replaced {
      let what = change.isOverUnknown ? "what stood" : "what had been written since then"
      text += ", over \(what): \(assignments(replaced))"
    }
    if change.was_gone { text += "; the row had been deleted since then" }
    if change.awaits_verdict { text += "; the anchor has yet to judge it" }
    return text
  }

  /// So many columns a row, or its key, takes in a list; `show` prints it whole.
  private static let longest = 60

  static func assignments(_ row: [String: SQLValue]) -> String {
    row.sorted { $0.key < $1.key }
      .map { "\(printable($0.key)) = \(printable($0.value.words))" }.joined(separator: ", ")
  }

  /// The reason in a clause.
  static func why(_ conflict: ConflictReport.Conflict) -> String {
    let clause =
      switch conflict.reason {
      case "older" where conflict.loser?.undated == true:
        "nobody can tell when it was written, and of what stands one can"
      case "older": "what stands was written later"
      case "offline": "it was made out of touch with the anchor"
      case "unseen": "it and what stands were written without knowing of each other"
      case "already-deleted": "the row had been deleted, and its author had not seen that"
      case "key-collision": "another row had the key already"
      case "not-allowed": "its author may not write that"
      case "parked" where conflict.because == nil:
        "it broke a constraint beside what stood; nothing in this file is in its way now: that has "
          + "gone since, or the anchor has another constraint, and conflicts show there names it"
      case "parked": "it breaks a constraint beside what stands"
      default: conflict.reason
      }
    if let became = conflict.became {
      let key = words(became.key, in: conflict.key_columns)
      return "another row had the key already, so it goes on as \(key)"
        + (became.rows == 0
          ? ""
          : ", and with it \(counted(became.rows, "row")) that "
            + (became.rows == 1 ? "refers to it" : "refer to it"))
    }
    return "it lost because " + clause + (conflict.because.map { " (\(printable($0)))" } ?? "")
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
        Table.Cell(conflict.isOfSettings ? "" : Screen.cut(key(conflict), to: longest)),
        Table.Cell(lost(conflict)),
        Table.Cell(standing(conflict)), Table.Cell(reason(conflict)),
        Table.Cell(Moment.date(from: conflict.at).map(moment.ago) ?? conflict.at),
        Table.Cell(conflict.isFresh ? became(conflict) ?? conflict.state : conflict.state),
      ]
    }
    return table.text(colour: colour)
  }

  private static func became(_ conflict: ConflictReport.Conflict) -> String? {
    conflict.became.map { became in
      "now \(words(became.key, in: conflict.key_columns))"
        + (became.rows == 0 ? "" : ", with \(counted(became.rows, "row"))")
    }
  }

  private static func reason(_ conflict: ConflictReport.Conflict) -> String {
    printable(ConflictReport.words(for: conflict.reason))
      + (conflict.loser?.undated == true ? ", undated" : "")
  }

  /// The table, or of which table the rule is meant.
  private static func subject(_ conflict: ConflictReport.Conflict) -> String {
    conflict.isOfSettings ? "rule of \(key(conflict))" : printable(conflict.table)
  }

  /// By the time of the site, as the log is.
  static func moment(of now: String) -> Moment {
    Moment(now: Moment.date(from: now) ?? Moment.current.now, zone: Moment.current.zone)
  }

  private static func author(_ side: ConflictReport.Side) -> String {
    (side.node.map(printable) ?? "nobody known") + (side.deleted ? " (delete)" : "")
  }

  /// Of a delete that a program made without the right to only the key is known.
  private static func lost(_ conflict: ConflictReport.Conflict) -> String {
    conflict.loser.map(author) ?? "not known"
  }

  /// What does not fit has lost against what is there, and that may be no row: nobody deleted one.
  /// Where nothing is known of what stood, the reason says what that was.
  private static func standing(_ conflict: ConflictReport.Conflict) -> String {
    guard let winner = conflict.winner else {
      return switch conflict.reason {
      case "already-deleted": "nobody known (delete)"
      case "not-allowed" where conflict.stands.map { $0.row == nil } == true: "no row"
      case "not-allowed": "what was there"
      default: "not known"
      }
    }
    guard conflict.reason == "parked", winner.deleted else { return author(winner) }
    return (winner.node.map(printable) ?? "nobody known") + " (no row)"
  }

  private static func key(_ conflict: ConflictReport.Conflict) -> String {
    words(conflict.key, in: conflict.key_columns)
  }

  /// The values of a key in the order of its columns, as far as that is told; else of their names.
  static func words(_ key: [String: SQLValue], in columns: [String]?) -> String {
    let told = (columns ?? []).filter { key[$0] != nil }
    let names = told + key.keys.filter { !told.contains($0) }.sorted()
    return names.compactMap { key[$0].map { printable($0.words) } }.joined(separator: ", ")
  }

  static func parked(_ rows: [ConflictReport.Parked], colour: Bool) -> String {
    if rows.isEmpty { return "no row is parked" }
    var table = Table(columns: [
      Table.Column(heading: "ID"), Table.Column(heading: "TABLE"), Table.Column(heading: "KEY"),
      Table.Column(heading: "WHY"), Table.Column(heading: "ROW"),
    ])
    table.rows = rows.map { row in
      [
        Table.Cell(row.id), Table.Cell(printable(row.table)),
        Table.Cell(Screen.cut(words(row.key, in: row.key_columns), to: longest)),
        Table.Cell(why(row)), Table.Cell(Screen.cut(assignments(row.row), to: longest)),
      ]
    }
    return table.text(colour: colour)
  }

  /// Why a row is parked, in words, and what is in its way.
  static func why(_ row: ConflictReport.Parked) -> String {
    let clause =
      switch row.why {
      case "constraint": "a constraint keeps it out"
      case "reference": "a row that it refers to is not here"
      case "parent": "a row that it refers to is parked"
      case "table": "its table is not here"
      case "too-large": "it is too large to travel"
      default: row.why
      }
    return clause + (row.because.map { " (\(printable($0)))" } ?? "")
  }

  /// Both versions side by side; columns that differ are marked.
  static func sides(_ conflict: ConflictReport.Conflict, colour: Bool) -> String {
    let stands = conflict.stands?.row
    let (loser, winner) = (conflict.loser?.row ?? [:], conflict.winner?.row ?? stands ?? [:])
    var table = Table(columns: [
      Table.Column(heading: ""), Table.Column(heading: "COLUMN"), Table.Column(heading: "LOST"),
      Table.Column(heading: "WON"),
    ])
    let isKnown =
      conflict.loser?.isUnknown != true
      && (conflict.winner?.isUnknown != true || conflict.stands != nil)
    table.rows = columns(of: conflict).map { column in
      let differs = isKnown && loser[column] != winner[column]
      return [
        Table.Cell(differs ? "*" : ""), Table.Cell(printable(column)),
        Table.Cell(loser[column].map { printable($0.words) } ?? "", differs ? .red : nil),
        Table.Cell(winner[column].map { printable($0.words) } ?? ""),
      ]
    }
    let rule = conflict.rule.isEmpty ? "" : ", rule \(printable(conflict.rule))"
    var lines = [
      "\(subject(conflict))\(conflict.isOfSettings ? "" : " " + key(conflict)): "
        + "\(reason(conflict))\(rule), \(conflict.state)",
      "lost: \(origin(conflict.loser, lost(conflict)))",
      "won:  \(whatWon(conflict))",
    ]
    if !table.rows.isEmpty { lines.append(table.text(colour: colour)) }
    return lines.joined(separator: "\n")
  }

  /// Who wrote what stands, and when; or what stands now, where the log does not have it.
  private static func whatWon(_ conflict: ConflictReport.Conflict) -> String {
    guard let stands = conflict.stands else { return origin(conflict.winner, standing(conflict)) }
    guard stands.row != nil else {
      return standing(conflict) + ", for there is none under this key"
    }
    var known = conflict.winner
    known?.row = stands.row
    return (known.map { origin($0, standing(conflict)) } ?? standing(conflict))
      + "; shown is what stands now"
  }

  /// The key columns, then the others in the order of the table.
  private static func columns(of conflict: ConflictReport.Conflict) -> [String] {
    var columns: [String] = []
    let sides = [conflict.loser, conflict.winner].map { ($0?.row, $0?.columns ?? []) }
    for (row, order) in sides + [(conflict.stands?.row, [])] {
      let row = row ?? [:]
      let all = order.filter { row[$0] != nil } + row.keys.sorted()
      for column in all where !columns.contains(column) { columns.append(column) }
    }
    return columns
  }

  private static func origin(_ side: ConflictReport.Side?, _ who: String) -> String {
    guard let side else { return "not known here" }
    let time = side.stamp.map { side.undated ? " at some time after \($0)" : " at \($0)" }
    return who + (time ?? "") + (side.isUnknown ? ", what it said is not known here" : "")
  }
}
