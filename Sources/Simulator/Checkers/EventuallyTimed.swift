import Replication

/// Once everything has healed, all go by one founding of site time, and their clocks agree.
enum EventuallyTimed {
  /// Less than a second is slewed, from each node to the next.
  private static let tolerance: Int64 = 3_000

  static func check(
    _ all: [(name: String, founding: Founding?, site: Int64?)], _ history: inout History
  ) {
    guard let first = all.first else { return }
    for (name, founding, site) in all {
      guard let site, let known = first.site else {
        history.blame("\(name) does not know the time of the site in the end")
        continue
      }
      if founding != first.founding {
        history.blame("\(name) goes by another founding than \(first.name)")
      }
      if abs(site - known) > tolerance {
        history.blame("\(name) is \(site - known) ms ahead of \(first.name)")
      }
    }
  }
}
