/// A moment as the shell gives it to a machine.
package struct Instant: Sendable, Equatable {
  /// Milliseconds since boot, also while asleep: for waiting.
  package var uptime: Int64
  /// Milliseconds since 1970 by this machine's clock: for stamps and for people.
  package var wall: Int64

  package init(uptime: Int64, wall: Int64) {
    self.uptime = uptime
    self.wall = wall
  }
}
