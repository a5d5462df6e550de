import Foundation

/// `--json`: one object with all figures; numbers that do not exist are null.
struct JSONReport: Codable {
  struct Figure: Codable {
    let measurement, name, unit: String
    let count: Int
    let min, p50, p99, max: Double?
    let targets: [Target]
    /// Whether less of it is better; reports of earlier days do not say.
    var better_low: Bool?
  }

  struct Target: Codable {
    let statistic: Statistic
    let atMost, atLeast: Double?
    let met: Bool

    enum CodingKeys: String, CodingKey {
      case statistic, met
      case atMost = "at_most"
      case atLeast = "at_least"
    }
  }

  struct Remark: Codable {
    let measurement: String
    let notes: [String]
    let failure: String?
  }

  /// Where and of what it was taken.
  var machine: MachineFacts?
  var figures: [Figure]
  var remarks: [Remark]
  var lines: [Line]?
  var plots: [Plot]?

  init(_ reports: [Report], on machine: MachineFacts?) {
    self.machine = machine
    figures = reports.flatMap { report in report.figures.map { Figure(report.measurement, $0) } }
    remarks = reports.filter { !$0.notes.isEmpty || $0.failure != nil }.map {
      Remark(measurement: $0.measurement, notes: $0.notes, failure: $0.failure)
    }
    lines = reports.flatMap(\.lines)
    plots = reports.flatMap(\.plots)
  }

  /// Reads what was written earlier.
  init(reading data: Data) throws { self = try JSONDecoder().decode(JSONReport.self, from: data) }

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }

  func figure(_ measurement: String, _ name: String) -> Figure? {
    figures.first { $0.measurement == measurement && $0.name == name }
  }
}

extension JSONReport.Figure {
  init(_ measurement: String, _ figure: Figure) {
    let samples = figure.samples
    func value(_ statistic: Statistic) -> Double? {
      samples[statistic].isFinite ? samples[statistic] : nil
    }
    self.init(
      measurement: measurement, name: figure.name, unit: figure.unit, count: samples.count,
      min: value(.minimum), p50: value(.median), p99: value(.p99), max: value(.maximum),
      targets: figure.targets.map { target in
        JSONReport.Target(
          statistic: target.statistic, atMost: target.isUpper ? target.limit : nil,
          atLeast: target.isUpper ? nil : target.limit, met: figure.meets(target))
      }, better_low: figure.isBetterLow)
  }

  /// What a machine does not change: ratios to a partner that ran beside it, and counts of bytes.
  var isComparable: Bool {
    unit == "×" || ["bytes", "B", "B/row", "KiB", "MiB", "MB"].contains(unit)
  }
}
