import Dispatch

/// Runs work that blocks (SQLite, files) on a thread outside the cooperative pool.
func offPool<Success: Sendable>(
  _ work: @escaping @Sendable () throws(FlotillaError) -> Success
) async throws(FlotillaError) -> Success {
  let result = await withCheckedContinuation { continuation in
    // A queue of its own gets a thread of its own; the global ones stop at one thread per core.
    DispatchQueue(label: "flotilla.work").async {
      continuation.resume(returning: Result { () throws(FlotillaError) in try work() })
    }
  }
  return try result.get()
}

/// Runs work that only takes long on a thread outside the cooperative pool.
func offPool<Success: Sendable>(
  _ work: @escaping @Sendable () -> Success
) async -> Success {
  await withCheckedContinuation { continuation in
    DispatchQueue(label: "flotilla.work").async { continuation.resume(returning: work()) }
  }
}
