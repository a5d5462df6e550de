import Dispatch
import Network

/// Waits for work that is asynchronous: measurements run one after another, on the main thread.
func waiting<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value
) throws -> Value {
  let isDone = DispatchSemaphore(value: 0)
  let result = Locked<Result<Value, any Error>?>(nil)
  Task {
    let outcome: Result<Value, any Error>
    do {
      outcome = .success(try await body())
    } catch {
      outcome = .failure(error)
    }
    result.withLock { $0 = outcome }
    isDone.signal()
  }
  isDone.wait()
  guard let outcome = result.withLock({ $0 }) else { throw BenchError("no result") }
  return try outcome.get()
}
