import Replication

extension Instant {
  /// This moment.
  static var bench: Instant {
    Instant(uptime: Clock.now / 1_000_000, wall: 1_800_000_000_000 + Clock.now / 1_000_000)
  }
}
