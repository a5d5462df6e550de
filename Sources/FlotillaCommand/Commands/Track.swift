import Flotilla

/// `flotilla track`: chooses tables for the whole site.
enum Track {
  static let command = Command(
    name: "track",
    summary: "replicates tables, on every node of the site",
    discussion: """
      A table that cannot be replicated is refused with the reason and a remedy.
      """,
    parameters: [.database, .tables(.any)],
    options: [Option(name: "--all", help: "replicates every table"), .rule, .json],
    choices: [Choice(names: ["TABLE", "--all"], required: true)],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let arguments = call.arguments
    let tables: TableSelection =
      arguments.has("--all") ? .all : .named(arguments.texts("TABLE"))
    let report = try await call.replica.track(tables, rule: arguments.text("--rule"))
    call.output.warnings(report.warnings)
    call.print(report, as: text(report))
    return .done
  }

  /// The tables that changed and how many rows they hold.
  static func text(_ report: TrackReport) -> String {
    if report.tables.isEmpty { return "nothing changed" }
    return "replicating \(names(report)) · \(counted(report.rows, "row"))"
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
      The tables and their rows stay as they are on every node.
      """,
    parameters: [.database, .tables(.oneOrMore)],
    options: [.json],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.untrack(call.arguments.texts("TABLE"))
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
