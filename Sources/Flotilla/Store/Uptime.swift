import CLinux
import Glibc
import Replication

/// The clocks of this machine, read only here.
enum Uptime {
  /// Milliseconds since boot, also while asleep (CLOCK_BOOTTIME).
  static var now: Int64 { milliseconds(CLOCK_BOOTTIME) }

  /// Milliseconds since boot while awake (CLOCK_MONOTONIC): falls behind `now` by the sleep.
  static var awake: Int64 { milliseconds(CLOCK_MONOTONIC) }

  /// Milliseconds since 1970.
  static var wall: Int64 { milliseconds(CLOCK_REALTIME) }

  /// Whether a time server or receiver keeps the clock right (adjtimex(2): STA_UNSYNC is not set).
  static var isSynchronised: Bool { flotilla_clock_is_synchronised() != 0 }

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }
}

extension Instant {
  /// For waiting: it can stamp nothing, for a replica alone knows the site's time (`NodeClock`).
  static var now: Instant { Instant(uptime: Uptime.now, wall: Uptime.wall, site: nil) }
}

extension Duration {
  /// In whole microseconds.
  var microseconds: Int64 {
    components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
  }
}
