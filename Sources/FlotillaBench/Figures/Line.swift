/// A line of the table by which the project's speed is judged, made of figures of one measurement.
///
/// It names them, so that the table can be made again from what `--json` has written.
struct Line: Sendable, Codable, Equatable {
  let measurement: String
  /// What was done, from where to where.
  let what: String
  /// The name of the figure.
  let figure: String
  /// Who did the same directly before, and the names of its figure and of the ratio.
  var partner: String?
  var beside: String?
  var ratio: String?
  /// What bounds it.
  let bound: String
}

extension Report {
  /// Adds a line about a figure of this report.
  mutating func line(
    _ what: String, _ figure: String, partner: String? = nil, beside: String? = nil,
    ratio: String? = nil, bound: String
  ) {
    lines.append(
      Line(
        measurement: measurement, what: what, figure: figure, partner: partner, beside: beside,
        ratio: ratio, bound: bound))
  }
}
