import Flotilla
import Mirror

/// `flotilla doctor`: what is wrong, and what to do about it.
enum Doctor {
  static let command = Command(
    name: "doctor",
    summary: "checks file, rows, discovery and node, each finding with a remedy",
    discussion: """
      Looks at the permissions of the folder beside the file; whether the file is
      sound, every tracked table is captured and the journal is there; at rows that
      are parked or were replaced (conflicts); at the room that Flotilla takes in
      the file; at the disk, its room, how fast it writes safely and whether SQLite
      can work there; whether Avahi answers; and, if the node runs, at its peers and
      the Flotilla that each runs, at firewalls if none is connected, and at clocks
      that differ by more than ten minutes; and at the mirror, if there is one.
      Connected peers of other machines try whether they reach the port of this one.

      --repair makes triggers and journal anew where they are missing, and compares
      the tables; no node may run meanwhile.

      --bundle FILE writes what somebody who helps has to know: the findings, the
      state, members, tables, the schema, the end of the log, also where that is in
      the journal of systemd; if you may not read it, the file says what to type.
      There are no rows and no keys in it, but names of tables and machines, and
      addresses. It is JSON, so read it before you send it.
      """,
    parameters: [.database],
    options: [
      Option(name: "--repair", help: "repairs what can be repaired"),
      Option(
        name: "--bundle", value: Option.Value(name: "FILE", kind: .name),
        help: "writes all that helps a helper into a new file, without rows"), .json,
    ],
    statuses: [
      .done: "nothing is broken; there may be warnings", .failed: "something is broken",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let outcome: Result<DoctorReport, FlotillaError>
    do throws(FlotillaError) {
      var report = try await call.replica.doctor(repair: call.arguments.has("--repair"))
      if let mirror = try await ServerMirror(call.replica).briefReport() {
        report.findings.append(MirrorText.finding(mirror, path: call.shellPath))
      }
      outcome = .success(report)
    } catch {
      outcome = .failure(error)
    }
    if case .success(let report) = outcome {
      call.print(
        report,
        as: text(report, colour: call.output.colour, columns: call.output.resultColumns))
    }
    // It is wanted most where even the doctor could not look.
    if let file = call.arguments.text("--bundle") {
      let bundle = await SupportBundle(replica: call.replica).text(doctor: outcome)
      try SupportBundle.write(bundle, to: file)
      call.output.remark("wrote \(printable(file)): read it before you send it")
    }
    return try outcome.get().findings.contains { $0.level == .error } ? .failed : .done
  }

  /// One line for each finding, its remedy below it, and the sums.
  static func text(_ report: DoctorReport, colour: Bool, columns: Int = .max) -> String {
    let width = (report.findings.map { displayWidth(printable($0.check)) }.max() ?? 0) + 2
    let lines = report.findings.flatMap { finding in
      let level = padded(finding.level.rawValue, to: 9)
      let check = padded(printable(finding.check), to: width)
      let painted = colour ? finding.level.colour.paint(level) : level
      let indent = String(repeating: " ", count: 9 + width)
      func set(_ text: String) -> String {
        // A command is in one line, so that it can be copied.
        guard !text.contains("flotilla "), columns < .max else { return printable(text) }
        let words = printable(text).split(separator: " ").map(String.init)
        return wrapped(words, width: max(24, columns - indent.count), indent: 0)
          .split(separator: "\n").joined(separator: "\n" + indent)
      }
      return [painted + check + set(finding.text)]
        + (finding.remedy.map { [indent + set($0)] } ?? [])
    }
    let errors = report.findings.count { $0.level == .error }
    let warnings = report.findings.count { $0.level == .warning }
    let sums = "\(counted(errors, "error")), \(counted(warnings, "warning"))"
    return (lines + [sums]).joined(separator: "\n")
  }
}

extension DoctorReport.Level {
  fileprivate var colour: Colour {
    switch self {
    case .ok: .green
    case .warning: .yellow
    case .error: .red
    }
  }
}
