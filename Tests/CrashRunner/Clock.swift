import Glibc
import Replication

/// The clocks of this machine.
enum Clock {
  static var now: Instant {
    Instant(uptime: milliseconds(CLOCK_BOOTTIME), wall: milliseconds(CLOCK_REALTIME))
  }

  static var uptime: Int64 { now.uptime }

  /// Days since 1970.
  static var day: UInt64 { UInt64(now.wall / 86_400_000) }

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }
}
