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
  /// So long clients may write without a pause.
  static let series: Duration = .milliseconds(150)
  static let range: ClosedRange<Duration> = .milliseconds(30)...(.milliseconds(120))

  /// So many edits may wait to be folded: as many as the node did in 200 ms when it was last seen.
  private(set) var backlog = Self.backlogs.lowerBound
  static let backlogs: ClosedRange<Int64> = 2_000...20_000
  /// So long clients wait for that at most; and so long if the node does not get on.
  static let longestFold: Duration = .seconds(2)
  static let standstill: Duration = .milliseconds(200)

  private var start: ContinuousClock.Instant?
  private var end: ContinuousClock.Instant?

  /// How long a write is to wait that would begin now.
  mutating func rest(at now: ContinuousClock.Instant) -> Duration {
    guard let start, let end, now - end < Self.range.lowerBound else {
      self.start = now
      return .zero
    }
    guard end - start >= Self.series else { return .zero }
    let pause = min(max((end - start) / 3, Self.range.lowerBound), Self.range.upperBound)
    self.start = max(now, end + pause)
    return max(.zero, end + pause - now)
  }

  /// How long writes took since it was looked at what waits to be folded.
  private var written: Duration = .zero

  /// A write has ended, and how long it took.
  mutating func wrote(for time: Duration, until now: ContinuousClock.Instant) {
    end = now
    written += time
  }

  /// Whether it is time to look at what waits to be folded.
  mutating func looksAtFold() -> Bool {
    guard written >= Self.series else { return false }
    written = .zero
    return true
  }

  /// So many edits were folded while clients waited for that.
  mutating func folded(_ count: Int64, in time: Duration) {
    guard count > 0, time > .zero else { return }
    let now = Double(count) * (.milliseconds(200) / time)
    let (least, most) = (Self.backlogs.lowerBound, Self.backlogs.upperBound)
    backlog = min(max(Int64(min(now, Double(most))), least), most)
  }
}
