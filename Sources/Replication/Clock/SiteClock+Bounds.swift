/// What of a peer's word about time can be: a member may say anything.
///
/// A peer says that the site's time is 500 days ahead, as if a person had set it. Were that taken
/// over, conflicts would go that are still wanted, and every node would tell it to the next one.
extension SiteClock {
  /// No site sees a later time, in ms since 1970: the year 2248.
  static let latest: Int64 = 1 << 43
  /// Nobody has known site time for longer, in ms: a hundred years.
  static let longestHeld: Int64 = 100 * 365 * 86_400_000
  /// By so many ms in all a peer that is no admin moves site time ahead.
  package static let farthest: Int64 = 31 * 86_400_000

  /// A view without what cannot be; nil if nothing that its sender says of site time counts.
  mutating func possible(
    _ view: ClockView, of peer: Identity, _ directives: inout [Directive], _ now: ClockReading
  ) -> ClockView? {
    var view = view
    view.held = min(view.held, Self.longestHeld)
    if let founding = view.founding, !isPossible(founding, of: peer) {
      directives.append(.refused(peer, nil))
      return nil
    }
    if let site = view.site, trusted(view, of: peer) == nil, !isPossible(site, now) {
      directives.append(.refused(peer, self.site(at: now.uptime).map { site - $0 }))
      return nil
    }
    // Who does not know it cannot make others found it too far ahead.
    if let last = view.last, !isPossible(last, now) { view.last = nil }
    if let estimate = view.estimate, !isPossible(estimate, now) { view.estimate = nil }
    return view
  }

  /// The words of persons are counted one by one: no peer can use the numbers up, after which
  /// nobody could give another word.
  private func isPossible(_ theirs: Founding, of peer: Identity) -> Bool {
    guard theirs.reign <= Founding.mostTold else { return false }
    guard let own = founding, !admins.contains(peer) else { return true }
    return theirs.reign <= own.reign + Founding.leap
  }

  /// What an admin vouches for of the time that it tells; nil if that is far ahead of it. Trust
  /// goes with who has made a time, not with who passes it on: a member may have moved an admin.
  func trusted(_ view: ClockView, of peer: Identity) -> Int64? {
    guard admins.contains(peer), let site = view.site, let vouched = view.vouched else {
      return nil
    }
    let range = -Self.latest...Self.latest
    guard range ~= site, range ~= vouched, site - vouched <= Self.farthest else { return nil }
    return min(vouched, site)
  }

  /// Far ahead is what a clock here says as well. So is what comes to a machine that has lost the
  /// time, and has no clock that tells what has passed.
  private func isPossible(_ site: Int64, _ now: ClockReading) -> Bool {
    guard -Self.latest...Self.latest ~= site else { return false }
    if believes(now), site - now.wall <= Self.farthest { return true }
    guard let course else {
      if let known = estimate(at: now) { return site - known + moved <= Self.farthest }
      return last.map { site - $0 <= Self.longestGap } ?? true
    }
    return course.founding.source == .memory || site - now.uptime - base <= Self.farthest
  }

  /// Which of two foundings holds. Of two that differ by more than a peer may move the time, and
  /// of which no person has given the later, the one with the earlier time: the other one would be
  /// refused.
  func holds(
    _ theirs: Founding, at site: Int64, over course: Course, _ now: ClockReading
  ) -> Bool {
    let own = course.founding
    let difference = site - course.site(at: now.uptime)
    guard theirs.reign == own.reign, theirs != own, theirs.source != .memory,
      own.source != .memory, abs(difference) > Self.farthest
    else { return theirs.holds(over: own) }
    return difference < 0
  }

  /// Where site time counts from when peers move it, after it was taken over. `vouched`: so far
  /// above uptime an admin vouches for it.
  mutating func rebase(vouched: Int64?) {
    guard let course else { return }
    if let vouched {
      base = max(min(base, course.offset), vouched)
      untold = min(untold, base - vouched)
    } else if abs(course.offset - base) > Self.farthest {
      (base, untold) = (course.offset, max(0, untold + course.offset - base))
    }
  }

  /// Forgets what a file of an earlier version may have kept of such a word.
  mutating func dropImpossible(at now: ClockReading) {
    let isPossible =
      (founding?.reign ?? 0) <= Founding.mostTold
      && [last, remembered?.site, course.map { $0.offset + now.uptime }].allSatisfy {
        $0.map { -Self.latest...Self.latest ~= $0 } ?? true
      }
    guard isPossible else {
      (state, last, lastFounding, remembered) = (.unknown, nil, nil, nil)
      (moved, untold) = (0, 0)
      return
    }
    guard case .known(var course) = state else { return }
    course.since = max(course.since, now.uptime - Self.longestHeld)
    state = .known(course)
  }
}
