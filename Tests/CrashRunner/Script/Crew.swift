import CrashShim
import Glibc

/// Several processes that share the points among them.
struct Crew {
  let reference: Reference
  let jobs: Int

  struct Outcome {
    /// Processes that were killed at a call, and calls that failed.
    var killed = 0
    var failed = 0
    var missed = 0
    var faults = 0

    var count: Int { killed + failed + missed + faults }
  }

  /// Tries every point; `report` hears of each fault at once.
  func run(_ points: [Point], _ report: (Point, String) -> Void) throws -> Outcome {
    try Self.share(points.map(\.deed), jobs) { job in
      guard let record = crash_shared_record() else { throw CrashFailure("no memory") }
      let place = reference.folder.workplace(job + 1)
      return { index in
        try Trial(reference: reference, point: points[index], place: place).run(record)
      }
    } report: { index, what in
      report(points[index], what)
    }
  }

  /// Deals trials of these deeds out to `jobs` processes, each of which first makes its place of
  /// work.
  static func share(
    _ deeds: [Deed], _ jobs: Int,
    _ prepare: (Int) throws -> (Int) throws -> Trial.Verdict,
    report: (Int, String) -> Void
  ) throws -> Outcome {
    let jobs = min(jobs, deeds.count)
    var workers = try (0..<jobs).map { job in
      try Child(within: 0) { line in work(job, jobs, deeds.count, prepare, line) }
    }
    var outcome = Outcome()
    while !workers.isEmpty {
      // One line from each in turn: a full pipe only makes a worker wait.
      workers.removeAll { worker in
        guard let line = worker.line() else {
          if worker.ending() != .ended(0) {
            outcome.faults += 1
            report(0, "a worker ended badly")
          }
          return true
        }
        let parts = line.split(separator: " ", maxSplits: 2)
        switch parts[0] {
        case "hit":
          let isKill = Int(parts[1]).map { deeds[$0].isKill } ?? false
          if isKill { outcome.killed += 1 } else { outcome.failed += 1 }
        case "miss": outcome.missed += 1
        default:
          outcome.faults += 1
          report(Int(parts[1]) ?? 0, parts.count > 2 ? String(parts[2]) : "?")
        }
        return false
      }
    }
    return outcome
  }

  private static func work(
    _ job: Int, _ jobs: Int, _ count: Int,
    _ prepare: (Int) throws -> (Int) throws -> Trial.Verdict, _ line: Child.Line
  ) -> Int32 {
    do {
      let trial = try prepare(job)
      for index in stride(from: job, to: count, by: jobs) {
        do {
          let verdict = try trial(index)
          let word = verdict.fault == nil ? verdict.struck ? "hit" : "miss" : "fault"
          line.tell("\(word) \(index) \(verdict.fault ?? "")")
        } catch {
          line.tell("fault \(index) \(error)")
        }
      }
      return 0
    } catch {
      line.tell("fault \(job) \(error)")
      return 1
    }
  }
}
