import Flotilla

/// `flotilla members`: who belongs to the site.
enum Members {
  static let command = Command(
    name: "members",
    summary: "shows who belongs to the site, since when, and with which role",
    discussion: """
      Words are the four that both machines showed when a node joined: if the words
      differ, somebody stood between, and the node should be revoked. Members that
      were revoked or have left are shown with --all. Where connected members run
      different versions of Flotilla, each is shown.
      """,
    parameters: [.database],
    options: [
      Option(name: "--all", help: "also those that are members no more"), .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.members()
    if call.json {
      call.print(report, as: "")
      return .done
    }
    let shown = report.members.filter { $0.state == "member" || call.arguments.has("--all") }
    let table = table(shown, at: .current)
    call.output.result(table.text(colour: call.output.colour))
    return .done
  }

  static func table(_ members: [MembersReport.Member], at moment: Moment) -> Table {
    // Where all that tell run one version it is nothing to look at.
    let differ = Set(members.compactMap(\.program)).count > 1
    var table = Table(
      columns: [
        Table.Column(heading: "NODE"), Table.Column(heading: "ROLE"),
        Table.Column(heading: "SINCE", gap: 3), Table.Column(heading: "LAST SEEN", gap: 3),
        Table.Column(heading: "ADMITTED BY"), Table.Column(heading: "WORDS"),
      ] + (differ ? [Table.Column(heading: "VERSION")] : []))
    table.rows = members.map { member in
      let name = member.node.isEmpty ? String(member.id.prefix(8)) : member.node
      return [
        Table.Cell(member.is_this_node ? "\(name) (this node)" : name),
        Table.Cell(role(of: member), member.state == "revoked" ? .red : nil),
        Table.Cell(String(member.since.prefix(10))),
        Table.Cell(lastSeen(member, at: moment)), Table.Cell(member.admitted_by),
        Table.Cell(member.words ?? ""),
      ] + (differ ? [Table.Cell(member.program ?? "")] : [])
    }
    return table
  }

  /// The role, or why it has none; rights that differ from it table by table.
  private static func role(of member: MembersReport.Member) -> String {
    guard member.state == "member" else { return member.state }
    let rights = member.rights.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return rights.isEmpty ? member.role : "\(member.role), \(rights.joined(separator: ", "))"
  }

  private static func lastSeen(_ member: MembersReport.Member, at moment: Moment) -> String {
    if member.is_this_node { return "" }
    // Of who was shut out nothing is remembered.
    guard let text = member.last_seen else { return member.state == "revoked" ? "" : "never" }
    return Moment.date(from: text).map(moment.ago) ?? text
  }
}
