import Flotilla
import FoundationEssentials

/// `flotilla invite`: lets one more machine in.
enum Invite {
  static let command = Command(
    name: "invite",
    summary: "prints a code with which one more machine can join",
    discussion: """
      The code goes alone to standard output. It can be used once. The running node
      serves it; if none runs, this command serves it itself until it is used or
      expired, or until a starting `flotilla run` takes over. Where
      machines do not find each other by themselves (no Avahi, a router between
      them), the other one needs `join … --at HOST:PORT`, with this one's address.
      """,
    parameters: [.database],
    options: [
      Option(
        name: "--ttl",
        value: Option.Value(name: "TIME", kind: .duration(atLeast: .seconds(1)), standard: "15m"),
        help: "how long the code can be used"),
      Option(
        name: "--role",
        value: Option.Value(
          name: "ROLE", kind: .choice(["reader", "writer", "anchor", "admin"]), standard: "writer"),
        help: "what the new node may do: reader, writer, anchor or admin"),
      .json,
    ],
    statuses: [.notInSync: "this command served the code, and nobody used it in time"],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.invite(
      timeToLive: call.arguments.duration("--ttl"), role: call.arguments.text("--role") ?? "")
    call.print(report, as: report.code)
    call.output.remark(instructions(report, path: call.path, at: .current))
    return report.served ? .done : try await serve(report, call)
  }

  /// How long the code is good, what to type on the other machine, and who serves it.
  static func instructions(_ report: InviteReport, path: String, at moment: Moment) -> String {
    let expiry = Moment.date(from: report.expires).map(moment.clock) ?? printable(report.expires)
    let name = shellWord(path.split(separator: "/").last.map(String.init) ?? path)
    var lines = [
      "good until \(expiry), for one machine; type there:",
      "  flotilla join \(name) \(printable(report.code))",
    ]
    let addresses = (report.addresses ?? []).prefix(3).map(printable)
    if report.isForThisMachineAlone {
      lines.append(
        """
        the node listens at \(enumerated(addresses)), where no other machine gets: for one, \
        stop it, and run it without --listen, or with an address of this machine; on this \
        machine add --at \(enumerated(addresses))
        """)
    } else if !addresses.isEmpty {
      lines.append("if it does not find this machine by itself, add --at \(enumerated(addresses))")
    } else if let port = report.port {
      lines.append(
        "if it does not find this machine by itself, add --at and its address: HOST:\(port)")
    }
    if !report.served {
      lines.append(
        """
        no node runs for \(printable(path)), so this command serves the code until it is used \
        or expired; leave it open
        """)
    }
    return lines.joined(separator: "\n")
  }

  private static func serve(_ report: InviteReport, _ call: Call) async throws(FlotillaError)
    -> ExitStatus
  {
    let served = try await stoppingOnSignal { () async throws(FlotillaError) -> String? in
      let joined = try await call.replica.serveInvitation(report) {
        call.output.remark(printable($0))
      }
      if joined == nil, Task.isCancelled {
        throw FlotillaError(.node, "stopped before a machine joined")
      }
      return joined
    }
    if let joined = served {
      call.output.remark(printable(joined))
      return .done
    }
    guard let end = Moment.date(from: report.expires), end <= Date() else { return .done }
    call.output.remark("the code expired; nobody used it")
    return .notInSync
  }
}
