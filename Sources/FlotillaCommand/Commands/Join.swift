import Flotilla

/// `flotilla join`: pairs with a site and makes the first copy.
enum Join {
  static let command = Command(
    name: "join",
    summary: "joins a site with a code and makes the first copy",
    discussion: """
      `flotilla invite` prints the code on a machine of the site. If the copy was
      interrupted, the same command goes on where it stopped, and needs no new code;
      so does `flotilla run`. If it fails before there is a copy (a full disk, say),
      the code stays good for this file until it expires.
      """,
    parameters: [
      .database,
      Parameter(name: "CODE", kind: .code, help: "the code that `flotilla invite` printed"),
    ],
    options: [
      .nodeName,
      Option(
        name: "--at",
        value: Option.Value(name: "HOST:PORT", kind: .address(listening: false)),
        help: "where the inviting node is, if it is not found by itself"),
      .json,
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let report = try await call.replica.join(
      code: call.arguments.text("CODE") ?? "", node: call.arguments.text("--name"),
      at: call.arguments.text("--at")
    ) { progress in
      show(progress, bar, call)
    }
    bar.clear()
    call.output.warnings(report.warnings)
    if report.replaced > 0 {
      call.output.warnings([
        "\(counted(report.replaced, "row")) of this file gave way to what the site has; see: "
          + "flotilla conflicts \(call.shellPath)"
      ])
    }
    call.print(report, as: text(report))
    if !call.json {
      call.output.remark(
        "this node is \(printable(report.node))\(role(report.role)); next: "
          + "flotilla run \(call.shellPath) --background")
    }
    return .done
  }

  /// What differs from most members: `, which may read alone`.
  private static func role(_ name: String) -> String {
    switch name {
    case "writer": ""
    case "reader": ", which may read alone"
    default: " (\(printable(name)))"
    }
  }

  private static func show(_ progress: JoinProgress, _ bar: ProgressBar, _ call: Call) {
    switch progress {
    case .found(let site, let node, let address, let words):
      tell(found(site: site, node: node, address: address, words: words), bar, call)
    case .resuming(let site, let node, let address):
      tell(resuming(site: site, node: node, address: address), bar, call)
    case .goingByRows(let reason):
      bar.clear()
      call.output.remark("the first copy goes row by row: \(printable(reason))")
    case .copying(let rows, let total, let bytes): bar.show(rows: rows, of: total, bytes: bytes)
    case .catchingUp(let rows, let total, let bytes):
      if total > 0 {
        bar.show(rows: rows, of: total, bytes: bytes, note: " that changed meanwhile")
      }
    }
  }

  private static func tell(_ text: String, _ bar: ProgressBar, _ call: Call) {
    bar.clear()
    if call.json { call.output.remark(text) } else { call.output.result(text) }
  }

  /// What goes on: `goes on with the first copy of "North clinic" from ward-1 (192.168.4.17)`.
  static func resuming(site: String, node: String, address: String) -> String {
    "goes on with the first copy of \(quoted(site)) from \(printable(node)) "
      + "(\(printable(address)))"
  }

  /// Where the site was found, and the words that the inviter shows, too:
  /// `found "North clinic" on ward-1 (192.168.4.17) · words: harbour otter violet seven`.
  static func found(site: String, node: String, address: String, words: String) -> String {
    "found \(quoted(site)) on \(printable(node)) (\(printable(address))) · words: \(words)"
  }

  /// What was copied: `copied 48,112 rows, 31 MB in 1.4 s`.
  static func text(_ report: JoinReport) -> String {
    "copied \(counted(report.rows, "row")), \(sized(report.bytes)) in \(span(report.seconds))"
  }
}
