import Replication

/// The clocks of one machine: time since boot, and a wall clock that may be anything.
struct SimulatedClock {
  /// When the machine was booted, on the world's own clock.
  private var bootedAt: Int64 = 0
  /// How far the wall clock is off, in ms.
  private var offset: Int64
  /// How fast it runs, in parts per million too much.
  private let drift: Int64

  /// The wall time at the world's beginning: in 2026.
  static let start: Int64 = 1_790_000_000_000

  init(offset: Int64, drift: Int64) {
    self.offset = offset
    self.drift = drift
  }

  /// The moment as this machine sees it.
  func now(_ world: Int64) -> Instant {
    Instant(
      uptime: world - bootedAt,
      wall: Self.start + world + world * drift / 1_000_000 + offset)
  }

  /// Somebody sets the clock.
  mutating func step(by milliseconds: Int64) { offset += milliseconds }

  /// A boot; without a battery behind the clock it is 1970 again.
  mutating func boot(_ world: Int64, losesTime: Bool) {
    bootedAt = world - 1_000
    if losesTime { offset = -Self.start - world }
  }
}
