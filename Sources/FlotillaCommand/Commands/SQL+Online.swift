import Flotilla

/// `flotilla sql --online`: what was done here, then what the anchor says.
extension SQL {
  static func runOnline(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.sqlOnline(
      call.arguments.text("STATEMENT") ?? "", timeout: call.arguments.duration("--timeout"))
    if call.json {
      call.output.result(json(report).description)
    } else {
      for line in text(report, colour: call.output.colour) { call.output.result(line) }
      if report.verdict == "pending" {
        call.output.remark(
          report.rows.isEmpty
            ? "the anchor is not in reach: these are the rows here"
            : "the anchor has not judged it yet; the edit stays, and is judged when it gets there")
      }
    }
    switch report.verdict {
    case "rejected": return .rejected
    case "pending": return .notInSync
    default: return .done
    }
  }

  /// The local response, then the server response.
  static func text(_ report: OnlineReport, colour: Bool) -> [String] {
    var lines: [String] = []
    if !report.local.columns.isEmpty {
      lines += ["here:", text(report.local, colour: colour)]
      if let server = report.server {
        lines += ["after contact with the anchor:", text(server, colour: colour)]
      }
    }
    guard !report.rows.isEmpty else { return lines }
    lines.append("here:")
    lines += touched(report.local, colour: colour)
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
