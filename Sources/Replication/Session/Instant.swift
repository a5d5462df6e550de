/// A moment as the shell gives it to a machine.
package struct Instant: Sendable, Equatable {
  /// Milliseconds since boot, also while asleep: for waiting.
  package var uptime: Int64
  /// Milliseconds since 1970 by this machine's clock.
  package var wall: Int64
  /// Milliseconds since 1970 by the time of the site, for stamps; nil while it is not known.
  package var site: Int64?

  /// The same without what peers have moved it ahead since this machine was started.
  package var unmoved: Int64?

  /// A moment in a world whose wall clocks are right.
  package init(uptime: Int64, wall: Int64) {
    self.init(uptime: uptime, wall: wall, site: wall)
  }

  /// One of which no more is known than its time, in ms since 1970.
  package init(at moment: Int64) { self.init(uptime: 0, wall: moment) }

  package init(uptime: Int64, wall: Int64, site: Int64?) {
    self.uptime = uptime
    self.wall = wall
    self.site = site
  }

  /// The best that is known, in ms since 1970: what is put into stamps and shown to people.
  package var moment: Int64 { site ?? wall }

  /// By which things grow old: none goes because a peer has moved the time of the site, or because
  /// the clock of a machine that does not know it is wrong.
  package var ageing: Int64? { site.map { min($0, unmoved ?? $0) } }

  package var stamp: Stamp { Stamp(millisecondsSince1970: moment) }
}
