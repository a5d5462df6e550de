import CAvahi

/// What the owner of a search wants, for its thread to see: the wish, not a list of commands,
/// so it has a bound by nature and survives a restart of the daemon.
final class DiscoveryMailbox: Sendable {
  private struct State {
    var advertisement: Advertisement?
    var isStopping = false
    /// Nil from the moment when the thread has freed it: never woken afterwards.
    var poll: OpaquePointer?
    var isFinished = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Locked<State>

  init() { state = Locked(State(poll: avahi_simple_poll_new())) }

  /// The loop of the thread; nil only if the process has no descriptors left.
  var poll: OpaquePointer? { state.withLock { $0.poll } }

  /// What is wanted now: an announcement or none, and whether to stop.
  var wishes: (advertisement: Advertisement?, isStopping: Bool) {
    state.withLock { ($0.advertisement, $0.isStopping) }
  }

  func post(_ advertisement: Advertisement?) {
    state.withLock { state in
      state.advertisement = advertisement
      if let poll = state.poll { avahi_simple_poll_wakeup(poll) }
    }
  }

  func requestStop() {
    state.withLock { state in
      state.isStopping = true
      if let poll = state.poll { avahi_simple_poll_wakeup(poll) }
    }
  }

  /// Frees the loop, as the last act of the thread, and lets everybody who waits go on.
  func finish() {
    let waiting = state.withLock { state in
      if let poll = state.poll.take() { avahi_simple_poll_free(poll) }
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
