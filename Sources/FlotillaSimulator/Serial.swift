import Dispatch
import Glibc
import Simulator

/// Runs schedules one after another and prints those that fail.
enum Serial {
  /// Gives the exit status: 1 if one failed.
  static func run(_ request: Request) -> Int32 {
    guard case .schedules(let depth) = request.task else { return 2 }
    let templates = Templates()
    let start = DispatchTime.now().uptimeNanoseconds
    var failures = 0
    var count: UInt64 = 0
    for seed in request.first..<request.first + request.count {
      let run = Run(request.plan(depth, seed), templates, isTold: request.isTold)
      count += 1
      for line in run.story { print(line) }
      guard !run.faults.isEmpty else { continue }
      failures += 1
      print(report(run))
      // Whole and at once: others may write to the same pipe, and somebody waits.
      fflush(nil)
      if request.shrinks { shrink(run, templates) }
      if request.stops { break }
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let rate = Int(Double(count) / max(seconds, 1e-9))
    print(
      "\(count) \(depth.rawValue) schedules, \(failures) failed, \(rate) a second"
    )
    return failures == 0 ? 0 : 1
  }

  private static func report(_ run: Run) -> String {
    (["failed: \(run.plan.command)", "  with \(run.plan.kinds(run.kinds))"]
      + run.faults.map { "  \($0)" }).joined(separator: "\n")
  }

  private static func shrink(_ run: Run, _ templates: Templates) {
    let shrunk = run.shrunk(templates)
    for line in shrunk.story { print(line) }
    print("shrunk to \(shrunk.steps) steps\n\(report(shrunk))")
  }
}
