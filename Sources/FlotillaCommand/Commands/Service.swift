import Flotilla
import FoundationEssentials
import Glibc

/// `flotilla service`: the node starts with the machine.
enum Service {
  static let command = Command(
    name: "service",
    summary: "lets systemd run the node, from now on and at each start",
    discussion: """
      enable writes down whose the database is and where it lies, beside the unit
      flotilla@.service, and starts the node as that user. disable stops it and takes
      both back. status says whether the node runs so.
      What the node says is in the journal: journalctl -u UNIT. Of several databases
      each has a unit of its own: say enable for each.
      """,
    parameters: [
      .database,
      Parameter(
        name: "ACTION", kind: .choice(["enable", "disable", "status"]),
        help: "enable, disable or status"),
    ],
    options: [
      Option(
        name: "--root", value: Option.Value(name: "FOLDER", kind: .name),
        help: "prepares the system whose image is in this folder, and starts nothing"),
      .json,
    ],
    statuses: [.notInSync: "status, and the node is not started with the machine, or does not run"],
    body: run)

  /// What systemd knows of the node of a database.
  struct Report: Encodable, Sendable, Equatable {
    var unit: String
    /// Null where the database is gone.
    var user: String?
    var enabled: Bool
    /// As systemd says it: `active`, `inactive`, `activating`, `failed`; null in an image.
    var state: String?
    var settings: String?
  }

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let root = call.arguments.text("--root")
    let manager = if let root { try Systemd(root: root) } else { Systemd() }
    let unit = try ServiceUnit(
      of: call.path, within: manager.root, mayBeGone: call.arguments.text("ACTION") != "enable")
    switch call.arguments.text("ACTION") {
    case "enable":
      try manager.check(changes: true)
      try await enable(unit, manager, call)
    case "disable":
      try manager.check(changes: true, isEnding: true)
      try disable(unit, manager, call)
    default:
      try manager.check(changes: false)
    }
    let report = try report(unit, manager)
    call.print(report, as: text(report))
    guard call.arguments.text("ACTION") == "status" else { return .done }
    return report.enabled && (report.state ?? "active") == "active" ? .done : .notInSync
  }

  private static func enable(
    _ unit: ServiceUnit, _ manager: Systemd, _ call: Call
  ) async throws(FlotillaError) {
    let status = try await call.replica.status(all: false)
    let active = try !manager.isImage ? manager.control(["is-active", unit.name]).status : 0
    if status.running, active != 0 {
      throw FlotillaError(
        .node, "a node of \(call.path) runs already, and not by systemd",
        remedy: "Stop it first: flotilla stop \(call.shellPath)")
    }
    try manager.write(unit)
    call.output.remark("wrote \(manager.settingsFile(of: unit))")
    if ["root", "0"].contains(unit.user ?? "") {
      call.output.warnings([
        "the database belongs to root, and so will the node; better is a user of its own"
      ])
    }
    if !manager.isImage { try manager.succeed(["daemon-reload"], remedy: nil) }
    try manager.succeed(["--quiet", "enable", unit.name], remedy: nil)
    guard !manager.isImage else { return }
    try manager.succeed(
      ["start", unit.name], remedy: "See why: journalctl -u '\(unit.name)' -n 20")
    call.output.remark("started it")
  }

  private static func disable(
    _ unit: ServiceUnit, _ manager: Systemd, _ call: Call
  ) throws(FlotillaError) {
    if !manager.isImage {
      try manager.succeed(["stop", unit.name], remedy: "See: systemctl status '\(unit.name)'")
      // A node that failed before would be shown as failed for ever; there may be nothing to reset.
      try manager.control(["reset-failed", unit.name])
    }
    try manager.succeed(["--quiet", "disable", unit.name], remedy: nil)
    let found = manager.remove(unit)
    if !manager.isImage { try manager.succeed(["daemon-reload"], remedy: nil) }
    call.output.remark(
      found
        ? "removed \(manager.settingsFile(of: unit)); the database stays as it is"
        : "\(unit.name) was not set up by `flotilla service`; it is disabled all the same")
  }

  private static func report(
    _ unit: ServiceUnit, _ manager: Systemd
  ) throws(FlotillaError) -> Report {
    let enabled = try manager.control(["is-enabled", unit.name])
    let settings = manager.settingsFile(of: unit)
    return Report(
      unit: unit.name, user: unit.user, enabled: enabled.status == 0,
      state: !manager.isImage ? try manager.control(["is-active", unit.name]).text : nil,
      settings: FileManager.default.fileExists(atPath: settings) ? settings : nil)
  }

  static func text(_ report: Report) -> String {
    let starts = report.enabled ? "starts with the machine" : "does not start with the machine"
    let state = report.state.map { ", \(printable($0)) now" } ?? ""
    let user = report.enabled ? report.user.map { ", as \(printable($0))" } ?? "" : ""
    return "\(printable(report.unit)) \(starts)\(state)\(user)"
  }
}
