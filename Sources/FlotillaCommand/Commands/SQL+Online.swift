import Flotilla

/// `flotilla sql --online`: what was done here, then what the anchor says.
extension SQL {
  static func runOnline(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let statement = call.arguments.text("STATEMENT") ?? ""
    let report = try await call.replica.sqlOnline(
      statement, timeout: call.arguments.duration("--timeout")
    ) { local in
      guard !call.json else { return }
      for line in here(local.cut(for: call.output), colour: call.output.colour) {
        call.output.result(line)
      }
    }
    if call.json {
      call.output.data(json(report).description)
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

  /// What the rows do not show; nil if they say all.
  static func remark(on report: OnlineReport, of statement: String) -> String? {
    switch report.verdict {
    case "pending": pending(report)
    case "unknown": "what the anchor has said of it is not known here any more"
    case nil where report.local.changes > 0:
      (outcome(of: statement, report.local).map { $0 + "; " } ?? "")
        + "no replicated row was changed, so the anchor has nothing to judge"
    default: report.rows.isEmpty ? outcome(of: statement, report.local) : nil
    }
  }

  private static func pending(_ report: OnlineReport) -> String {
    if let obstacle = report.obstacle.map(printable) {
      return
        (report.rows.isEmpty
        ? "these are the rows here, for " : "nobody judges the edit at present; it stays here: ")
        + obstacle
    }
    if let away = report.away {
      let since = away.since.flatMap(Moment.date)
        .map { "has been away since \(Moment.current.clock($0))" }
      return "\(printable(away.anchor)), the anchor, \(since ?? "is not in reach"): the edit stays "
        + "here, and is judged when it gets there"
    }
    return report.rows.isEmpty
      ? "the anchor is not in reach: these are the rows here"
      : "the anchor has not judged it yet; the edit stays, and is judged when it gets there"
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
    let waiting = report.rows.filter { $0.server == nil }
    if !waiting.isEmpty { lines += ["no verdict yet:"] + waiting.map(verdict) }
    let judged = report.rows.filter { $0.server != nil }
    guard !judged.isEmpty else { return lines }
    lines += ["the anchor:"] + judged.map(verdict)
    var server = report.local
    server.touched = judged.compactMap(\.server)
    return lines + touched(server, colour: colour)
  }

  /// What became of one row.
  private static func verdict(_ row: OnlineReport.Row) -> String {
    let key = row.local.key.sorted { $0.key < $1.key }.map(\.value.words).joined(separator: ", ")
    let conflict = row.verdict.conflict.map { "conflict \($0)" }
    let reason = row.verdict.reason.map { ConflictReport.words(for: $0) }
    let why = [reason, row.verdict.rule, conflict].compactMap { $0 }
      .joined(separator: ", ")
    return "\(printable(row.local.table)) \(printable(key)): \(row.verdict.verdict)"
      + (why.isEmpty ? "" : " (\(why))")
  }

  /// JSON: `{verdict, rows:[{table, key, local, verdict, reason, rule, conflict, server}]}`.
  ///
  /// Of what returned rows `{verdict, local:[…], server:[…] or null}`, too; `away`,
  /// `{anchor, since}`, if a verdict is pending because the anchor is not in reach.
  static func json(_ report: OnlineReport) -> JSON {
    var object: [String: JSON] = ["verdict": report.verdict.map { .text($0) } ?? .null]
    object["rows"] = .array(
      report.rows.map { row in
        .object([
          "table": .text(row.local.table), "key": .object(row.local.key.mapValues { JSON($0) }),
          "local": values(row.local), "server": row.server.map(values) ?? .null,
          "verdict": .text(row.verdict.verdict),
          "reason": row.verdict.reason.map { .text($0) } ?? .null,
          "rule": row.verdict.rule.map { .text($0) } ?? .null,
          "conflict": row.verdict.conflict.map { .number(String($0)) } ?? .null,
        ])
      })
    if let away = report.away { object["away"] = JSON(reflecting: away) }
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
