import Flotilla

/// `flotilla leave`: takes Flotilla out of the file.
enum Leave {
  static let command = Command(
    name: "leave",
    summary: "takes Flotilla out of this file; the data stays",
    discussion: """
      Removes triggers, tables and keys, restores the journal mode and tells the
      other nodes. Stops short if there are changes that no other node has; --force
      leaves even so.
      """,
    parameters: [.database],
    options: [
      Option(name: "--force", help: "leaves even if changes were not sent"), .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.leave(force: call.arguments.has("--force"))
    let unsent = counted(report.unsent_rows, "row")
    if !report.left {
      if call.json { call.print(report, as: "") }
      throw FlotillaError(
        .node, "\(call.path): \(unsent) changed here reached no other node; nothing was done",
        remedy: """
          send them with `flotilla sync \(call.shellPath)`, \
          or give them up for the site with --force
          """)
    }
    if report.unsent_rows > 0 {
      call.output.warnings(["\(unsent) changed here reached no other node"])
    }
    call.print(
      report,
      as: """
        \(printable(report.node)) has left \(quoted(report.site)); \
        the data stays in \(printable(call.path))
        """)
    return .done
  }
}
