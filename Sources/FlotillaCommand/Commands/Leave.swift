import Flotilla

/// `flotilla leave`: takes Flotilla out of the file.
enum Leave {
  static let command = Command(
    name: "leave",
    summary: "takes Flotilla out of this file; the data stays",
    discussion: """
      Removes triggers, tables and keys, restores the journal mode and tells the
      other nodes. Changes that no other node has are sent first; if none is in reach
      it stops short and says how many they are. So it does if the conflict log holds
      what nobody has restored or dismissed, for that goes with it. --force leaves
      even so.

      A file that came from another machine and has met no member there, or runs as a
      copy beside the original, leaves with --force alone, and nobody is told.
      """,
    parameters: [.database],
    options: [
      Option(name: "--force", help: "leaves even if changes or conflicts are lost"), .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.leave(force: call.arguments.has("--force"))
    let unsent = counted(report.unsent_rows, "row")
    if !report.left {
      if call.json { call.print(report, as: "") }
      guard report.unsent_rows > 0 else { throw undecided(report, call) }
      throw FlotillaError(
        .node,
        """
        \(call.path): \(unsent) changed here reached no other node, and none could be reached now; \
        nothing was done
        """,
        remedy: """
          bring another node in reach and try again, or give the changes up for the site with \
          --force (they stay in this file)
          """)
    }
    if report.unsent_rows > 0 {
      call.output.warnings(["\(unsent) changed here reached no other node"])
    }
    if report.open_conflicts > 0 {
      call.output.warnings([
        "\(counted(report.open_conflicts, "open conflict")) went with the conflict log"
      ])
    }
    if report.may_be_copy {
      let node = printable(report.node)
      call.output.warnings([
        """
        nobody was told, for another copy of this file may be \(node) still; if there is none, say \
        so on a member: flotilla revoke DB \(printable(shellWord(report.node)))
        """
      ])
    } else if report.told.isEmpty, let other = report.untold.first {
      call.output.warnings([
        """
        nobody could be told: \(printable(other))\(report.untold.count > 1 ? " and others" : "") \
        will still count \(printable(report.node)) as a member and wait for it; say so there with: \
        flotilla revoke DB \(printable(shellWord(report.node)))
        """
      ])
    }
    call.print(
      report,
      as: """
        \(printable(report.node)) has left \(quoted(report.site)); \
        the data stays in \(printable(call.path))
        """)
    return .done
  }

  private static func undecided(_ report: LeaveReport, _ call: Call) -> FlotillaError {
    let path = printable(shellWord(call.path))
    return FlotillaError(
      .node,
      """
      \(call.path): the conflict log holds \(counted(report.open_conflicts, "open conflict")), and \
      goes with Flotilla; nothing was done
      """,
      remedy: """
        flotilla conflicts \(path) shows what lost: restore or dismiss it, or give it up \
        with --force
        """)
  }
}
