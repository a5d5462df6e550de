import Dispatch
import Foundation
import Simulator

/// Runs random schemas one after another and prints those that fail, each as it is found.
enum Schemas {
  /// After how many it tells how far it has come, so that a run which is ended early tells it, too.
  private static let stretch: UInt64 = 1_000

  /// Gives the exit status: 1 if one failed.
  static func run(_ request: Request) -> Int32 {
    let start = DispatchTime.now().uptimeNanoseconds
    var failures = 0
    var count: UInt64 = 0
    for seed in request.first..<request.first + request.count {
      var run = SchemaRun(request.schemaPlan(seed), isTold: request.isTold)
      count += 1
      for line in run.story { print(line) }
      defer { if count % stretch == 0 { tellProgress(from: request.first, to: seed, failures) } }
      guard !run.faults.isEmpty else { continue }
      failures += 1
      if request.shrinks {
        run = run.shrunk()
        for line in run.story { print(line) }
      }
      let command = ["schemas", "--seed", "\(seed)"] + request.schemaOptions
      print("failed: .build/simulator/release/FlotillaSimulator \(command.joined(separator: " "))")
      for fault in run.faults { print("  \(fault)") }
      // Whole and at once: others may write to the same pipe, and somebody waits.
      fflush(nil)
      if request.stops { break }
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let rate = Int(Double(count) / max(seconds, 1e-9))
    print("\(count) schemas, \(failures) failed, \(rate) a second")
    return failures == 0 ? 0 : 1
  }

  private static func tellProgress(from first: UInt64, to last: UInt64, _ failures: Int) {
    let line = "seeds \(first) to \(last): \(failures) failed\n"
    FileHandle.standardError.write(Data(line.utf8))
  }
}
