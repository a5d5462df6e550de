import Flotilla

/// `flotilla grant`: what a member may do with a table.
enum Grant {
  static let command = Command(
    name: "grant",
    summary: "says what a node may do with a table",
    discussion: """
      Every node goes by it as soon as it hears of it: a table that a node may not
      read is not sent to it, and what it writes without the right to is refused; at
      the node itself such an edit goes to the conflict log and the row is put back
      (of a table that it may not read it has no rows: what is written there stays).
      A node that may not read and write everything passes nothing on to others.
      What a node has already got stays with it.
      """,
    parameters: [
      .database, Parameter(name: "NODE", help: "its name, or the beginning of its id"),
      Parameter(name: "TABLE", help: "a table of the site"),
      Parameter(
        name: "RIGHT", kind: .choice(["read", "write", "none"]), help: "read, write or none"),
    ],
    options: [.json],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.grant(
      call.arguments.text("NODE") ?? "", table: call.arguments.text("TABLE") ?? "",
      right: call.arguments.text("RIGHT") ?? "")
    let verb = ["read": "may read", "write": "may read and write"][report.right] ?? "may not see"
    let leaf = report.is_leaf ? "; it passes nothing on to others" : ""
    call.print(
      report, as: "\(printable(report.node)) \(verb) \(printable(report.table))\(leaf)")
    return .done
  }
}
