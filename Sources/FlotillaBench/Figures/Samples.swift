/// Measured values of one kind, and what they say together.
struct Samples: Sendable {
  private(set) var sorted: [Double]

  init(_ values: [Double]) { self.sorted = values.sorted() }

  var count: Int { sorted.count }
  var minimum: Double { sorted.first ?? .nan }
  var maximum: Double { sorted.last ?? .nan }
  var median: Double { percentile(50) }

  /// The smallest value that at least `percent` of all do not exceed (the nearest rank).
  func percentile(_ percent: Double) -> Double {
    guard !sorted.isEmpty else { return .nan }
    let rank = (percent / 100 * Double(sorted.count)).rounded(.up)
    return sorted[min(max(Int(rank) - 1, 0), sorted.count - 1)]
  }

  subscript(_ statistic: Statistic) -> Double {
    switch statistic {
    case .minimum: minimum
    case .median: median
    case .p99: percentile(99)
    case .maximum: maximum
    }
  }
}

/// One number that stands for many.
enum Statistic: String, Sendable, Codable {
  case minimum = "min"
  case median = "p50"
  case p99
  case maximum = "max"
}
