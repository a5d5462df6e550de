import Synchronization

/// Whether the nodes are ready, as anybody may ask, without a token: however many ask, the nodes
/// are looked at once a second at most, and who asks takes no other's place.
final class ReadyState: Sendable {
  private struct State: Sendable {
    var known: (isReady: Bool, at: ContinuousClock.Instant)?
    var look: Task<Bool, Never>?
    var waiting = 0
  }

  private enum Answer {
    case known(Bool)
    case wait(Task<Bool, Never>)
  }

  /// So long an answer is taken as known; and so long while nodes are looked at.
  static let memory: Duration = .seconds(1)
  static let longMemory: Duration = .seconds(10)
  /// So many wait for a look; the others are told what was known.
  static let mostWaiting = 8

  private let state = Mutex(State())

  /// The nodes have said so themselves.
  func begin() { state.withLock { $0.known = (true, .now) } }

  /// Whether they are, as far as that is known; `look` asks the nodes.
  func isReady(_ look: @escaping @Sendable () async -> Bool) async -> Bool {
    let answer = state.withLock { state -> Answer in
      let now = ContinuousClock.now
      let age = state.known.map { now - $0.at } ?? .seconds(3600)
      if let known = state.known, age < Self.memory { return .known(known.isReady) }
      if let task = state.look {
        if let known = state.known, age < Self.longMemory { return .known(known.isReady) }
        // Nodes that have nothing to say for so long are not ready.
        guard state.waiting < Self.mostWaiting else { return .known(false) }
        state.waiting += 1
        return .wait(task)
      }
      let task = Task { [self] in
        let isReady = await look()
        self.state.withLock { state in
          (state.known, state.look) = ((isReady, .now), nil)
        }
        return isReady
      }
      (state.look, state.waiting) = (task, state.waiting + 1)
      return .wait(task)
    }
    switch answer {
    case .known(let isReady): return isReady
    case .wait(let task):
      defer { state.withLock { $0.waiting -= 1 } }
      return await task.value
    }
  }
}
