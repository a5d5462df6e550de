/// What a replica remembers of clocks, to tell when the entries of its journal were written.
///
/// Programs can note nothing but the wall clock, and anybody can set that. A node compares it with
/// uptime whenever it looks, so each wall time can be told by the clock as it was then.
package struct Timeline: Sendable, Equatable {
  /// From one look on the wall clock ran like this.
  struct Stretch: Sendable, Equatable {
    /// The last look before, by uptime; nil if nobody looked since boot.
    var after: Int64?
    var from: Int64
    /// Wall clock less uptime.
    var ahead: Int64
  }

  /// Site time and wall clock of one moment.
  struct Mark: Sendable, Equatable {
    var site: Int64
    var wall: Int64
  }

  /// So many settings of the clock are remembered; of more the earliest go.
  static let most = 64

  private(set) var boot: Identity
  private(set) var stretches: [Stretch] = []
  private(set) var lastLook: Int64?
  /// When the journal was last seen empty: what is in it came later.
  private(set) var settled: Mark?
  /// The last entry of the journal that was there when this boot was first noticed.
  private(set) var entered: Int64 = 0
  /// The same of the first boot at which the wall clock had gone back: what was noted after that
  /// says nothing by the clock as it was before.
  private(set) var resetAfter: Int64?
  /// Whether this very process has seen the journal empty.
  private var isWatched = false

  package init(boot: Identity = .none) { self.boot = boot }

  /// Compares the clocks; true if somebody has set the wall clock since the last look.
  @discardableResult
  package mutating func look(at now: Instant) -> Bool {
    defer { lastLook = now.uptime }
    let ahead = now.wall - now.uptime
    guard let last = stretches.last else {
      stretches = [Stretch(after: nil, from: now.uptime, ahead: ahead)]
      if let settled, ahead < settled.wall { resetAfter = resetAfter ?? entered }
      return false
    }
    guard abs(ahead - last.ahead) > SiteClock.step else { return false }
    stretches.append(Stretch(after: lastLook, from: now.uptime, ahead: ahead))
    if stretches.count > Self.most { stretches.removeFirst() }
    return true
  }

  /// Nothing waits in the journal at this moment: what comes is later.
  package mutating func settle(at now: Instant) {
    guard let site = now.site, let last = stretches.last else { return }
    settled = Mark(site: site, wall: now.wall)
    entered = 0
    resetAfter = nil
    isWatched = true
    stretches = [Stretch(after: now.uptime, from: now.uptime, ahead: last.ahead)]
  }

  /// The last moment of which it is known that the journal was empty.
  package var start: Int64? { settled?.site }

  /// Places the entries of the journal, once site time is known.
  package func dating(at now: Instant) -> Dating {
    let site = now.moment
    let offset = site - now.uptime
    let lower = min(settled?.site ?? .min, site)
    var spans: [Dating.Span] = []
    if let settled, let first = stretches.first {
      spans.append(
        Dating.Span(
          shift: settled.site - settled.wall, from: lower, to: first.from + offset,
          through: resetAfter ?? .max))
    }
    for (index, stretch) in stretches.enumerated() {
      let next = index + 1 < stretches.count ? stretches[index + 1].from + offset : site
      // A clock that went back when the machine was started was not running before.
      let wasReset = settled.map { stretch.ahead < $0.wall } ?? false
      let start = stretch.after.map { $0 + offset } ?? (wasReset ? max(lower, offset) : lower)
      spans.append(
        Dating.Span(shift: offset - stretch.ahead, from: start, to: next))
    }
    var dating = Dating(spans: spans, lower: lower, upper: site)
    dating.isWatched = isWatched
    if let first = stretches.first { dating.limit(to: first.from + offset, through: entered) }
    return dating
  }
}

extension Timeline {
  private static let format: UInt8 = 1

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.format)
    writer.identity(boot)
    writer.optional(lastLook)
    writer.optional(settled?.site)
    writer.optional(settled?.wall)
    writer.int(entered)
    writer.optional(resetAfter)
    writer.uint(stretches.count)
    for stretch in stretches {
      writer.optional(stretch.after)
      writer.int(stretch.from)
      writer.int(stretch.ahead)
    }
    return writer.bytes
  }

  /// Goes on in this boot from what was kept, of an earlier boot from the last empty journal;
  /// `last` is the last entry of the journal.
  package init(_ bytes: [UInt8], boot: Identity, last: Int64) {
    self.init(boot: boot)
    entered = last
    guard let kept = try? Self.read(bytes) else { return }
    settled = kept.settled
    resetAfter = kept.resetAfter
    if kept.boot == boot { self = kept }
  }

  private static func read(_ bytes: [UInt8]) throws(WireError) -> Timeline {
    var reader = ByteReader(bytes)
    guard try reader.byte("timeline") == format else { throw WireError(.malformed, "timeline") }
    var timeline = Timeline(boot: try reader.identity("timeline"))
    timeline.lastLook = try reader.optionalClock("timeline")
    let site = try reader.optionalClock("timeline")
    let wall = try reader.optionalClock("timeline")
    if let site, let wall { timeline.settled = Mark(site: site, wall: wall) }
    timeline.entered = try reader.clock("timeline")
    timeline.resetAfter = try reader.optionalClock("timeline")
    for _ in 0..<(try reader.count("timeline", limit: most)) {
      timeline.stretches.append(
        Stretch(
          after: try reader.optionalClock("timeline"), from: try reader.clock("timeline"),
          ahead: try reader.clock("timeline")))
    }
    return timeline
  }
}
