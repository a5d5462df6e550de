import Network
import Replication

/// Watches over all tries of one fetch that pages keep coming, and ends what only drips.
final class PageWatch: Sendable {
  /// How long is borne what.
  @TaskLocal static var limits = PagePatience.Limits()

  private struct State {
    var patience: PagePatience
    /// What ended last.
    var end: PagePatience.End?
    /// Whether that came to an end though bytes were coming.
    var isHeard = false
  }

  private let state = Locked(State(patience: PagePatience(limits)))

  /// Why there is no use in another try; nil if there may be.
  var refusal: String? {
    state.withLock { state in
      if case .pages(let reason)? = state.end { reason } else { nil }
    }
  }

  /// Whether the last connection was ended though something came.
  var isDripping: Bool { state.withLock { $0.isHeard && $0.end == .connection } }

  func connect() {
    state.withLock { state in
      state.patience.connect()
      (state.end, state.isHeard) = (nil, false)
    }
  }

  func await() { state.withLock { $0.patience.await(at: Uptime.now) } }

  func stop(_ message: CopyMessage?) {
    state.withLock { $0.patience.stop(message, at: Uptime.now) }
  }

  func begin(keeping kept: Int) { state.withLock { $0.patience.begin(keeping: kept) } }

  func receive(_ count: Int) { state.withLock { $0.patience.receive(count) } }

  /// Closes the stream once what is due has not come, until the task is cancelled.
  func close(_ link: CopyLink) async {
    while true {
      let heard = await link.lastHeard
      let (end, pause) = state.withLock { state -> (PagePatience.End?, Int64) in
        let now = Uptime.now
        let end = state.patience.end(at: now, heard: heard)
        let isSilent = end == .connection && now - heard >= Self.limits.silence
        (state.end, state.isHeard) = (end, end != nil && !isSilent)
        // Nothing is due while this side is at work; it asks again then.
        return (end, max(1, (state.patience.due(heard: heard) ?? now + Self.rest) - now))
      }
      if end != nil { return link.close() }
      guard (try? await Task.sleep(for: .milliseconds(min(pause, Self.rest)))) != nil else {
        return
      }
    }
  }

  /// So long nobody looks, at most, in ms.
  private static let rest: Int64 = 1_000
}
