import Flotilla

/// `flotilla revoke`: shuts a node out.
enum Revoke {
  static let command = Command(
    name: "revoke",
    summary: "shuts a node out of the site, for good",
    discussion: """
      Every node that hears of it cuts its connections with that node and lets it in
      no more; nodes that are away hear of it when they are back. What the node has
      stays with it, and what it wrote before stays. If its machine is to come back,
      let it leave and join again.

      What an admin has signed before stands: whom it invited stays. If that may have
      been a thief, --disown lets nothing of it stand: everybody whom it has ever
      invited is shut out too, and must leave and join again.
      """,
    parameters: [
      .database,
      Parameter(name: "NODE", help: "its name, or the beginning of its id (see members --json)"),
    ],
    options: [
      Option(name: "--disown", help: "lets nothing stand that this admin has signed"), .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.revoke(
      call.arguments.text("NODE") ?? "", disowning: call.arguments.has("--disown"))
    let told =
      report.told.isEmpty
      ? "no other node is connected; they hear of it when they are"
      : "told \(report.told.map { printable($0) }.joined(separator: ", "))"
    let also = report.also.map { printable($0) }.joined(separator: ", ")
    call.print(
      report,
      as: "\(printable(report.node)) is shut out\(also.isEmpty ? "" : ", and with it \(also)"); "
        + told)
    return .done
  }
}
