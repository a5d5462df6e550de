import Flotilla
import FoundationEssentials

/// `flotilla revoke`: shuts a node out.
enum Revoke {
  static let command = Command(
    name: "revoke",
    summary: "shuts a node out of the site, for good",
    discussion: """
      Every node that hears of it cuts its connections with that node and lets it in
      no more; nodes that are away hear of it when they are back. What the node has
      stays with it, and what it wrote before stays. If its machine is to come back,
      let it leave and join again. If it is the anchor, appoint another one: until
      then nobody judges what is written.

      --undo-since lists which rows the node wrote since then, by their times or
      since they came in here, and what stood before where that is known. Nothing of
      it is changed before --yes is given: then each such row is put back, as an
      edit of this node, and what the node had made is taken out. The rest is listed
      for a person to decide. It may be said again, also of a node that is shut out
      already, and on another member, which may know more. TIME is 2026-03-01
      08:14:00 in the zone of this machine, or ends with Z for UTC.

      What an admin has signed before stands: whom it invited stays. If that may have
      been a thief, --disown lets nothing of it stand: everybody whom it has ever
      invited is shut out too, and must leave and join again. Whom it had shut out
      stays out, and may do no more than before: that is said anew.
      """,
    parameters: [
      .database,
      Parameter(name: "NODE", help: "its name, or the beginning of its id (see members --json)"),
    ],
    options: [
      Option(name: "--disown", help: "lets nothing stand that this admin has signed"),
      Option(
        name: "--undo-since", value: Option.Value(name: "TIME", kind: .text),
        help: "lists the rows that it wrote since then, to be put back"),
      Option(name: "--yes", help: "puts them back"),
      Option(name: "--by-stamp", help: "leaves alone what is dated before, though it came later"),
      .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let name = call.arguments.text("NODE") ?? ""
    let since = try time(call)
    guard let since else {
      let report = try await call.replica.revoke(
        name, disowning: call.arguments.has("--disown"))
      call.print(report, as: said(report, path: call.shellPath))
      return .done
    }
    var (report, remark) = try await shutOut(name, call)
    let undo = try await call.replica.undo(
      report.id, since: since, puttingBack: call.arguments.has("--yes"),
      byStamp: call.arguments.has("--by-stamp"))
    report.undo = undo
    let lines = [
      remark,
      report.told.isEmpty && report.also.isEmpty ? nil : said(report, path: call.shellPath),
      text(
        undo, isDone: call.arguments.has("--yes"), byStamp: call.arguments.has("--by-stamp"),
        colour: call.output.colour),
    ]
    call.print(report, as: lines.compactMap(\.self).joined(separator: "\n"))
    return .done
  }

  /// Shuts a node out, unless it is already; and what is to be said of that.
  private static func shutOut(
    _ name: String, _ call: Call
  ) async throws(FlotillaError) -> (RevokeReport, remark: String?) {
    let members = try await call.replica.members()
    let found = try members.member(named: name)
    let disowns = call.arguments.has("--disown")
    // What an admin had signed before it left stands, unless it is disowned.
    if let found, found.isFormer, !disowns || found.state == "revoked" {
      let report = RevokeReport(node: found.node, id: found.id, told: [], also: [])
      return (report, disowns ? tooLate(found, members, path: call.shellPath) : nil)
    }
    return (try await call.replica.revoke(name, disowning: disowns), nil)
  }

  /// What an admin had signed when it was shut out stands or falls by that word, for good.
  static func tooLate(
    _ admin: MembersReport.Member, _ report: MembersReport, path: String
  ) -> String {
    let invited = report.members.filter { !$0.isFormer && $0.admitted_by == admin.node }.map(\.node)
    let start = "\(printable(admin.node)) is shut out already, and --disown changes nothing of that"
    guard !invited.isEmpty else { return start }
    return start + "\nwhom it let in is in still, and goes one by one: "
      + "flotilla revoke \(path) NODE, for "
      + invited.sorted().map { printable($0) }.joined(separator: ", ")
  }

  private static func time(_ call: Call) throws(FlotillaError) -> Int64? {
    guard let text = call.arguments.text("--undo-since") else {
      for option in ["--yes", "--by-stamp"] where call.arguments.has(option) {
        throw FlotillaError(
          .usage, "\(option) says nothing without --undo-since TIME",
          remedy: "To shut the node out alone, leave it out.")
      }
      return nil
    }
    guard let date = SiteTime.date(from: text, in: .local) else {
      throw FlotillaError(
        .usage, "\(text) is no time",
        remedy: "Write it in the zone of this machine, as in --undo-since \"2026-03-01 08:14:00\"; "
          + "or in UTC, with a Z behind it.")
    }
    return Int64((date.timeIntervalSince1970 * 1_000).rounded())
  }

  /// What was done; `path` is that of the database, as a word of a shell.
  static func said(_ report: RevokeReport, path: String) -> String {
    let told =
      report.told.isEmpty
      ? "no other node is connected; they hear of it when they are"
      : "told \(report.told.map { printable($0) }.joined(separator: ", "))"
    func names(_ nodes: [String]) -> String {
      nodes.map { printable($0) }.joined(separator: ", ")
    }
    let also = names(report.also)
    return "\(printable(report.node)) is shut out\(also.isEmpty ? "" : ", and with it \(also)"); "
      + told
      + (report.stay_out.isEmpty ? "" : "\nstay shut out: \(names(report.stay_out))")
      + (report.stay_limited.isEmpty
        ? "" : "\nmay do no more than before: \(names(report.stay_limited))")
      + (report.was_anchor
        ? "\nit was the anchor: what is written waits for a verdict that nobody gives\n"
          + "  appoint another: flotilla anchor \(path) NODE; or let newest win, with --none" : "")
  }
}
