/// What the owner of a search wants, for its thread to see: the wish, not a list of commands,
/// so it has a bound by nature and survives a restart of the daemon.
///
/// The thread is woken by an eventfd among its watches. `avahi_simple_poll_wakeup` does not do:
/// each round begins by clearing it, so one that comes while the thread works would be lost.
final class DiscoveryMailbox: Sendable {
  private struct State {
    var advertisement: Advertisement?
    var isStopping = false
    var isFinished = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())
  /// What the thread is to watch; nil only if the process has no descriptors left.
  let wakeup = try? Wakeup()

  /// What is wanted now: an announcement or none, and whether to stop.
  var wishes: (advertisement: Advertisement?, isStopping: Bool) {
    state.withLock { ($0.advertisement, $0.isStopping) }
  }

  func post(_ advertisement: Advertisement?) {
    state.withLock { $0.advertisement = advertisement }
    wakeup?.signal()
  }

  func requestStop() {
    state.withLock { $0.isStopping = true }
    wakeup?.signal()
  }

  /// Lets everybody who waits for the end of the thread go on, as its last act.
  func finish() {
    let waiting = state.withLock { state in
      state.isFinished = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func untilFinished() async {
    await withCheckedContinuation { continuation in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiting.append(continuation) }
        return state.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }
}
