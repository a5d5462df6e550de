import Flotilla

/// `flotilla anchor`: who decides, and who shall.
enum Anchor {
  static let command = Command(
    name: "anchor",
    summary: "shows or appoints the anchor, the node that decides",
    discussion: """
      The anchor judges every edit by the rule of its table. While it is away
      everybody goes on working, and what was written is judged when it is back.
      With --here, or with the name of a node, that node is appointed; with --none
      newest wins again. At the first appointment tables whose rule nobody has set
      get server-wins; --rule names another, and is refused later on.
      """,
    parameters: [
      .database,
      Parameter(name: "NODE", count: .oneOrNone, help: "its name, or the beginning of its id"),
    ],
    options: [
      Option(name: "--here", help: "appoints this node"),
      Option(name: "--none", help: "from now on there is no anchor"),
      Option(
        name: "--force",
        help: "although the anchor until now, or the new one, is not in reach"),
      .rule, .json,
    ],
    choices: [Choice(names: ["NODE", "--here", "--none"])],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    guard let choice = choice(call) else {
      if let idle = ["--force", "--rule"].first(where: call.arguments.has) {
        throw FlotillaError(
          .usage, "\(idle) is for an appointment, and nobody was named",
          remedy: "Name a node, or --here: flotilla anchor \(call.shellPath) --here \(idle)"
            + (idle == "--rule" ? " \(call.arguments.text(idle) ?? "")" : ""))
      }
      let report = try await call.replica.anchor()
      call.print(report, as: text(report))
      if !call.json, report.state == "gone" {
        call.output.remark(
          "flotilla anchor \(call.shellPath) NODE appoints another, --none lets the newest win")
      }
      return .done
    }
    let report = try await call.replica.appoint(
      choice, isForced: call.arguments.has("--force"), rule: call.arguments.text("--rule"))
    call.print(report, as: ([text(report)] + changes(report)).joined(separator: "\n"))
    return .done
  }

  private static func choice(_ call: Call) -> AnchorChoice? {
    if call.arguments.has("--here") { return .here }
    if call.arguments.has("--none") { return AnchorChoice.none }
    return call.arguments.text("NODE").map(AnchorChoice.node)
  }

  static func text(_ report: AnchorReport) -> String {
    guard let anchor = report.anchor else {
      return report.state == "gone"
        ? "the anchor is no member any more, so nobody decides: appoint another"
        : "there is no anchor: newest wins"
    }
    let name = printable(anchor)
    switch report.state {
    case "judging", "connected": return "\(name) is the anchor"
    case "taking-office": return "\(name) is the anchor, and certifies what it holds"
    case "stood-down":
      return "\(name) was the anchor and does not judge any more, for its file was restored or it "
        + "was forgotten; appoint it again, or another"
    case "waiting":
      return "\(name) was appointed, and waits for the anchor before it to stand down"
    default: return "\(name) is the anchor; it is away"
    }
  }

  /// Which rules came with the first appointment.
  static func changes(_ report: AnchorReport) -> [String] {
    Dictionary(grouping: report.changed, by: \.rule).sorted { $0.key < $1.key }.map {
      let tables = $0.value.map { printable($0.table) }.joined(separator: ", ")
      return "\($0.key) now decides about \(tables)"
    }
  }
}
