/// Founding site time, where nobody has it or a person says so.
extension SiteClock {
  /// The last site time and what the wall clock says has passed since, if that can be believed.
  func estimate(at now: ClockReading) -> Int64? {
    guard believes(now), let remembered else { return nil }
    let gap = now.wall - remembered.wall
    return 0...Self.longestGap ~= gap ? remembered.site + gap : nil
  }

  /// Of those who wait for each other the one with the lowest id founds, else there would be two.
  var isFirst: Bool { waiting.keys.allSatisfy { node < $0 } }

  mutating func foundIfDue(_ directives: inout [Directive], _ now: ClockReading) {
    guard course == nil else { return }
    let isDue = isAlone || deadline.map { $0 <= now.uptime } ?? false
    guard isDue else { return }
    foundAnew(&directives, now)
  }

  /// Nobody in reach has site time: the highest that anybody remembers, and what believable clocks
  /// say has passed since; the smallest, for one that was set ahead would take the site along.
  private mutating func foundAnew(_ directives: inout [Directive], _ now: ClockReading) {
    let own = ClockView(
      wall: now.wall, founding: lastFounding, isGood: isGood, last: last,
      estimate: estimate(at: now))
    let others = waiting.values.map { view, at in
      var view = view
      view.estimate? += now.uptime - at
      return view
    }
    let all = [own] + others
    let reign = all.compactMap { $0.founding?.reign }.max() ?? 0
    // What was known before a person has set the time counts no more.
    let informed = all.filter {
      ($0.last ?? 0) >= Stamp.epochMilliseconds && ($0.founding?.reign ?? 0) == reign
    }
    let good = informed.filter { $0.isGood && $0.estimate != nil }
    let estimates = (good.isEmpty ? informed : good).compactMap(\.estimate)
    let last = informed.compactMap(\.last).max()
    let site: Int64
    let source: Founding.Source
    if let estimate = estimates.min() {
      (site, source) = (max(estimate, last ?? estimate), .clock)
    } else if let last {
      (site, source) = (last, .memory)
    } else {
      (site, source) = (now.wall, believes(now) ? .clock : .memory)
    }
    let generation = all.compactMap { $0.founding?.generation }.max() ?? 0
    begin(site, reign: reign, source, after: generation, now)
    directives.append(.changed)
  }

  /// A person has set the time, or a clock has come that can be believed.
  mutating func found(
    _ site: Int64, by source: Founding.Source, _ directives: inout [Directive],
    _ now: ClockReading
  ) {
    let reign = (founding?.reign ?? 0) + (source == .person ? 1 : 0)
    begin(site, reign: reign, source, after: founding?.generation ?? 0, now)
    directives.append(.changed)
  }

  private mutating func begin(
    _ site: Int64, reign: UInt64, _ source: Founding.Source, after generation: UInt64,
    _ now: ClockReading
  ) {
    let generation = min(generation, Founding.most - 1) + 1
    let founding = Founding(
      reign: min(reign, Founding.most), source: source, generation: generation,
      id: mix(mix(node.high ^ mix(node.low ^ generation)) ^ UInt64(bitPattern: site)))
    let course = Course(founding: founding, since: now.uptime, offset: site - now.uptime)
    begin(course, isTrusted: source == .person, now)
  }

  /// What the wall clock of this machine has to say while site time runs.
  mutating func followClock(_ directives: inout [Directive], _ now: ClockReading) {
    guard let course, believes(now) else { return }
    let site = course.site(at: now.uptime)
    if isGood {
      let off = now.wall - site
      if abs(off) <= Self.goodWithin { correct(by: off, within: 2, now) }
      return
    }
    // Time was lost while everybody was off, and this clock knows how much; or it never was any.
    guard course.founding.source == .memory else { return }
    let isNone = site < Stamp.epochMilliseconds
    guard let better = estimate(at: now) ?? (isNone ? now.wall : nil), better - site > 1_000 else {
      return
    }
    found(better, by: .clock, &directives, now)
  }
}
