import Flotilla

/// `flotilla token`: who may come through the gateway.
enum Token {
  static let command = Command(
    name: "token",
    summary: "lets programs read and write rows over HTTP",
    discussion: """
      `flotilla run DB --http` serves rows to programs that show a token. add prints
      the token alone on standard output, this once: only a hash of it is kept.
      Without --tables it is for everything that this node itself may do; with it,
      for those tables: --tables patient=read,visit=write; * stands for all others.
      Tokens are this machine's own, and end at once when they are removed.
      """,
    parameters: [
      .database,
      Parameter(
        name: "ACTION", kind: .choice(["add", "list", "remove"]), help: "add, list or remove"),
      Parameter(name: "NAME", count: .oneOrNone, help: "what the token is called"),
    ],
    options: [
      Option(
        name: "--tables", value: Option.Value(name: "TABLE=RIGHT,…", kind: .list),
        help: "what the token may do: TABLE=read or TABLE=write"),
      Option(
        name: "--ttl",
        value: Option.Value(name: "TIME", kind: .duration(atLeast: .seconds(1))),
        help: "how long it is good; without it for ever"),
      .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let name = call.arguments.text("NAME")
    switch (call.arguments.text("ACTION"), name) {
    case ("list", nil): return try await list(call)
    case ("list", _): throw FlotillaError(.usage, "list takes no name", remedy: usage)
    case (_, nil):
      throw FlotillaError(.usage, "NAME is missing: what the token is called", remedy: usage)
    case ("add", let name?): return try await add(name, call)
    case (_, let name?):
      try await call.replica.removeToken(name)
      if call.json {
        call.output.data(JSON.object(["name": .text(name)]).description)
      } else {
        call.output.remark("\(printable(name)) is removed")
      }
      return .done
    }
  }

  private static var usage: String { UsageError("", in: command).remedy }

  private static func add(_ name: String, _ call: Call) async throws(FlotillaError) -> ExitStatus {
    var duration: Duration?
    if call.arguments.has("--ttl") { duration = call.arguments.duration("--ttl") }
    let report = try await call.replica.addToken(
      name, tables: try rights(call.arguments.list("--tables")), timeToLive: duration)
    call.print(report, as: report.token)
    let end = report.expires.map { "good until \($0)" } ?? "good for ever"
    call.output.remark("\(end); it is shown this once. Send it as: Authorization: Bearer TOKEN")
    return .done
  }

  /// Reads `patient=read`, `visit=write`.
  static func rights(_ words: [String]) throws(FlotillaError) -> [String: TableRight] {
    var rights: [String: TableRight] = [:]
    for word in words {
      guard let sign = word.lastIndex(of: "="), sign != word.startIndex,
        let right = TableRight(rawValue: String(word[word.index(after: sign)...]))
      else {
        throw FlotillaError(
          .usage, "\(word) says nothing of a table",
          remedy: "Write TABLE=read, TABLE=write or TABLE=none, with commas between them.")
      }
      let table = String(word[..<sign])
      guard rights.updateValue(right, forKey: table) == nil else {
        throw FlotillaError(.usage, "\(table) is named twice")
      }
    }
    return rights
  }

  private static func list(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.tokens()
    call.print(
      report,
      as: report.tokens.isEmpty
        ? "no tokens" : table(report.tokens).text(colour: call.output.colour))
    for token in report.tokens {
      guard let unknown = token.unknown_tables else { continue }
      call.output.remark(
        "the token \(printable(token.name)) is of an earlier version and names tables that are not "
          + "here: \(printable(unknown.joined(separator: ", "))); it is worth the least that it "
          + "says. Make it anew: flotilla token \(call.shellPath) remove "
          + "\(shellWord(printable(token.name))), then add")
    }
    return .done
  }

  private static func table(_ tokens: [TokensReport.Token]) -> Table {
    var table = Table(columns: [
      Table.Column(heading: "NAME"), Table.Column(heading: "TABLES"),
      Table.Column(heading: "MADE", gap: 3), Table.Column(heading: "GOOD UNTIL", gap: 3),
    ])
    table.rows = tokens.map { token in
      let rights = token.tables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let end = token.expires ?? "for ever"
      return [
        Table.Cell(printable(token.name)), Table.Cell(printable(rights.joined(separator: ", "))),
        Table.Cell(token.created), Table.Cell(token.expired ? "\(end) (over)" : end),
      ]
    }
    return table
  }
}
