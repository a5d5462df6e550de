import Flotilla
import Foundation

/// Does something until it ends by itself or SIGTERM or SIGINT cancels it.
///
/// The first signal asks for a clean end; a second one, from somebody who lost patience, ends the
/// process at once.
func stoppingOnSignal<Value: Sendable>(
  _ work: @escaping @Sendable () async throws(FlotillaError) -> Value
) async throws(FlotillaError) -> Value {
  let task = Task { () -> Result<Value, FlotillaError> in
    do throws(FlotillaError) { return .success(try await work()) } catch { return .failure(error) }
  }
  // Dispatch sees a signal only if the signal's own action is not to end the process.
  let sources = [SIGTERM, SIGINT].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      if task.isCancelled { _exit(ExitStatus.failed.rawValue) }
      task.cancel()
    }
    source.resume()
    return source
  }
  defer { for source in sources { source.cancel() } }
  return try await task.value.get()
}
