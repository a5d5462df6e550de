/// Puts wall times, in the order in which they were noted, onto the time of the site.
package struct Dating: Sendable {
  /// While it ran like this, site time was the wall clock and `shift`.
  struct Span: Sendable, Equatable {
    var shift: Int64
    var from: Int64
    var to: Int64
    /// The last entry that may have been noted by it.
    var through = Int64.max
  }

  /// When something was done, by site time.
  package struct Moment: Sendable, Equatable {
    package var at: Int64
    /// False if nothing tells when it was: then `at` is the earliest that it can have been.
    package var isCertain: Bool

    package init(_ at: Int64, isCertain: Bool = true) {
      self.at = at
      self.isCertain = isCertain
    }

    /// When the edit of a version was made.
    package init(of version: Version) {
      self.init(version.stamp.millisecondsSince1970, isCertain: !version.isUndated)
    }
  }

  /// Clocks are read a little apart, and a julian day is only exact to so much.
  package static let tolerance: Int64 = 2_000
  /// What can be told within this is told.
  static let exact: Int64 = 60_000

  private(set) var spans: [Span]
  let lower: Int64
  private(set) var upper: Int64
  /// Nothing can have been done before what was noted before it.
  private var floor: Int64
  private var span = 0
  /// Whether a node was at work ever since the journal was last empty.
  var isWatched = false
  /// Entries up to this one were written by this time.
  private var early = (entry: Int64(0), to: Int64.max)

  init(spans: [Span], lower: Int64, upper: Int64) {
    self.spans = spans
    self.lower = lower
    self.upper = upper
    self.floor = lower
  }

  /// Time goes on while a long journal is placed.
  package mutating func extend(to site: Int64) {
    upper = max(upper, site)
    if !spans.isEmpty { spans[spans.count - 1].to = upper }
  }

  mutating func limit(to site: Int64, through entry: Int64) { early = (entry, site) }

  /// When the next entry was written, by the wall time that it notes.
  package mutating func place(_ wall: Int64, entry: Int64 = .max) -> Moment {
    let upper = entry <= early.entry ? max(min(self.upper, early.to), floor) : self.upper
    var found: [(index: Int, at: Int64)] = []
    // Any program may have written anything into the journal.
    let wall = min(max(wall, -Limits.clock), Limits.clock)
    for (index, span) in spans.enumerated() where index >= self.span {
      let at = wall + span.shift
      guard entry <= span.through else { continue }
      let isWithin =
        at + Self.tolerance >= max(span.from, floor)
        && at - Self.tolerance <= min(span.to, upper)
      if isWithin { found.append((index, min(max(at, floor), upper))) }
    }
    guard let first = found.min(by: { $0.at < $1.at }) else {
      // Between two looks of a node that runs there is little to be uncertain about: it folds what
      // it notices at once.
      if isWatched, lower > upper - Self.exact {
        floor = upper
        return Moment(floor)
      }
      if floor == .min { floor = Stamp.epochMilliseconds }
      return Moment(floor, isCertain: upper - floor <= Self.exact)
    }
    let latest = found.map(\.at).max() ?? first.at
    if found.count == 1 { span = first.index }
    floor = first.at
    return Moment(first.at, isCertain: latest - first.at <= Self.exact)
  }
}
