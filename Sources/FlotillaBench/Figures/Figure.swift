/// One measured quantity with its unit, its samples and the targets that it has to meet.
struct Figure: Sendable {
  let name: String
  let unit: String
  let samples: Samples
  private(set) var targets: [Target] = []

  init(_ name: String, _ unit: String, _ values: [Double]) {
    self.name = name
    self.unit = unit
    self.samples = Samples(values)
  }

  init(_ name: String, _ unit: String, _ value: Double) {
    self.init(name, unit, [value])
  }

  /// The same figure, which is to stay at or below a limit.
  func target(_ statistic: Statistic, atMost limit: Double) -> Figure {
    var figure = self
    figure.targets.append(Target(statistic: statistic, limit: limit, isUpper: true))
    return figure
  }

  /// The same figure, which is to reach a limit.
  func target(_ statistic: Statistic, atLeast limit: Double) -> Figure {
    var figure = self
    figure.targets.append(Target(statistic: statistic, limit: limit, isUpper: false))
    return figure
  }

  /// Whether less of it is better: as its targets say, else a rate should be high, all else low.
  var isBetterLow: Bool { targets.first?.isUpper ?? !unit.hasSuffix("/s") }

  func meets(_ target: Target) -> Bool {
    let value = samples[target.statistic]
    return target.isUpper ? value <= target.limit : value >= target.limit
  }
}

/// What one statistic of a figure should be.
struct Target: Sendable {
  let statistic: Statistic
  let limit: Double
  /// True if the figure should not exceed the limit, false if it should not fall below.
  let isUpper: Bool
}
