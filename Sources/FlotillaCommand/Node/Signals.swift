import Flotilla
import Dispatch
import FoundationEssentials
import Glibc

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
  let source = DispatchSource.makeReadSource(fileDescriptor: signalPipe.readEnd)
  source.setEventHandler {
    var number: UInt8 = 0
    guard read(signalPipe.readEnd, &number, 1) == 1 else { return }
    if task.isCancelled { _exit(ExitStatus.failed.rawValue) }
    task.cancel()
  }
  source.resume()
  for number in [SIGTERM, SIGINT] { signal(number, noteSignal) }
  defer {
    for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
    source.cancel()
  }
  return try await task.value.get()
}

/// Brings signals from their handler, which may do next to nothing, to where work is cancelled.
///
/// Dispatch's own signal sources read a signalfd: on Linux they miss a signal that is ignored, and
/// one that is not ignored ends the process, unless every thread blocks it. A byte in a pipe waits.
private struct SignalPipe {
  let readEnd: Int32
  let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "no pipe for signals: error \(errno)")
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }
}

/// Made before the handler is set, so that the handler only reads it.
private let signalPipe = SignalPipe()

private func noteSignal(_ number: Int32) {
  let before = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe.writeEnd, &byte, 1)
  errno = before
}
