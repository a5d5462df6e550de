/// How a long catch-up shares the write lock with the applications.
///
/// SQLite's busy handler sleeps between tries: 1, 2, 5, 10, 15, 20, then three times 25, twice 50,
/// and 100 ms from then on. So who writes beside a catch-up gets free moments as long as the holds,
/// and once a second one that is longer than such a sleep: a writer with a timeout of 5 s failed
/// beside holds of 50 ms with gaps of 1 ms.
///
/// While nobody writes, holds follow one another for a while. Who comes then has slept no more than
/// 25 ms at a time when the next free moment begins, and that is longer. Who has waited through a
/// longer hold sleeps longer by then, and finds a longer moment.
struct Courtesy: Sendable {
  /// The long free moment, in ms, and how often it comes.
  static let longPause: Int64 = 120
  static let period: Int64 = 1_000
  /// The same while nobody writes.
  static let shortPause: Int64 = 30
  static let series: Int64 = 90

  /// The uptime from which the lock may be taken again.
  private(set) var nextHold: Int64 = 0
  private var lastLongPause: Int64 = 0
  /// When the series of holds began that nobody has interrupted.
  private var seriesStart: Int64 = 0

  /// Holds that are shorter count for nothing, unless more work waits.
  static let least: Int64 = 20

  /// Longer than who has waited for so many ms sleeps at a time.
  private static func pause(after waited: Int64) -> Int64 {
    waited < 128 ? shortPause : waited < 228 ? 60 : longPause
  }

  /// The lock was held from `start` to `end`; `isWanted` if programs write, too. It is free for
  /// `least` ms in any case. A hold that is one of a kind, such as an undo that takes seconds, is
  /// followed by a long free moment at most: who waits finds that.
  mutating func held(
    from start: Int64, to end: Int64, isWanted: Bool, isAlone: Bool = false, least: Int64 = 0
  ) {
    // After a quiet time a new series of holds begins.
    if start - nextHold > Self.period { lastLongPause = start }
    if start - nextHold > Self.shortPause { seriesStart = start }
    let share = isAlone ? min(end - start, Self.longPause) : end - start
    var pause = isWanted ? max(1, share) : 0
    if isWanted, end - lastLongPause >= Self.period {
      pause = max(pause, Self.longPause)
    } else if !isWanted, end - seriesStart >= Self.series {
      pause = Self.pause(after: end - seriesStart)
    }
    pause = max(pause, least)
    if pause >= Self.longPause { lastLongPause = end + pause }
    if pause > 0 { seriesStart = end + pause }
    nextHold = end + pause
  }
}
