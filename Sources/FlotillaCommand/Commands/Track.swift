import Flotilla
import FoundationEssentials

/// `flotilla track`: chooses tables for the whole site.
enum Track {
  static let command = Command(
    name: "track",
    summary: "replicates tables, on every node of the site",
    discussion: """
      A table that cannot be replicated is refused with the reason and a remedy.
      --all replicates every table but the books of migration tools (such as
      django_migrations), for these tell what was done to this very file; named
      one by one they are replicated, too. From then on the site takes in new tables
      by itself, once they have stayed as they are for some seconds; `untrack --new`
      ends that. Without tables it shows what becomes of each, and of views and
      virtual tables, which are never replicated themselves.

      Two machines may give one integer key to two rows. With --on-collision rekey
      the later row gets a fresh number, with log one of the two goes to the conflict
      log. Where nobody chose, tables with a foreign key from or to another one go by
      rekey, and the others by log.

      Where another node tracks a table of a name that this file has had, with rows,
      nothing of it is sent or changed before this command names it here.
      """,
    parameters: [.database, .tables(.any)],
    options: [
      Option(name: "--all", help: "replicates every table, and new ones from now on"),
      Option(name: "--new", help: "replicates tables that are made from now on"), .rule,
      .onCollision, .json,
    ],
    choices: [Choice(names: ["TABLE", "--all", "--new"])],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let arguments = call.arguments
    let names = arguments.texts("TABLE")
    if let rule = arguments.text("--rule"), names.isEmpty, !arguments.has("--all") {
      throw FlotillaError(
        .usage, "--rule is for tables, and none was named",
        remedy: "flotilla track \(call.shellPath) TABLE --rule \(rule)")
    }
    if let choice = arguments.text("--on-collision"), names.isEmpty {
      throw FlotillaError(
        .usage, "--on-collision is for tables that are named, and none was",
        remedy: "flotilla track \(call.shellPath) TABLE --on-collision \(choice)")
    }
    if arguments.has("--new") {
      let report = try await call.replica.take(newTables: true)
      call.print(report, as: "tables that are made from now on are replicated")
      return .done
    }
    guard arguments.has("--all") || !names.isEmpty else { return try await list(call) }
    let tables: TableSelection = arguments.has("--all") ? .all : .named(names)
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let report = try await call.replica.track(
      tables, rule: arguments.text("--rule"), onCollision: arguments.text("--on-collision"),
      progress: bar.show)
    bar.clear()
    call.output.warnings(report.warnings)
    call.print(report, as: text(report))
    return .done
  }

  private static func list(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.tables()
    call.print(report, as: text(report, colour: call.output.colour))
    return .done
  }

  /// What becomes of each table, and of those to come.
  static func text(_ report: TablesReport, colour: Bool) -> String {
    let last =
      report.takes_new_tables
      ? "new tables are replicated by themselves" : "new tables are not replicated by themselves"
    guard !report.tables.isEmpty else { return "there is no table\n" + last }
    var table = Table(columns: [
      Table.Column(heading: "TABLE"), Table.Column(heading: "STATE"), Table.Column(heading: ""),
    ])
    table.rows = report.tables.map { entry in
      let colour: Colour? =
        switch entry.state {
        case "replicated": .green
        case "missing", "asked": .yellow
        default: nil
        }
      let notes = [entry.note, entry.next.map { "this node gives numbers from \($0) on" }]
      return [
        Table.Cell(entry.table),
        Table.Cell(entry.state.replacing("-", with: " "), colour),
        Table.Cell(notes.compactMap(\.self).joined(separator: "; ")),
      ]
    }
    return table.text(colour: colour) + "\n" + last
  }

  /// The tables that changed and how many rows they hold.
  static func text(_ report: TrackReport) -> String {
    if report.tables.isEmpty { return "nothing changed" }
    let numbers = report.keys.compactMap { key in
      key.next.map { "\n\(printable(key.table)): this node gives numbers from \($0) on" }
    }
    return "replicating \(names(report)) · \(counted(report.rows, "row"))" + numbers.joined()
  }

  /// The tables that changed, with commas between them.
  static func names(_ report: TrackReport) -> String {
    report.tables.map(printable).joined(separator: ", ")
  }
}

/// `flotilla untrack`: stops replicating tables.
enum Untrack {
  static let command = Command(
    name: "untrack",
    summary: "stops replicating tables, on every node of the site",
    discussion: """
      The tables and their rows stay as they are on every node. --here says of tables
      of this file that they are not those which the site tracks under their names:
      they stay out of it on this machine, and the others go on. --new ends that new
      tables are replicated by themselves.
      """,
    parameters: [.database, .tables(.any)],
    options: [
      Option(name: "--here", help: "only on this machine, and before they are replicated on it"),
      Option(name: "--new", help: "tables that are made from now on are left alone"), .json,
    ],
    choices: [Choice(names: ["TABLE", "--new"], required: true)],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    if call.arguments.has("--new") {
      guard !call.arguments.has("--here") else {
        throw FlotillaError(
          .usage, "--new is for the whole site, and --here for this machine",
          remedy: "Leave one of the two out.")
      }
      let report = try await call.replica.take(newTables: false)
      call.print(report, as: "tables that are made from now on are not replicated by themselves")
      return .done
    }
    let names = call.arguments.texts("TABLE")
    if call.arguments.has("--here") {
      let report = try await call.replica.decline(names)
      call.print(
        report,
        as: "not replicating \(Track.names(report)) on this machine; the rows stay as they are")
      return .done
    }
    let report = try await call.replica.untrack(names)
    call.output.warnings(report.warnings)
    call.print(
      report, as: "no longer replicating \(Track.names(report)); the rows stay where they are")
    return .done
  }
}

extension Parameter {
  /// The tables that a command is about.
  static func tables(_ count: Count) -> Parameter {
    Parameter(name: "TABLE", count: count, help: "the name of a table")
  }
}
