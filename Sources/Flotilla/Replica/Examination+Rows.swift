import SQLite
import Store

/// Rows that are kept, but do not stand in their table.
extension Examination {
  /// `asked`: tables of which this file has its own; their rows are another finding. `named` gives
  /// the name in this file of a table of the site.
  mutating func judgeRows(
    in database: String, asked: [String], named: (String) -> String
  ) throws(StoreError) {
    let (shelved, replaced) = try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: database)
      connection.setBusyTimeout(milliseconds: 5_000)
      return (
        try connection.rows(
          """
          SELECT l.name, s.why, count(*) FROM _flotilla_shelf s
          LEFT JOIN _flotilla_local l ON l.id = s.tbl
          WHERE s.why <> 'columns' AND coalesce(l.name, '') NOT GLOB '_flotilla_held_*'
          GROUP BY 1, 2 ORDER BY 1, 2
          """),
        try connection.rows(
          """
          SELECT name, count(*), reason FROM _flotilla_conflict WHERE state = 'open'
          GROUP BY 1, 3 ORDER BY 1, 3
          """)
      )
    }
    for group in shelved where group[1].string != "table" || !asked.contains(group[0].string ?? "")
    {
      judgeShelved(
        table: named(group[0].string ?? "?"), why: group[1].string ?? "",
        count: group[2].integer ?? 0)
    }
    for group in replaced {
      let count = group[1].integer ?? 0
      let what =
        group[0].string == Store.settings
        ? "\(count == 1 ? "1 setting" : "\(count) settings") of the site (which tables, by "
          + "which rule)"
        : "\(rows(count)) of \(named(group[0].string ?? "?"))"
      let isRefused = group[2].string == "not-allowed"
      let why = ConflictReport.words(for: group[2].string ?? "")
      add(
        "conflicts", .warning,
        isRefused
          ? "\(what) changed here without the right to: put back, and what was written is kept"
          : "\(what) lost against another edit (\(why)); what lost is kept",
        "See: flotilla conflicts \(shellWord(path))")
    }
    if shelved.isEmpty, replaced.isEmpty {
      add("rows", .ok, "no row is parked, and no conflict is open")
    }
  }

  /// Tables whose key was changed at one node and not at another.
  mutating func judgeKeys(_ waiting: [WaitingKey], _ names: AuthorNames) {
    for key in waiting {
      let remark = KeyRemark(key, names: names.name)
      add("keys", .warning, remark.text, remark.remedy)
    }
  }

  private mutating func judgeShelved(table: String, why: String, count: Int64) {
    switch why {
    case "table":
      add(
        "parked", .warning,
        "\(table) is not here, and \(rows(count)) of it \(count == 1 ? "waits" : "wait")",
        "Create it here with the same primary key as at the other nodes, or: flotilla schema "
          + "\(shellWord(path)) --adopt NODE; the rows enter by themselves.")
    case "too-large":
      add(
        "parked", .warning,
        "\(rows(count)) of \(table) too large to travel: here they stay as they were",
        "Make them smaller where they were written; a row travels up to 64 MiB.")
    case "reference", "parent":
      add(
        "parked", .warning,
        "\(rows(count)) of \(table) parked: "
          + (why == "parent"
            ? "the rows to which they refer are parked" : "they refer to rows that are not here"),
        "They come back with what they refer to; flotilla conflicts \(shellWord(path)) --parked "
          + "says what that is.")
    default:
      add(
        "parked", .warning,
        "\(rows(count)) of \(table) parked: not allowed by a constraint beside what stands here",
        "flotilla conflicts \(shellWord(path)) --parked says which: a value that must be unique "
          + "and another row has, a column that takes no NULL, a CHECK. Change what is in the "
          + "way, and parked rows enter by themselves; or give them other values, also for a "
          + "column that others do not have: flotilla conflicts \(shellWord(path)) restore "
          + "ID --set COLUMN=VALUE")
    }
  }

  /// Rows that stand without what they refer to: a program with foreign keys off has left them so,
  /// or their table is not replicated, or was not, and somebody else has deleted what they refer
  /// to.
  mutating func judgeReferences(_ broken: [BrokenReference]) {
    for reference in broken {
      let columns = reference.columns.joined(separator: ", ")
      add(
        "references", .warning,
        "\(rows(Int64(reference.rows))) of \(reference.table) "
          + "\(reference.rows == 1 ? "refers" : "refer") by \(columns) to no row of "
          + reference.parent,
        reference.isTracked
          ? "A program with foreign keys off has left them so, or \(reference.table) was untracked "
            + "when another machine deleted what they refer to. They stay as they are. Mend them "
            + "with SQL, and let the program run PRAGMA foreign_keys = ON."
          : "\(reference.table) is not replicated: what other machines delete in "
            + "\(reference.parent), or give another key, does nothing to its rows. Mend them "
            + "with SQL.")
    }
  }

  /// What is kept for columns that are not here: such as may come, and such as were here.
  mutating func judgeColumns(_ kept: [KeptColumns]) {
    for group in kept {
      let names = group.columns.map { "\"\($0)\"" }.joined(separator: ", ")
      let what = "\(rows(Int64(group.rows))) of \(group.table)"
      switch group.fate {
      case .notHereYet:
        add(
          "columns", .warning, "\(what) with values for columns that are not here: \(names)",
          "They are kept. Add the columns here as on the other machines, and the values enter by "
            + "themselves: flotilla schema \(shellWord(path)) --adopt NODE adds what NODE has. If "
            + "one has another name here: --map \(shellWord(group.table)) OLD=NEW")
      case .dropped:
        add(
          "columns", .warning,
          "\(what) with values for columns that were dropped here: \(names)",
          "They are kept for the other machines. If a column has another name here: flotilla "
            + "schema \(shellWord(path)) --map \(shellWord(group.table)) OLD=NEW; if nobody wants "
            + "the values here: --let-go \(shellWord(group.table)) COLUMN")
      case .shownOtherwise:
        add(
          "columns", .warning,
          "\(what) have values that columns here do not show as they are: \(names)",
          "They are kept, passed on as they are, and shown once the columns are as on the other "
            + "machines: flotilla schema \(shellWord(path)) --compare NODE")
      case .inItsForm:
        add(
          "columns", .ok,
          "\(what) show a default for NULL, or a number in the form of its column: \(names); "
            + "nothing to do")
      case .letGo:
        add("columns", .ok, "\(what) count columns that other nodes have; nothing to do")
      }
    }
  }

  private func rows(_ count: Int64) -> String { counted(Int(count), "row") }
}
