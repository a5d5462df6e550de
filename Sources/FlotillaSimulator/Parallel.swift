import Foundation
import Simulator

/// Shares the seeds among processes of the same program: a world has one thread.
enum Parallel {
  /// Gives the exit status: 1 if one of them failed.
  static func run(_ request: Request) -> Int32 {
    let share = (request.count + UInt64(request.jobs) - 1) / UInt64(request.jobs)
    var processes: [Process] = []
    for job in 0..<UInt64(request.jobs) where job * share < request.count {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments =
        [
          request.name, "--first", "\(request.first + job * share)",
          "--seeds", "\(min(share, request.count - job * share))",
        ] + request.options
      do {
        try process.run()
      } catch {
        print("cannot start another process: \(error)")
        return 1
      }
      processes.append(process)
    }
    for process in processes { process.waitUntilExit() }
    return processes.allSatisfy { $0.terminationStatus == 0 } ? 0 : 1
  }
}
