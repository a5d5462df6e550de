import Foundation

/// `--json`: one object with all figures; numbers that do not exist are null.
struct JSONReport: Encodable {
  struct Figure: Encodable {
    let measurement, name, unit: String
    let count: Int
    let min, p50, p99, max: Double?
    let targets: [Target]
  }

  struct Target: Encodable {
    let statistic: Statistic
    let atMost, atLeast: Double?
    let met: Bool

    enum CodingKeys: String, CodingKey {
      case statistic, met
      case atMost = "at_most"
      case atLeast = "at_least"
    }
  }

  struct Remark: Encodable {
    let measurement: String
    let notes: [String]
    let failure: String?
  }

  let figures: [Figure]
  let remarks: [Remark]

  init(_ reports: [Report]) {
    figures = reports.flatMap { report in report.figures.map { Figure(report.measurement, $0) } }
    remarks = reports.filter { !$0.notes.isEmpty || $0.failure != nil }.map {
      Remark(measurement: $0.measurement, notes: $0.notes, failure: $0.failure)
    }
  }

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
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
      })
  }
}
