import Network
import Replication

@testable import Flotilla

/// The clocks of a machine that a test can set and restart.
final class WrongClock: Sendable {
  private struct State {
    var ahead: Int64 = 0
    var bootedAt: Int64 = 0
    var boot: UInt64 = 1
    var isKept = true
  }

  private let state = Locked(State())
  private let number = UInt64.random(in: 0 ... .max)

  /// Somebody sets the clock to be ahead by so much of the right one, in ms.
  func set(ahead: Int64) { state.withLock { $0.ahead = ahead } }

  /// The machine was off for a moment; without a battery it is 1970 again.
  func restart(isKept: Bool) {
    state.withLock {
      $0.boot += 1
      $0.bootedAt = Uptime.now - 5_000
      $0.isKept = isKept
      if !isKept { $0.ahead = -Uptime.wall }
    }
  }

  var machine: MachineClock {
    let state = state.withLock { $0 }
    return MachineClock(boot: Identity(high: number, low: state.boot)) { [self] in
      let now = self.state.withLock { $0 }
      return ClockReading(
        uptime: Uptime.now - now.bootedAt, wall: Uptime.wall + now.ahead, isKept: now.isKept)
    }
  }
}
