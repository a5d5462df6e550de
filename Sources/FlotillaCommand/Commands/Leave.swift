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
      what nobody has restored or dismissed, for that goes with it, and if the site
      would lose its last admin, or a site key that was never exported. --force
      leaves even so.

      A file that came from another machine and has met no member there, or runs as a
      copy beside the original, leaves with --force alone, and nobody is told.
      """,
    parameters: [.database],
    options: [
      Option(name: "--force", help: "leaves even if changes, conflicts or keys are lost"), .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await leave(call)
    let unsent = counted(report.unsent_rows, "row")
    if !report.left {
      if call.json { call.print(report, as: "") }
      if let loss = report.loss { throw refusal(loss, call) }
      guard report.unsent_rows > 0 else { throw undecided(report, call) }
      guard !report.shut_out else {
        throw FlotillaError(
          .node,
          """
          \(call.path): \(unsent) changed here reached no other node, and none takes them any \
          more, for this node was shut out; nothing was done
          """,
          remedy: "give the changes up for the site with --force (they stay in this file)")
      }
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
    call.output.warnings(whatWent(report))
    if report.may_be_copy {
      let node = printable(report.node)
      call.output.warnings([
        """
        nobody was told, for another copy of this file may be \(node) still; if there is none, say \
        so on a member: flotilla revoke DB \(printable(shellWord(report.node)))
        """
      ])
    } else if report.told.isEmpty, !report.shut_out, let other = report.untold.first {
      call.output.warnings([
        """
        no other node was in reach; on \(printable(other))\
        \(report.untold.count > 1 ? " or another member" : ""), take it off the list: \
        flotilla revoke DB \(printable(shellWord(report.node)))
        """
      ])
    }
    let what = report.shut_out ? "was shut out of, and has now left," : "has left"
    call.print(
      report,
      as: """
        \(printable(report.node)) \(what) \(quoted(report.site)); \
        the data stays in \(printable(call.path))
        """)
    return .done
  }

  /// What went with Flotilla, in the file and on the site.
  private static func whatWent(_ report: LeaveReport) -> [String] {
    var lines: [String] = []
    if report.unsent_rows > 0 {
      lines.append("\(counted(report.unsent_rows, "row")) changed here reached no other node")
    }
    if report.open_conflicts > 0 {
      let count = counted(report.open_conflicts, "open conflict")
      lines.append("\(count) went with the conflict log")
    }
    if report.parked_rows > 0 {
      let count = counted(report.parked_rows, "parked row")
      lines.append("\(count) went with Flotilla; no node in reach has them")
    }
    if let loss = report.loss { lines.append(lost(loss)) }
    if !report.broken.isEmpty {
      lines.append(
        "\(printable(report.broken.joined(separator: ", "))) named tables of Flotilla, which are "
          + "gone; drop them, or make them anew: else programs fail that use them")
    }
    return lines
  }

  private static func leave(_ call: Call) async throws(FlotillaError) -> LeaveReport {
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    return try await call.replica.leave(
      force: call.arguments.has("--force"), progress: bar.show)
  }

  private static func undecided(_ report: LeaveReport, _ call: Call) -> FlotillaError {
    let path = printable(shellWord(call.path))
    guard report.open_conflicts > 0 else {
      return FlotillaError(
        .node,
        """
        \(call.path): \(counted(report.parked_rows, "row")) parked here \
        \(report.parked_rows == 1 ? "is" : "are") in no table, and no other node is in reach that \
        has \(report.parked_rows == 1 ? "it" : "them"); nothing was done
        """,
        remedy: """
          flotilla conflicts \(path) --parked shows what is in the way; bring another node in \
          reach, or give them up with --force
          """)
    }
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

  /// Why a node may not just leave, and the commands that mend it.
  private static func refusal(_ loss: LeaveReport.Loss, _ call: Call) -> FlotillaError {
    let path = printable(call.shellPath)
    let export = "flotilla export-site-key \(path) FILE"
    let admin =
      "make another admin: flotilla import-site-key DB FILE on another member, or flotilla invite "
      + "\(path) --role admin for a new one"
    let (what, remedy) =
      switch loss {
      case .siteKey:
        ("has the only site key, which was never exported, and other members stay", export)
      case .lastAdmin:
        ("is the only admin, and other members stay", admin)
      case .siteKeyAndLastAdmin:
        (
          "is the only admin and has the only site key, which was never exported, and other "
            + "members stay",
          "\(export); then \(admin)"
        )
      }
    return FlotillaError(
      .node, "\(call.path): this node \(what); nothing was done",
      remedy: "\(remedy). To leave all the same: --force")
  }

  private static func lost(_ loss: LeaveReport.Loss) -> String {
    switch loss {
    case .siteKey:
      "the site key went with this node, so nobody can be made an admin any more"
    case .lastAdmin:
      "the site has no admin now: nobody can be invited before a member takes the site key over "
        + "(flotilla import-site-key DB FILE)"
    case .siteKeyAndLastAdmin:
      "the site has no admin and no site key now: nobody can be invited or shut out any more; the "
        + "way back is to found it anew (\(Documentation.page("operations.md")), Lose the site key)"
    }
  }
}
