import Dispatch

/// Runs the jobs of an actor on a dispatch queue of its own, so that work that blocks (SQLite,
/// its fsync) never holds a thread of the cooperative pool.
///
/// A task that prefers it goes to the actor and back without changing threads.
package final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue: DispatchQueue

  package init(_ label: String) { self.queue = DispatchQueue(label: label) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }
}
