import Replication

/// The clocks of one machine: time since boot, and a wall clock that may be anything.
struct SimulatedClock {
  /// When the machine was booted, on the world's own clock.
  private var bootedAt: Int64 = 0
  private var boots: UInt64 = 0
  /// How far the wall clock is off, in ms.
  private var offset: Int64
  /// How fast it runs, in parts per million too much.
  private let drift: Int64
  /// Names the machine.
  private var machine: UInt64 = 0
  /// Something keeps the wall clock while the machine is off.
  private(set) var hasBattery = true

  /// The wall time at the world's beginning: in 2026.
  static let start: Int64 = 1_790_000_000_000

  init(offset: Int64, drift: Int64) {
    self.offset = offset
    self.drift = drift
  }

  /// The clocks of a machine that is booted now.
  init(of machine: Int, hasBattery: Bool, like other: SimulatedClock, at world: Int64) {
    self = other
    (self.machine, self.hasBattery) = (UInt64(machine), hasBattery)
    bootedAt = world - 1_000
  }

  /// The moment as this machine sees it.
  func now(_ world: Int64) -> Instant {
    Instant(
      uptime: world - bootedAt,
      wall: Self.start + world + world * drift / 1_000_000 + offset)
  }

  /// Both clocks, as the time of the site reads them: one crystal drives them.
  func reading(_ world: Int64) -> ClockReading {
    let (now, ran) = (now(world), world - bootedAt)
    return ClockReading(
      uptime: ran + ran * drift / 1_000_000, wall: now.wall, isKept: hasBattery)
  }

  /// This boot of this machine.
  var boot: Identity { Identity(high: machine + 1, low: boots + 1) }

  /// Somebody sets the clock.
  mutating func step(by milliseconds: Int64) { offset += milliseconds }

  /// Somebody sets it right.
  mutating func correct() { offset = 0 }

  /// A boot; without a battery behind the clock it is 1970 again.
  mutating func boot(_ world: Int64, losesTime: Bool) {
    bootedAt = world - 1_000
    boots += 1
    if losesTime { offset = -Self.start - world }
  }
}
