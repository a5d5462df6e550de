import Network

/// Does something once, unless it is put off or cancelled in time.
final class Alarm: Sendable {
  private let delay: Duration
  private let state: Locked<State>
  private let task: Locked<Task<Void, Never>?> = Locked(nil)

  private struct State: Sendable {
    var end: ContinuousClock.Instant
    var hasRung = false
  }

  init(after delay: Duration, _ ring: @escaping @Sendable () -> Void) {
    self.delay = delay
    self.state = Locked(State(end: .now + delay))
    let waiting = Task { [weak self] in
      while let end = self?.state.withLock(\.end), end > .now {
        guard (try? await Task.sleep(until: end)) != nil else { return }
      }
      guard let self else { return }
      self.state.withLock { $0.hasRung = true }
      ring()
    }
    task.withLock { $0 = waiting }
  }

  var hasRung: Bool { state.withLock(\.hasRung) }

  func putOff() { state.withLock { $0.end = .now + delay } }

  func cancel() { task.withLock { $0?.cancel() } }
}
