/// When clients that write leave the write lock to the node.
///
/// The gateway's next write begins some µs after the last one, and SQLite's locks know no turns:
/// who waits sleeps between tries, for 1 ms at first and for up to 25 ms in the first 100. So the
/// node finds the lock taken again and again, and what other machines have written waits.
///
/// Hence a pause after each series of writes, longer than such a sleep. And what was written must
/// be folded before anything that others have written is taken in. So while much of it waits, and
/// the node gets on with it, clients wait, too.
struct WritePause: Sendable {
  /// So long clients may hold the lock without a pause.
  static let series: Duration = .milliseconds(150)
  static let range: ClosedRange<Duration> = .milliseconds(30)...(.milliseconds(120))

  /// So many edits may wait to be folded: as many as one request can make.
  static let backlog = Int64(RowWriter.mostRows)
  /// So long clients wait for that at most; and so long if the node does not get on.
  static let longestFold: Duration = .seconds(2)
  static let standstill: Duration = .milliseconds(200)

  /// For how long the lock was held in this series, and when it was given back.
  private var held: Duration = .zero
  private var end: ContinuousClock.Instant?

  /// How long a write is to wait that would begin now.
  mutating func rest(at now: ContinuousClock.Instant) -> Duration {
    guard let end, now - end < Self.range.lowerBound else {
      held = .zero
      return .zero
    }
    guard held >= Self.series else { return .zero }
    let pause = min(max(held / 3, Self.range.lowerBound), Self.range.upperBound)
    held = .zero
    return max(.zero, end + pause - now)
  }

  /// For how long it was held since it was looked at what waits to be folded.
  private var written: Duration = .zero

  /// A write has ended, and how long it held the lock: who waited for that has left it to others.
  mutating func wrote(for time: Duration, until now: ContinuousClock.Instant) {
    end = now
    held += time
    written += time
  }

  /// Whether it is time to look at what waits to be folded.
  mutating func looksAtFold() -> Bool {
    guard written >= Self.series else { return false }
    written = .zero
    return true
  }
}
