/// How a long catch-up shares the write lock with the applications.
///
/// SQLite's busy handler sleeps up to 100 ms between tries, so free moments must be as long as the
/// holds, and once a second there must be one that is longer than such a sleep: a writer with a
/// timeout of 5 s failed beside holds of 50 ms with gaps of 1 ms.
struct Courtesy: Sendable {
  /// The long free moment, in ms, and how often it comes.
  static let longPause: Int64 = 120
  static let period: Int64 = 1_000

  /// The uptime from which the lock may be taken again.
  private(set) var nextHold: Int64 = 0
  private var lastLongPause: Int64 = 0

  /// The lock was held from `start` to `end`.
  mutating func held(from start: Int64, to end: Int64) {
    // After a quiet time a new series of holds begins.
    if start - nextHold > Self.period { lastLongPause = start }
    var pause = max(1, end - start)
    if end - lastLongPause >= Self.period {
      pause = max(pause, Self.longPause)
      lastLongPause = end + pause
    }
    nextHold = end + pause
  }
}
