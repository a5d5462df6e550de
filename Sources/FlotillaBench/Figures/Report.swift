import Foundation

/// What one measurement gave: its figures, or why there are none.
struct Report: Sendable {
  let measurement: String
  var figures: [Figure] = []
  /// Remarks for people: what was skipped, what to keep in mind.
  var notes: [String] = []
  var failure: String?
}

extension Report {
  /// A table for people; figures of one sample show it under p50 alone.
  var table: String {
    let heads = ["", "unit", "n", "min", "p50", "p99", "max", "target"]
    var lines = [heads] + figures.map(Self.cells)
    let widths = heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    lines[0][0] = measurement
    let nameWidth = max(widths[0], measurement.count)
    var text = lines.map { cells in
      let rest = zip(cells, widths).dropFirst().enumerated().map { index, cell in
        index == 0 || index == 6 ? cell.0.padded(cell.1) : cell.0.padded(cell.1, left: true)
      }
      return ([cells[0].padded(nameWidth)] + rest).joined(separator: "  ").trimmedEnd
    }
    text += notes.map { "  · \($0)" }
    if let failure { text.append("  ! failed: \(failure)") }
    return text.joined(separator: "\n")
  }

  private static func cells(_ figure: Figure) -> [String] {
    let samples = figure.samples
    let statistics: [Statistic] = [.minimum, .median, .p99, .maximum]
    let numbers = statistics.map { statistic in
      samples.count > 1 || statistic == .median ? number(samples[statistic]) : ""
    }
    let targets = figure.targets.map { target in
      let sign = target.isUpper ? "≤" : "≥"
      let mark = figure.meets(target) ? "✓" : "✗"
      return "\(mark) \(target.statistic.rawValue) \(sign) \(number(target.limit))"
    }
    return [figure.name, figure.unit, "\(samples.count)"] + numbers
      + [targets.joined(separator: ", ")]
  }

  /// Three digits that count; whole numbers from a hundred on.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "-" }
    switch abs(value) {
    case 100...: return String(format: "%.0f", value)
    case 10...: return String(format: "%.1f", value)
    default: return value == 0 ? "0" : String(format: "%.2f", value)
    }
  }
}

extension String {
  fileprivate func padded(_ width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - count))
    return left ? space + self : self + space
  }

  fileprivate var trimmedEnd: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
