import Flotilla

/// `flotilla schema`: columns by the names that they have here and at the site.
enum Schema {
  static let command = Command(
    name: "schema",
    summary: "shows renamed columns, and how another schema differs",
    discussion: """
      A column that is renamed on one machine stays the same column for the site:
      Flotilla knows a rename by the rows. Where it could not, values that others
      write under the old name are kept beside their rows, and --map tells the
      whole site that OLD is what is called NEW here; the values enter at once.
      --map OLD=NEW alone says the same of a table.

      --let-go drops values that are kept here for columns which the table does not
      have. Other machines keep theirs.

      --compare shows how the schema of NODE differs from this file's, and each
      statement that would add what is missing here. --adopt carries them out, in
      one transaction: tables, columns, indexes, views and triggers. Nothing that is
      here is changed or removed, and a table of that name which is not replicated
      here is left alone. What cannot be added is named with what to do. Where a
      migration tool made the change, rather run its migration here.
      """,
    parameters: [
      .database,
      Parameter(
        name: "COLUMN", count: .any,
        help: "after --map: OLD=NEW, one or more; after --let-go: names of columns"),
    ],
    options: [
      Option(
        name: "--map", value: Option.Value(name: "TABLE", kind: .name),
        help: "says which columns of TABLE have another name here; or OLD=NEW of tables"),
      Option(
        name: "--let-go", value: Option.Value(name: "TABLE", kind: .name),
        help: "lets go of what is kept here for columns that TABLE lacks"),
      Option(
        name: "--compare", value: Option.Value(name: "NODE", kind: .name),
        help: "shows what NODE has and this file lacks"),
      Option(
        name: "--adopt", value: Option.Value(name: "NODE", kind: .name),
        help: "adds what NODE has and this file lacks"),
      .timeout, .json,
    ],
    choices: [Choice(names: ["--map", "--let-go", "--compare", "--adopt"])],
    statuses: [.notInSync: "--compare or --adopt, and NODE is not in reach, or is asked already"],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let (words, adopted) = (call.arguments.texts("COLUMN"), call.arguments.text("--adopt"))
    if let node = adopted ?? call.arguments.text("--compare") {
      guard words.isEmpty else {
        throw FlotillaError(.usage, "\(words[0]) is named without --map or --let-go")
      }
      let report = try await call.replica.schema(
        comparedWith: node, adopts: adopted != nil,
        timeout: call.arguments.duration("--timeout"))
      call.print(report, as: report.adoption.map { Self.text($0, call) } ?? "")
      return .done
    }
    let report = try await call.replica.schema(try request(call.arguments))
    call.print(report, as: text(report, colour: call.output.colour))
    if !call.json, let remark = report.remark { call.output.remark(printable(remark)) }
    return .done
  }

  private static func request(_ arguments: Arguments) throws(FlotillaError) -> SchemaRequest {
    let words = arguments.texts("COLUMN")
    if let table = arguments.text("--map") {
      if words.isEmpty, let (old, new) = try? renames([table]).first {
        return .mapTable(old, to: new)
      }
      return .map(table: table, columns: try renames(words))
    }
    if let table = arguments.text("--let-go") {
      guard !words.isEmpty else {
        throw FlotillaError(
          .usage, "--let-go needs the name of a column",
          remedy: "For example: flotilla schema clinic.db --let-go \(shellWord(table)) ward")
      }
      return .letGo(table: table, columns: words)
    }
    guard words.isEmpty else {
      throw FlotillaError(
        .usage, "\(words[0]) is named without --map or --let-go",
        remedy: "For example: flotilla schema clinic.db --map patient name=full_name")
    }
    return .show
  }

  private static func renames(_ words: [String]) throws(FlotillaError) -> [String: String] {
    var renames: [String: String] = [:]
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, renames.updateValue(parts[1], forKey: parts[0]) == nil else {
        throw FlotillaError(
          .usage, "\(word) is no OLD=NEW, or names a column twice",
          remedy: "For example: flotilla schema clinic.db --map patient name=full_name")
      }
    }
    guard !renames.isEmpty else {
      throw FlotillaError(
        .usage, "--map needs OLD=NEW",
        remedy: "For example: flotilla schema clinic.db --map patient name=full_name")
    }
    return renames
  }

  /// The tables of which there is something to tell.
  static func text(_ report: SchemaReport, colour: Bool) -> String {
    var table = Table(columns: [
      Table.Column(heading: "TABLE"), Table.Column(heading: "COLUMN"),
      Table.Column(heading: "HERE"),
    ])
    for entry in report.tables {
      if entry.table.lowercased() != entry.first.lowercased() {
        table.rows.append([
          Table.Cell(entry.table), Table.Cell(""),
          Table.Cell("\(printable(entry.first)) at the site"),
        ])
      }
      for column in entry.columns where column.name.lowercased() != column.first.lowercased() {
        table.rows.append([
          Table.Cell(entry.table), Table.Cell(column.first),
          Table.Cell("called \(printable(column.name))"),
        ])
      }
      for kept in entry.kept where !kept.columns.isEmpty {
        let fate =
          switch kept.fate {
          case "dropped": "dropped"
          case "shown-otherwise": "of another type"
          case "in-its-form": "a default for NULL, or a number in its form"
          default: "missing"
          }
        table.rows.append([
          Table.Cell(entry.table), Table.Cell(kept.columns.joined(separator: ", ")),
          Table.Cell("\(fate); kept beside \(counted(kept.rows, "row"))", .yellow),
        ])
      }
    }
    let columns = report.tables.reduce(0) { $0 + $1.columns.count }
    let sum =
      "\(counted(report.tables.count, "table")), \(counted(columns, "column"))"
      + (table.rows.isEmpty ? ": none was renamed, and nothing is kept for others" : "")
    return table.rows.isEmpty ? sum : table.text(colour: colour) + "\n" + sum
  }
}
