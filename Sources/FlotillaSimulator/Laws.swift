import Dispatch
import Simulator

/// Tries the laws of merging: all orders of a small universe, then random cases.
enum Laws {
  /// Random cases that share one set of stores.
  static let casesPerSeed = 20_000

  /// Gives the exit status: 1 if a law does not hold.
  static func run(_ request: Request) -> Int32 {
    let start = DispatchTime.now().uptimeNanoseconds
    var laws = MergeLaws(Templates())
    do {
      if request.first == 1 { try laws.exhaust() }
      for seed in request.first..<request.first + request.count {
        try laws.sample(casesPerSeed, seed: seed)
      }
    } catch {
      print("failed: \(error)")
      return 1
    }
    for fault in laws.faults { print("failed: \(fault)") }
    let seconds = (DispatchTime.now().uptimeNanoseconds - start) / 1_000_000_000
    print(
      "\(laws.cases) cases of the laws of merging, \(laws.faults.count) failed, \(seconds) s")
    return laws.faults.isEmpty ? 0 : 1
  }
}
