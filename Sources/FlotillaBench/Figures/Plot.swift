import Foundation

/// A picture of measured points: one quantity against another one.
struct Plot: Sendable, Codable, Equatable {
  struct Axis: Sendable, Codable, Equatable {
    /// With its unit.
    let label: String
    /// Equal steps multiply instead of adding.
    let isLogarithmic: Bool
  }

  struct Point: Sendable, Codable, Equatable {
    let x, y: Double
    /// The least and the most of several; both are y if there is one.
    let low, high: Double

    init(_ x: Double, _ samples: Samples) {
      (self.x, y, low, high) = (x, samples.median, samples.minimum, samples.maximum)
    }
  }

  struct Series: Sendable, Codable, Equatable {
    let name: String
    var points: [Point] = []
  }

  /// Of the file, without its end.
  let name: String
  let title: String
  let x, y: Axis
  var series: [Series]
}

/// Where values stand on an axis.
struct PlotScale: Equatable {
  let low, high: Double
  let isLogarithmic: Bool
  /// Values that have a label.
  let ticks: [Double]

  /// Around all values: from one round number to another one.
  init(around values: [Double], isLogarithmic: Bool) {
    self.isLogarithmic = isLogarithmic
    let known = values.filter { $0.isFinite && (!isLogarithmic || $0 > 0) }
    let (least, most) = (known.min() ?? 1, known.max() ?? 1)
    if isLogarithmic {
      let steps = Self.steps(from: least, to: most)
      (low, high) = (steps.first ?? 1, steps.last ?? 10)
      ticks = steps
    } else {
      let step = Self.step(most / 5)
      low = 0
      high = max(step, (most / step).rounded(.up) * step)
      ticks = Array(stride(from: 0, through: high + step / 2, by: step))
    }
  }

  /// Exactly from the first to the last of the values, all of which have labels.
  init(through values: [Double], isLogarithmic: Bool) {
    self.isLogarithmic = isLogarithmic
    ticks = values.sorted()
    (low, high) = (ticks.first ?? 0, ticks.last ?? 1)
  }

  /// From 0 to 1, along the axis.
  func place(_ value: Double) -> Double {
    guard high > low else { return 0.5 }
    guard isLogarithmic else { return (value - low) / (high - low) }
    return log10(value / low) / log10(high / low)
  }

  /// Powers of ten, and twice and five times these, around two values.
  private static func steps(from least: Double, to most: Double) -> [Double] {
    var (steps, power) = ([Double](), 1.0)
    while power > least { power /= 10 }
    while power * 10 <= least { power *= 10 }
    while steps.last ?? 0 < most {
      for factor in [1.0, 2, 5] where steps.last ?? 0 < most {
        let (step, next) = (power * factor, power * (factor == 1 ? 2 : factor == 2 ? 5 : 10))
        if next > least { steps.append(step) }
      }
      power *= 10
    }
    return steps.count > 1 ? steps : steps + [steps[0] * 2]
  }

  /// 1, 2 or 5 times a power of ten, not less than a value.
  private static func step(_ least: Double) -> Double {
    guard least > 0, least.isFinite else { return 1 }
    var power = 1.0
    while power > least { power /= 10 }
    while power * 10 <= least { power *= 10 }
    return power * ([1.0, 2, 5].first { power * $0 >= least } ?? 10)
  }
}
