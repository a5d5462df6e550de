import Dispatch

/// Runs blocking work on a thread outside the cooperative pool and waits for its result.
///
/// Each piece of work gets a serial queue of its own: those take their threads from the pool
/// that grows when threads block, whereas the global queues stop at one thread per core.
func offPool<Success: Sendable>(
  _ label: String, _ work: @escaping @Sendable () -> Result<Success, NetworkError>
) async throws(NetworkError) -> Success {
  try await DispatchQueue(label: "flotilla.network.\(label)").run(work).get()
}

extension DispatchQueue {
  /// Runs blocking work on this queue and waits for it without blocking a task's thread.
  func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      async { continuation.resume(returning: work()) }
    }
  }
}
