/// A line of the log that would be written again and again: what it counts is told more and more
/// seldom.
///
/// A pure machine. Rows come for a table that is not here, one exchange after the other. The first
/// line is written at once, the next one for all that came in a minute, then in six, up to an hour.
package struct CountedLine: Sendable, Equatable {
  /// From one line to the next, in ms.
  static let shortest: Int64 = 60_000
  static let longest: Int64 = 3_600_000

  private var untold = 0
  private var next: Int64?
  private var pause = Self.shortest

  package init() {}

  /// Adds to what is to be told; gives the count of the line that is due, and whether it is the
  /// first one after a while without any. To be asked with none now and then.
  package mutating func receive(
    _ count: Int, at now: Instant
  ) -> (count: Int, isFirst: Bool)? {
    untold += count
    guard let next else {
      guard untold > 0 else { return nil }
      self.next = now.uptime + pause
      defer { untold = 0 }
      return (untold, true)
    }
    guard now.uptime >= next else { return nil }
    guard untold > 0 else {
      self = CountedLine()
      return nil
    }
    pause = min(pause * 6, Self.longest)
    self.next = now.uptime + pause
    defer { untold = 0 }
    return (untold, false)
  }
}
