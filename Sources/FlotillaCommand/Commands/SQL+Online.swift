import Flotilla

/// `flotilla sql --online`: what was done here, then what the anchor says.
extension SQL {
  static func runOnline(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let statement = call.arguments.text("STATEMENT") ?? ""
    let report = try await call.replica.sqlOnline(
      statement, timeout: call.arguments.duration("--timeout")
    ) { local in
      guard !call.json else { return }
      for line in here(local, colour: call.output.colour) { call.output.result(line) }
    }
    if call.json {
      call.output.result(json(report).description)
    } else {
      for line in text(report, colour: call.output.colour) { call.output.result(line) }
      if let remark = remark(on: report, of: statement) { call.output.remark(remark) }
    }
    switch report.verdict {
    case "rejected": return .rejected
    case "pending", "unknown": return .notInSync
    default: return .done
    }
  }

  private static func remark(on report: OnlineReport, of statement: String) -> String? {
    switch report.verdict {
    case "pending":
      report.rows.isEmpty
        ? "the anchor is not in reach: these are the rows here"
        : "the anchor has not judged it yet; the edit stays, and is judged when it gets there"
    case "unknown": "what the anchor has said of it is not known here any more"
    default: report.rows.isEmpty ? outcome(of: statement, report.local) : nil
    }
  }

  /// The local response.
  static func here(_ report: SQLReport, colour: Bool) -> [String] {
    var lines = report.columns.isEmpty ? [] : [text(report, colour: colour)]
    lines += touched(report, colour: colour)
    return lines.isEmpty ? [] : ["here:"] + lines
  }

  /// The server response.
  static func text(_ report: OnlineReport, colour: Bool) -> [String] {
    var lines: [String] = []
    if let server = report.server {
      lines += ["after contact with the anchor:", text(server, colour: colour)]
    }
    guard !report.rows.isEmpty else { return lines }
    lines.append("the anchor:")
    for row in report.rows {
      let key = row.local.key.sorted { $0.key < $1.key }.map(\.value.words)
        .joined(separator: ", ")
      let why = [row.verdict.reason, row.verdict.rule].compactMap { $0 }.joined(separator: ", ")
      lines.append(
        "\(printable(row.local.table)) \(printable(key)): \(row.verdict.verdict)"
          + (row.verdict.reason == nil ? "" : " (\(why))"))
    }
    var server = report.local
    server.touched = report.rows.map(\.server)
    return lines + touched(server, colour: colour)
  }

  /// JSON: `{verdict, rows:[{table, key, local, verdict, reason, rule, server}]}`; of a query
  /// `{verdict, local:[…], server:[…] or null}`.
  static func json(_ report: OnlineReport) -> JSON {
    var object: [String: JSON] = ["verdict": .text(report.verdict)]
    object["rows"] = .array(
      report.rows.map { row in
        .object([
          "table": .text(row.local.table), "key": .object(row.local.key.mapValues { JSON($0) }),
          "local": values(row.local), "server": values(row.server),
          "verdict": .text(row.verdict.verdict),
          "reason": row.verdict.reason.map { .text($0) } ?? .null,
          "rule": row.verdict.rule.map { .text($0) } ?? .null,
        ])
      })
    if !report.local.columns.isEmpty {
      object["local"] = rows(report.local)
      object["server"] = report.server.map(rows) ?? .null
    }
    return .object(object)
  }

  private static func rows(_ report: SQLReport) -> JSON {
    guard case .object(let object) = json(report) else { return .null }
    return object["rows"] ?? .null
  }

  private static func values(_ row: TouchedRow) -> JSON {
    guard let values = row.values else { return .null }
    return .object(Dictionary(uniqueKeysWithValues: zip(row.columns, values.map { JSON($0) })))
  }
}
