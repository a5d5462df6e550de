/// What peers say about time, and what follows from it.
extension SiteClock {
  /// Gives what counts of the view.
  mutating func hear(
    _ peer: Identity, _ told: ClockView, _ directives: inout [Directive], _ now: ClockReading
  ) -> ClockView? {
    let view = possible(told, of: peer, &directives, now)
    guard let view, let site = view.site, let theirs = view.founding else {
      if course == nil { metAt = metAt ?? now.uptime }
      holders.remove(peer)
      waiting[peer] = view.map { ($0, now.uptime) }
      return view
    }
    waiting[peer] = nil
    holders.insert(peer)
    let isNews = course.map { holds(theirs, at: site, over: $0, now) } ?? true
    if isNews { directives.append(.ask(peer)) }
    return view
  }

  /// A peer's site time is known to half of the round trip (Cristian, 1989): the request and its
  /// answer may have taken any share of it.
  mutating func measure(
    _ peer: Identity, _ view: ClockView, roundTrip: Int64, passed: Int64,
    _ directives: inout [Directive], _ now: ClockReading
  ) {
    guard let site = view.site, let theirs = view.founding else { return }
    let estimate = site + roundTrip / 2 + passed
    let vouched = trusted(view, of: peer).map { $0 + estimate - site - now.uptime }
    guard let course else {
      let next = Course(founding: theirs, since: now.uptime, offset: estimate - now.uptime)
      begin(next, isTrusted: false, now)
      rebase(vouched: vouched)
      return directives.append(.changed)
    }
    if holds(theirs, at: estimate, over: course, now) {
      correct(by: estimate - course.site(at: now.uptime), within: 0, now)
      guard case .known(var next) = state else { return }
      (next.founding, next.since) = (theirs, now.uptime)
      state = .known(next)
      rebase(vouched: vouched)
      return directives.append(.changed)
    }
    guard theirs == course.founding else { return }
    // What an admin vouches for is known, whomever this node follows.
    let isSame = abs(estimate - course.site(at: now.uptime)) <= Self.smallest + roundTrip / 2
    if isSame, vouched != nil { rebase(vouched: vouched) }
    let isVouched = vouched.map { estimate - now.uptime - $0 <= Self.smallest } ?? false
    guard isVouched && !vouches(for: course) || follows(peer, view, course, now) else { return }
    correct(by: estimate - course.site(at: now.uptime), within: roundTrip / 2, now)
    rebase(vouched: vouched)
    // What is followed is passed on: else two who have known it for long, and meet only those who
    // follow both, would never agree. Less by a little, so that nobody follows its own followers.
    guard case .known(var next) = state, !view.isGood else { return }
    next.since = min(next.since, now.uptime - view.held + 1)
    if course.since - next.since > 1_000 { directives.append(.changed) }
    state = .known(next)
  }

  /// Whether this node knows its time from a person, an admin or a clock, and not from peers alone.
  /// Else it takes the time of an admin that does, whoever has known it for longer.
  private func vouches(for course: Course) -> Bool {
    course.offset - base + untold <= Self.smallest
  }

  /// Within one founding a good clock is followed, then whoever has known site time for longest.
  private func follows(
    _ peer: Identity, _ view: ClockView, _ course: Course, _ now: ClockReading
  ) -> Bool {
    if view.isGood != isGood { return view.isGood }
    if isGood { return false }
    let held = min(now.uptime - course.since, Self.longestHeld)
    return view.held != held ? view.held > held : peer < node
  }

  /// Small differences are slewed, so that site time never runs backwards for them.
  func corrected(_ course: Course, by difference: Int64, _ now: ClockReading) -> Course {
    var next = course
    let site = course.site(at: now.uptime)
    next.offset = site + difference - now.uptime
    next.rest = abs(difference) <= Self.smallest ? difference : 0
    next.slewedFrom = now.uptime
    return next
  }

  mutating func correct(by difference: Int64, within error: Int64, _ now: ClockReading) {
    guard case .known(let course) = state, abs(difference) > error else { return }
    state = .known(corrected(course, by: difference, now))
  }

  /// `isTrusted`: a person here says so. Else peers may have told it, or had moved the time that is
  /// remembered.
  mutating func begin(_ course: Course, isTrusted: Bool, _ now: ClockReading) {
    state = .known(course)
    base = course.offset
    if isTrusted {
      untold = 0
    } else if let estimate = estimate(at: now) {
      base = min(base, estimate - now.uptime - moved)
    } else if let last {
      untold += max(0, base - (last - now.uptime)) + moved
    }
    moved = 0
    waiting = [:]
    metAt = nil
  }
}
