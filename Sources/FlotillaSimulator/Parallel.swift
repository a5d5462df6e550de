import Dispatch
import Foundation
import Simulator
import Synchronization

/// Shares the seeds among processes of the same program: a world has one thread.
enum Parallel {
  /// Seeds that one process runs at most: what it keeps from schedule to schedule grows.
  static let most: UInt64 = 5_000

  private static let children = Mutex<[Int32]>([])

  /// Who ends this process ends those that it has started as well.
  private static func endTogether() -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler {
      children.withLock { for child in $0 { kill(child, SIGTERM) } }
      exit(128 + SIGTERM)
    }
    source.resume()
    return source
  }

  /// Gives the exit status: 1 if one of them failed.
  static func run(_ request: Request) -> Int32 {
    let source = endTogether()
    defer { source.cancel() }
    let even = (request.count + UInt64(request.jobs) - 1) / UInt64(request.jobs)
    let share = max(1, min(most, even))
    var shares = stride(from: 0, to: request.count, by: UInt64.Stride(share)).map { first in
      (first: request.first + first, count: min(share, request.count - first))
    }[...]
    let ended = DispatchSemaphore(value: 0)
    var running: [Process] = []
    var status: Int32 = 0
    while true {
      while running.count < request.jobs, status == 0 || !request.stops,
        let next = shares.popFirst()
      {
        do {
          running.append(try start(request, next.first, next.count) { ended.signal() })
        } catch {
          print("cannot start another process: \(error)")
          status = 1
          shares = []
        }
      }
      if running.isEmpty { return status }
      ended.wait()
      for process in running where !process.isRunning {
        if process.terminationStatus != 0 { status = 1 }
        children.withLock { $0.removeAll { $0 == process.processIdentifier } }
      }
      running.removeAll { !$0.isRunning }
    }
  }

  private static func start(
    _ request: Request, _ first: UInt64, _ count: UInt64, atEnd: @escaping @Sendable () -> Void
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments =
      [request.name, "--first", "\(first)", "--seeds", "\(count)"] + request.options
    process.terminationHandler = { _ in atEnd() }
    try process.run()
    children.withLock { $0.append(process.processIdentifier) }
    return process
  }
}
