import Flotilla

/// `flotilla forget`: nobody waits any more for a node that will not return.
enum Forget {
  static let command = Command(
    name: "forget",
    summary: "drops a node that will not return",
    discussion: """
      The node is listed no more, nobody waits for it, and what was deleted is let go
      of without it. It is not shut out (that does revoke): if it returns after all,
      what it had not sent is sent, everything else it fetches anew, and it counts
      again.
      """,
    parameters: [
      .database,
      Parameter(name: "NODE", help: "its name, or the beginning of its id (see members --json)"),
    ],
    options: [.json],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.forget(call.arguments.text("NODE") ?? "")
    let seen = report.last_seen.map { ", last seen \($0)," } ?? ""
    call.print(
      report, as: "\(printable(report.node))\(seen) is not waited for any more, until it returns")
    return .done
  }
}
