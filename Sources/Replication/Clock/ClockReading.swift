/// What a machine's clocks say at one moment.
package struct ClockReading: Sendable, Equatable {
  /// Milliseconds since boot, also while asleep (CLOCK_BOOTTIME): nobody can set it.
  package var uptime: Int64
  /// Milliseconds since 1970 (CLOCK_REALTIME): anybody may have set it.
  package var wall: Int64
  /// Whether something kept the wall clock while the machine was off, or has put it right since: a
  /// clock with a battery, or a time server.
  package var isKept: Bool

  package init(uptime: Int64, wall: Int64, isKept: Bool = true) {
    self.uptime = uptime
    self.wall = wall
    self.isKept = isKept
  }

  /// A machine without a battery behind its clock starts in 1970, or when it was built.
  var isBelievable: Bool { isKept && Stamp.epochMilliseconds...SiteClock.latest ~= wall }
}
