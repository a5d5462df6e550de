/// The table of docs/performance.md: what the project's speed is judged by.
struct MarkdownTable {
  let report: JSONReport

  /// Of one sample it says that; of several the median and, in brackets, the least and the most.
  var text: String {
    var lines = ["| what | now | beside it | ratio | wanted | what bounds it |"]
    lines.append("|---|---|---|---|---|---|")
    lines += (report.lines ?? []).compactMap(row)
    // What failed has no line, and should not be missing unseen.
    let failed = report.remarks.filter { $0.failure != nil }.map { "`\($0.measurement)`" }
    if !failed.isEmpty {
      lines += ["", "Not measured, for it failed: \(failed.joined(separator: ", "))."]
    }
    return ([head] + lines).joined(separator: "\n")
  }

  /// Where it stands in a page.
  static let marks = (start: "<!-- figures: `make bench` -->", end: "<!-- end of figures -->")

  /// A page with this table in the place of the one between its marks.
  func placed(in page: String) throws -> String {
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(where: { $0 == Self.marks.start }),
      let end = lines[start...].firstIndex(where: { $0 == Self.marks.end })
    else { throw BenchError("the page has no line \(Self.marks.start) before \(Self.marks.end)") }
    let parts = lines[...start].map(String.init) + ["", text, ""] + lines[end...].map(String.init)
    return parts.joined(separator: "\n")
  }

  /// Where it was taken.
  private var head: String {
    guard let machine = report.machine else { return "" }
    return machine.sentences + "\n"
  }

  private func row(_ line: Line) -> String? {
    guard let figure = report.figure(line.measurement, line.figure) else { return nil }
    let beside = line.beside.flatMap { report.figure(line.measurement, $0) }
    let ratio = line.ratio.flatMap { report.figure(line.measurement, $0) }
    var partner = ""
    if let name = line.partner {
      partner = beside.map { "\(name): \(Self.value($0))" } ?? "\(name): not installed here"
    }
    let wanted = Self.wanted(figure) + (ratio.map { Self.wanted($0) } ?? [])
    let cells = [
      line.what, Self.value(figure), partner, ratio.map(Self.value) ?? "",
      wanted.joined(separator: ", "), line.bound,
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  private static func value(_ figure: JSONReport.Figure) -> String {
    guard let median = figure.p50 else { return "-" }
    // Which statistics are wanted is what to show of many samples.
    let named = figure.targets.map(\.statistic).filter { $0 != .median }
    if figure.count > 20 {
      let shown =
        [("p50", figure.p50), ("p99", figure.p99)]
        + (named.contains(.maximum) ? [("max", figure.max)] : [])
      let parts = shown.map { "\($0.0) \($0.1.map(Report.grouped) ?? "-")" }
      return with(figure.unit, parts.joined(separator: ", "))
    }
    let range =
      figure.count > 1
      ? " (\(figure.min.map(Report.grouped) ?? "-") to \(figure.max.map(Report.grouped) ?? "-"))"
      : ""
    return with(figure.unit, Report.grouped(median)) + range
  }

  private static func wanted(_ figure: JSONReport.Figure) -> [String] {
    figure.targets.map { target in
      let limit = target.atMost ?? target.atLeast ?? .nan
      let sign = target.atMost == nil ? "≥" : "≤"
      let statistic = target.statistic == .median ? "" : "\(target.statistic.rawValue) "
      let missed = target.met ? "" : ": missed"
      return "\(statistic)\(sign) \(with(figure.unit, Report.grouped(limit)))\(missed)"
    }
  }

  private static func with(_ unit: String, _ number: String) -> String {
    unit.isEmpty ? number : unit == "×" ? "\(number) ×" : "\(number) \(unit)"
  }
}
