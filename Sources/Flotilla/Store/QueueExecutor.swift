import Dispatch

/// Runs the jobs of an actor on a dispatch queue of its own, so that work that blocks (SQLite,
/// its fsync) never holds a thread of the cooperative pool.
package final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  package init(_ label: String) { self.queue = DispatchQueue(label: label) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
