import Flotilla
import FoundationEssentials

/// `flotilla clock`: what time it is in the site, and whose clock is wrong.
enum SiteTime {
  static let command = Command(
    name: "clock",
    summary: "shows the time of the site, and sets it",
    discussion: """
      Edits are stamped by the time of the site, which goes on whatever somebody
      does to a machine's clock. It began with the clock on which the site was
      made; where it is wrong, --set gives another time, and --good takes that of
      this machine and believes its clock from now on before others, as is right
      for one that a receiver or a time server keeps. TIME is 2026-03-01 08:14:00
      in the zone of this machine, or ends with Z for UTC. --repair writes rows
      again whose stamps are from the future.
      """,
    parameters: [.database],
    options: [
      Option(name: "--good", help: "the clock of this machine is right"),
      Option(name: "--not-good", help: "it is a clock like others"),
      Option(
        name: "--set", value: Option.Value(name: "TIME", kind: .text),
        help: "sets the time of the site"),
      Option(name: "--repair", help: "cures rows whose stamps are from the future"),
      Option(name: "--force", help: "sets it more than 31 days ahead, too"),
      .json,
    ],
    choices: [Choice(names: ["--good", "--not-good", "--set"])],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    var time: Int64?
    if let text = call.arguments.text("--set") {
      guard let date = date(from: text, in: .local) else {
        throw FlotillaError(
          .usage, "\(text) is no time",
          remedy: "Write it in the zone of this machine, as in --set \"2026-03-01 08:14:00\"; or "
            + "in UTC, with a Z behind it.")
      }
      time = Int64((date.timeIntervalSince1970 * 1_000).rounded())
    }
    let isGood: Bool? =
      call.arguments.has("--good") ? true : call.arguments.has("--not-good") ? false : nil
    let repairs = call.arguments.has("--repair")
    let report = try await call.replica.clock(
      set: time, isGood: isGood, repairs: repairs, force: call.arguments.has("--force"))
    call.print(
      report, as: text(report, at: .current, repairs: repairs, colour: call.output.colour))
    return .done
  }

  /// Reads a day and a time of day, with a Z for UTC, else in a zone.
  static func date(from text: String, in zone: Zone) -> Date? {
    let form = /(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?(Z?)/
    guard let match = text.wholeMatch(of: form)?.output else { return nil }
    let parts = [match.1, match.2, match.3, match.4, match.5, match.6 ?? "0"].compactMap { Int($0) }
    guard parts.count == 6 else { return nil }
    return (match.7.isEmpty ? zone : .utc).date(
      of: Zone.Parts(
        year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4],
        second: parts[5]))
  }

  static func text(
    _ report: ClockReport, at moment: Moment, repairs: Bool, colour: Bool
  ) -> String {
    var lines = [header(report.clock, at: moment)]
    if report.clock.waiting > 0 {
      lines.append("\(counted(report.clock.waiting, "edit")) made here will be stamped then")
    }
    if !report.peers.isEmpty {
      var table = Table(columns: [
        Table.Column(heading: "NODE"), Table.Column(heading: "CLOCK", gap: 3),
      ])
      table.rows = report.peers.map { peer in
        let offset = clockOffset(peer.clock_offset_ms)
        let done = peer.corrected ? "  (corrected)" : "  (not corrected yet)"
        let isOff = peer.clock_offset_ms.magnitude >= 1000
        return [Table.Cell(peer.node), Table.Cell(isOff ? offset + done : offset)]
      }
      lines.append(table.text(colour: colour))
    }
    if repairs { lines.append("\(counted(report.repaired, "row")) repaired") }
    if report.clock.future > 0 {
      lines.append("\(counted(report.clock.future, "row")) from the future; see --repair")
    }
    return lines.joined(separator: "\n")
  }

  private static func header(_ clock: ClockState, at moment: Moment) -> String {
    guard let text = clock.site_time, let offset = clock.clock_offset_ms else {
      return "the time of the site is not known since this machine was started"
    }
    let time = Moment.date(from: text).map { Moment(now: $0, zone: moment.zone).stamp } ?? text
    let source =
      switch clock.source {
      case "person": "set by a person"
      case "clock": "taken from the clock of a machine"
      default: "counted on from the last time that was known"
      }
    let good = clock.good ? ", good" : ""
    let founding = clock.founding.map { " (founding \(printable($0)))" } ?? ""
    return "\(time.prefix(19)) · \(source)\(founding) · the clock of this machine: "
      + clockOffset(offset) + good
  }
}
