import Flotilla
import Mirror

/// `flotilla conflicts`: versions that lost without having been seen.
enum Conflicts {
  static let command = Command(
    name: "conflicts",
    summary: "shows what lost against another edit, and brings it back",
    discussion: """
      Where two nodes have changed one row without knowing of each other, one edit
      stands. The other is kept on the node where it was made and on the anchor.
      show prints both side by side; restore writes the one that lost again, as a new
      edit, and says what it replaces if that is not what stood then; dismiss takes
      it off the list. Rows that got a fresh key come last: nothing of them is lost.
      All of the last 30 days are kept, and 10,000 for 400 days. Beyond the first
      2,000 they may take 16 MiB, or a quarter of what all else takes in the file if
      that is more. --keep and --keep-days say otherwise, --keep-default takes that
      back. The oldest go first, settled ones before others, and are counted.

      A parked row is held, but a constraint keeps it out of its table, or the
      table or a row that it refers to is not here. restore puts it there, dismiss
      deletes it on every machine. --parked names rows that a mirror holds, too:
      change them on the side that has them, and they go over.

      --set takes NULL, a BLOB as x'01ff', and a text as it is, or in quotes as in
      SQL: v="'NULL'" is the text NULL.
      """,
    parameters: [
      .database,
      Parameter(
        name: "ACTION", count: .oneOrNone, kind: .choice(["list", "show", "restore", "dismiss"]),
        help: "list, show, restore or dismiss"),
      Parameter(
        name: "ID", count: .any, help: "numbers of conflicts or of parked rows (p3fa29c), or all"),
    ],
    options: [
      Option(name: "--parked", help: "shows rows that are held but do not stand in their table"),
      Option(
        name: "--table", value: Option.Value(name: "TABLE", kind: .text),
        help: "only those of one table: of the list, or of all that are settled"),
      Option(
        name: "--set", value: Option.Value(name: "COLUMN=VALUE", kind: .text), repeats: true,
        help: "restores with another value in a column, as under another key"),
      Option(name: "--sql", help: "shows the row as a statement that writes it, or deletes it"),
      Option(
        name: "--all", help: "also those that were restored or dismissed, and all fresh keys"),
      Option(
        name: "--keep", value: Option.Value(name: "COUNT", kind: .number(0...10_000_000)),
        help: "sets how many are kept on this node"),
      Option(name: "--keep-default", help: "keeps as many, and for as long, as at the start"),
      Option(
        name: "--keep-days", value: Option.Value(name: "DAYS", kind: .number(1...36_500)),
        help: "sets for how many days they are kept"),
      .json,
    ],
    choices: [
      Choice(names: ["--keep-default", "--keep"]),
      Choice(names: ["--keep-default", "--keep-days"]),
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let action = call.arguments.text("ACTION") ?? "list"
    for (option, needed) in [("--set", "restore"), ("--sql", "show")]
    where call.arguments.has(option) && action != needed {
      throw FlotillaError(
        .usage, "\(option) goes with \(needed) alone",
        remedy: "flotilla conflicts \(call.shellPath) \(needed) ID \(option)"
          + (option == "--set" ? " COLUMN=VALUE" : ""))
    }
    let (count, days) = (call.arguments.text("--keep"), call.arguments.text("--keep-days"))
    if call.arguments.has("--keep-default") {
      _ = try await call.replica.keepConflictsByDefault()
    } else if count != nil || days != nil {
      _ = try await call.replica.keepConflicts(
        count: count.flatMap { Int($0) }, days: days.flatMap { Int($0) })
    }
    guard action != "list" else {
      if let id = call.arguments.text("ID") {
        throw FlotillaError(
          .usage, "list takes no number",
          remedy: "One conflict: flotilla conflicts \(call.shellPath) show \(id)")
      }
      return try await list(call)
    }
    var changes = ConflictChanges()
    let ids = try await ids(action, call, &changes)
    if action == "show" { return try await show(ids, call) }
    let isAll = call.arguments.texts("ID") == ["all"]
    let isAtOnce = isAll && action == "dismiss" && !call.arguments.has("--parked")
    if isAtOnce { try await dismissAll(ids, call, &changes) }
    // A word that is no number is told before anything is done.
    for id in isAll ? [] : ids { _ = try number(id, action, call) }
    try await settle(isAtOnce ? [] : ids, action, isAll: isAll, call, &changes)
    let isOne = !isAll && ids.count == 1
    switch (isOne ? changes.conflicts.first : nil, isOne ? changes.parked.first : nil) {
    case (let change?, _): call.print(change, as: changes.lines.joined(separator: "\n"))
    case (_, let change?): call.print(change, as: changes.lines.joined(separator: "\n"))
    default:
      let isVain = changes.lines.isEmpty
      let isNone = ids.isEmpty && changes.failed.isEmpty
      let none = isNone ? "nothing to \(action)" : "all of them stay as they are"
      call.print(changes, as: isVain ? none : changes.lines.joined(separator: "\n"))
    }
    for kept in changes.kept where !call.json { call.output.remark(staying(kept, call)) }
    return changes.failed.isEmpty ? .done : .failed
  }

  /// What can be done about a conflict.
  static func ways(_ conflict: ConflictReport.Conflict, _ call: Call) -> String {
    let command = "flotilla conflicts \(call.shellPath)"
    let again = conflict.isDelete ? "to delete it again:       " : "to write what lost again: "
    // Two rows that mean different things may have got one number. One that did not fit needs
    // another value, and its number is free.
    var both = ""
    if !conflict.isDelete, conflict.reason == "parked" {
      both = "to write it otherwise:     \(command) restore \(conflict.id) --set COLUMN=VALUE\n"
    } else if !conflict.isDelete, !conflict.isOfSettings, conflict.key.count == 1,
      case (let column, .integer)? = conflict.key.first
    {
      both =
        "to keep both rows:         \(command) restore \(conflict.id) --set "
        + "\(printable(shellWord(column)))=VALUE\n"
    }
    return "\(again)\(command) restore \(conflict.id)\n" + both
      + "to take it off the list:   \(command) dismiss \(conflict.id)"
  }

  private static func isSetting(_ call: Call) -> Bool {
    call.arguments.text("ACTION") == nil
      && ["--keep", "--keep-days", "--keep-default"].contains(where: call.arguments.has)
  }

  /// How much is kept.
  static func kept(_ bounds: ConflictReport.Bounds) -> String {
    "from now on this node keeps \(amount(bounds))"
  }

  private static func amount(_ bounds: ConflictReport.Bounds) -> String {
    let count = counted(bounds.count, "conflict")
    let room =
      bounds.bytes.map { ", and all of the last 30 days; beyond 2,000 they may take \(sized($0))" }
      ?? ""
    return "\(count) for \(counted(bounds.days, "day"))\(room)"
  }

  /// So many rows with fresh keys are listed.
  private static let mostFresh = 10

  /// Those that somebody may want to settle, then some of the rows that got a fresh key, and how
  /// many more of these there are.
  static func openFirst(
    _ conflicts: [ConflictReport.Conflict]
  ) -> (shown: [ConflictReport.Conflict], more: Int) {
    let fresh = conflicts.filter(\.isFresh)
    return (
      conflicts.filter { !$0.isFresh } + fresh.prefix(mostFresh), max(0, fresh.count - mostFresh)
    )
  }

  private static func list(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let isAll = call.arguments.has("--all")
    let report = try await ofTable(call.replica.conflicts(all: isAll), call)
    if call.arguments.has("--parked") { return try await listParked(report, call) }
    let (shown, more) = isAll ? (report.conflicts, 0) : openFirst(report.conflicts)
    call.print(
      report,
      as: isSetting(call)
        ? kept(report.keeps)
        : text(shown, at: moment(of: report.now), colour: call.output.colour))
    if !call.json, more > 0 {
      call.output.remark(
        "\(counted(more, "more row")) got a fresh key, and nothing of them is lost: "
          + "flotilla conflicts \(call.shellPath) --all")
    }
    if !call.json, report.gone > 0 {
      call.output.remark(
        "\(counted(report.gone, "older conflict")) let go: this node keeps \(amount(report.keeps))")
    }
    if !call.json, !report.parked.isEmpty {
      call.output.remark(
        "\(counted(report.parked.count, "row")) parked: "
          + "flotilla conflicts \(call.shellPath) --parked"
      )
    }
    return .done
  }

  private static func listParked(
    _ report: ConflictReport, _ call: Call
  ) async throws(FlotillaError) -> ExitStatus {
    let mirror = try await ServerMirror(call.replica).briefReport()
    let list = ParkedList(report, mirror, table: call.arguments.text("--table"))
    var parts = [parked(report.parked, colour: call.output.colour)]
    if let mirror, !list.held.isEmpty {
      if report.parked.isEmpty { parts = [] }
      let count = call.arguments.has("--table") ? list.held.count : mirror.held_count
      parts.append("\(counted(count, "row")) held by the mirror to \(mirror.server):")
      parts.append(MirrorText.rows(list.held, colour: call.output.colour))
    }
    call.print(list, as: parts.joined(separator: "\n"))
    return .done
  }
}
