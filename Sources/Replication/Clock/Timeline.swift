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

  package init(boot: Identity = .none) { self.boot = boot }

  /// Compares the clocks; true if somebody has set the wall clock since the last look.
  @discardableResult
  package mutating func look(at now: Instant) -> Bool {
    defer { lastLook = now.uptime }
    let ahead = now.wall - now.uptime
    guard let last = stretches.last else {
      stretches = [Stretch(after: nil, from: now.uptime, ahead: ahead)]
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
        Dating.Span(shift: settled.site - settled.wall, from: lower, to: first.from + offset))
    }
    for (index, stretch) in stretches.enumerated() {
      let next = index + 1 < stretches.count ? stretches[index + 1].from + offset : site
      spans.append(
        Dating.Span(
          shift: offset - stretch.ahead, from: stretch.after.map { $0 + offset } ?? lower,
          to: next))
    }
    return Dating(spans: spans, lower: lower, upper: site)
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
    writer.uint(stretches.count)
    for stretch in stretches {
      writer.optional(stretch.after)
      writer.int(stretch.from)
      writer.int(stretch.ahead)
    }
    return writer.bytes
  }

  /// Goes on in this boot from what was kept, of an earlier boot from the last empty journal.
  package init(_ bytes: [UInt8], boot: Identity) {
    self.init(boot: boot)
    guard let kept = try? Self.read(bytes) else { return }
    settled = kept.settled
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
    for _ in 0..<(try reader.count("timeline", limit: most)) {
      timeline.stretches.append(
        Stretch(
          after: try reader.optionalClock("timeline"), from: try reader.clock("timeline"),
          ahead: try reader.clock("timeline")))
    }
    return timeline
  }
}
