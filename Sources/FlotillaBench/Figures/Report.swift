import Foundation

/// What one measurement gave: its figures, or why there are none.
struct Report: Sendable {
  let measurement: String
  var figures: [Figure] = []
  /// What it gives to the table that the project is judged by, and to the plots.
  var lines: [Line] = []
  var plots: [Plot] = []
  /// Remarks for people: what was skipped, what to keep in mind.
  var notes: [String] = []
  var failure: String?

  init(measurement: String) { self.measurement = measurement }
}

extension Report {
  /// A table for people; figures of one sample show it under p50 alone.
  var table: String {
    let heads = [measurement, "unit", "n", "min", "p50", "p99", "max", "target"]
    var text = Self.aligned([heads] + figures.map(Self.cells), left: [0, 1, 7])
    text += notes.map { "  · \($0)" }
    if let failure { text.append("  ! failed: \(failure)") }
    return text.joined(separator: "\n")
  }

  /// Lines of columns; those named stand to the left.
  static func aligned(_ lines: [[String]], left: Set<Int>) -> [String] {
    let widths = (lines.first ?? []).indices.map { column in
      lines.map { $0[column].count }.max() ?? 0
    }
    return lines.map { cells in
      let padded = cells.enumerated().map { column, cell in
        cell.padded(widths[column], left: !left.contains(column))
      }
      return padded.joined(separator: "  ").trimmedEnd
    }
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

  /// The same with a comma after the thousands, and whole numbers as they are: `1,000`, `2`.
  static func grouped(_ value: Double) -> String {
    guard abs(value) >= 1_000, value.isFinite else {
      return value == value.rounded() && abs(value) < 1_000 ? "\(Int(value))" : number(value)
    }
    let digits = String(format: "%.0f", abs(value))
    let grouped = digits.reversed().enumerated().reversed().map { place, digit in
      place > 0 && place % 3 == 0 ? "\(digit)," : "\(digit)"
    }
    return (value < 0 ? "-" : "") + grouped.joined()
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
