import Flotilla

/// `flotilla init`: the first replica of a new site.
enum Init {
  static let command = Command(
    name: "init",
    summary: "makes this file the first replica of a new site",
    discussion: """
      The file is created if it is absent. The site gets a name for people; without
      --site it is called after the file. Without --all or --track no table is
      replicated yet; `flotilla track` chooses them later. --all leaves out the books
      of migration tools, and new tables are replicated by themselves from then on.
      """,
    parameters: [.database],
    options: [
      Option(
        name: "--site", value: Option.Value(name: "NAME", kind: .name),
        help: "the name of the site"),
      .nodeName,
      Option(name: "--all", help: "replicates every table, and new ones from now on"),
      Option(
        name: "--track", value: Option.Value(name: "TABLE,…", kind: .list),
        help: "replicates these tables"),
      .rule, .json,
    ],
    choices: [Choice(names: ["--all", "--track"])],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let arguments = call.arguments
    let tables: TableSelection =
      arguments.has("--all")
      ? .all : arguments.has("--track") ? .named(arguments.list("--track")) : .none
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let report = try await call.replica.initialise(
      site: arguments.text("--site"), node: arguments.text("--name"), tables: tables,
      rule: arguments.text("--rule"), progress: bar.show)
    bar.clear()
    call.output.warnings(report.warnings)
    call.print(report, as: text(report, path: call.path))
    call.output.remark(
      """
      this machine holds the site key; write it down before it is lost:
      flotilla export-site-key \(shellWord(call.path)) FILE
      """)
    return .done
  }

  /// What was done, and the command to type next.
  static func text(_ report: InitReport, path: String) -> String {
    let name = shellWord(path)
    let next =
      report.tables.isEmpty && !report.takes_new_tables
      ? "flotilla track \(name) --all" : "flotilla run \(name) --background"
    let amount = "\(counted(report.tables.count, "table")), \(counted(report.rows, "row"))"
    return """
      started the site \(quoted(report.site)); this node is \(printable(report.node)); \(amount)
      next: \(next)
      """
  }
}

extension Option {
  /// The name that this node gets, for `init` and `join`.
  static let nodeName = Option(
    name: "--name", value: Value(name: "NODE", kind: .name),
    help: "the name of this node; without it the machine's name")
}
