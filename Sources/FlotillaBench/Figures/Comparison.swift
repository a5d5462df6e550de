/// Two reports side by side: the medians of both, and what got worse.
///
/// Machines and hours differ, so times and rates are shown, and only ratios to a partner and counts
/// of bytes are called worse, from a tenth on.
struct Comparison {
  struct Row: Equatable {
    let measurement, name, unit: String
    /// Medians; nil where a report has no such figure.
    let before, now: Double?
    let isWorse: Bool

    /// By how much it has changed, as a part of what it was.
    var change: Double? {
      guard let before, let now else { return nil }
      return before == now ? 0 : before == 0 ? nil : (now - before) / abs(before)
    }
  }

  static let tolerance = 0.1

  let rows: [Row]

  init(before: JSONReport, now: JSONReport) {
    rows = now.figures.map { figure in
      let earlier = before.figure(figure.measurement, figure.name)?.p50
      return Row(
        measurement: figure.measurement, name: figure.name, unit: figure.unit, before: earlier,
        now: figure.p50, isWorse: Self.isWorse(figure, than: earlier))
    }
  }

  private static func isWorse(_ figure: JSONReport.Figure, than before: Double?) -> Bool {
    guard figure.isComparable, let before, let now = figure.p50 else { return false }
    let growth = figure.better_low ?? true ? now - before : before - now
    // What is a tenth to a person should be one here as well.
    return growth > 0 && growth >= tolerance * abs(before) - 1e-9
  }

  var worse: [Row] { rows.filter(\.isWorse) }

  /// For people: a table, and the list of what got worse.
  var text: String {
    var lines = [["", "", "unit", "before", "now", "change"]]
    lines += rows.map { row in
      [
        row.measurement, row.name, row.unit, row.before.map(Report.number) ?? "-",
        row.now.map(Report.number) ?? "-", Self.percent(row.change) + (row.isWorse ? " worse" : ""),
      ]
    }
    var text = Report.aligned(lines, left: [0, 1, 2, 5])
    let worse = worse
    text.append("")
    text.append(
      worse.isEmpty
        ? "nothing that can be compared got worse by a tenth"
        : "worse by a tenth or more:")
    text += worse.map { row in
      "  \(row.measurement): \(row.name) (\(row.unit)): \(Self.percent(row.change))"
    }
    return text.joined(separator: "\n")
  }

  private static func percent(_ change: Double?) -> String {
    guard let change else { return "" }
    let whole = Int((change * 100).rounded())
    return whole > 0 ? "+\(whole) %" : "\(whole) %"
  }
}
