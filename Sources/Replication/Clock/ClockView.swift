/// What a node tells about its clocks.
package struct ClockView: Sendable, Equatable {
  /// Its wall clock, ms since 1970; shown to people, and used for nothing else.
  package var wall: Int64
  /// The time of the site, ms since 1970; nil while it does not know it in this boot.
  package var site: Int64?
  /// What of that time it vouches for itself: not what peers alone have told it (`unmoved`).
  package var vouched: Int64?
  /// The founding that it holds to, or held to at last.
  package var founding: Founding?
  /// For how long it has known site time without a break, in ms.
  package var held: Int64
  /// Whether a person has said that its clock is to be believed.
  package var isGood: Bool
  /// The last site time that it knew before this boot.
  package var last: Int64?
  /// That time and what a believable clock says has passed since.
  package var estimate: Int64?

  package init(
    wall: Int64, site: Int64? = nil, vouched: Int64? = nil, founding: Founding? = nil,
    held: Int64 = 0, isGood: Bool = false, last: Int64? = nil, estimate: Int64? = nil
  ) {
    self.wall = wall
    self.site = site
    self.vouched = vouched
    self.founding = founding
    self.held = held
    self.isGood = isGood
    self.last = last
    self.estimate = estimate
  }
}

/// The part of a view that does not change from moment to moment.
package struct ClockStanding: Sendable, Equatable {
  package var founding: Founding?
  /// Since when site time is known, by uptime.
  package var since: Int64 = 0
  package var isGood = false
  package var last: Int64?
  /// By how much the estimate is above uptime.
  package var estimate: Int64?

  package init() {}

  package func view(at now: Instant) -> ClockView {
    guard let site = now.site, founding != nil else {
      return ClockView(
        wall: now.wall, founding: founding, isGood: isGood, last: last,
        estimate: estimate.map { $0 + now.uptime })
    }
    return ClockView(
      wall: now.wall, site: site, vouched: now.unmoved, founding: founding,
      held: min(max(0, now.uptime - since), SiteClock.longestHeld), isGood: isGood)
  }
}
