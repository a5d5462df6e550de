/// One entry of the table of measurements.
struct Measurement: Sendable {
  let name: String
  let summary: String
  let body: @Sendable (Extent, inout Report) throws -> Void

  /// Measures; a failure becomes part of the report.
  func run(_ extent: Extent) -> Report {
    var report = Report(measurement: name)
    do {
      try body(extent, &report)
    } catch {
      report.failure = "\(error)"
    }
    return report
  }
}

/// How much is measured.
enum Extent: Sendable {
  case quick
  case usual
  /// With the cuts of ten minutes.
  case long

  var isQuick: Bool { self == .quick }
}
