import Testing

@testable import Replication

/// A member may say anything of the time of the site.
@Suite("The time of the site, of which a member lies,") struct ClockLieTests {
  private static let boot = Identity(high: 7, low: 1)
  private static let start: Int64 = 1_790_000_000_000
  private static let day: Int64 = 86_400_000
  private let liar = Identity(high: 9, low: 0)

  /// A node that has founded the time of the site at uptime 0.
  private func founded(isKept: Bool = true) -> SiteClock {
    var clock = SiteClock(node: Identity(high: 1, low: 0))
    _ = clock.receive(.counted(isAlone: true), at: reading(0))
    _ = clock.receive(.counted(isAlone: false), at: reading(0, isKept: isKept))
    return clock
  }

  private func reading(_ uptime: Int64, isKept: Bool = true) -> ClockReading {
    ClockReading(uptime: uptime, wall: Self.start + uptime, isKept: isKept)
  }

  private func word(
    _ days: Int64, reign: UInt64 = 1, source: Founding.Source = .person, generation: UInt64 = 1
  ) -> ClockView {
    let site = Self.start + days * Self.day
    return ClockView(
      wall: 0, site: site, vouched: site,
      founding: Founding(reign: reign, source: source, generation: generation, id: 3))
  }

  /// What the node says next, as an honest peer reads it.
  private func isRead(_ clock: SiteClock, at now: ClockReading) -> Bool {
    let view = clock.standing(at: now).view(at: clock.instant(now))
    let frame = Message.pong(echo: 0, view).frame
    return (try? Message(frame: Array(frame.dropFirst(4)))) == .pong(echo: 0, view)
  }

  private func feed(_ clock: inout SiteClock, _ view: ClockView, _ uptime: Int64)
    -> [SiteClock.Directive]
  {
    clock.receive(
      .measured(liar, view, roundTrip: 0, at: uptime), at: reading(uptime, isKept: false))
  }

  @Test func `goes on though it claims to have known it for ever`() throws {
    var clock = founded(isKept: false)
    var view = word(0)
    view.founding = clock.founding
    view.held = Limits.clock
    _ = feed(&clock, view, 1_000)
    #expect(clock.site(at: 1_000) == Self.start + 1_000)
    #expect(isRead(clock, at: reading(90_000_000)))
    // So it does from a file in which an earlier version has kept such a word.
    let bytes = clock.bytes(boot: Self.boot, at: reading(2_000))
    let again = SiteClock(node: clock.node, bytes, boot: Self.boot, at: reading(3_000))
    #expect(again.founding == clock.founding && isRead(again, at: reading(4_000)))
  }

  @Test(arguments: [32, 500, 100_000, 104_249_991] as [Int64])
  func `is not moved ahead by more than a month`(days: Int64) {
    var clock = founded(isKept: false)
    let before = clock.founding
    let view = word(days)
    #expect(feed(&clock, view, 1_000) == [.refused(liar, days * Self.day - 1_000)])
    #expect(clock.site(at: 1_000) == Self.start + 1_000 && clock.founding == before)
    // Nor by many small steps.
    for step in 1...40 as ClosedRange<Int64> {
      _ = feed(&clock, word(step * 20, reign: UInt64(step)), 1_000 + step)
    }
    #expect(clock.site(at: 2_000) ?? 0 <= Self.start + 31 * Self.day)
    #expect(clock.instant(reading(2_000)).ageing == Self.start + 2_000)
    let bytes = clock.bytes(boot: Self.boot, at: reading(2_000))
    var again = SiteClock(node: clock.node, bytes, boot: Self.boot, at: reading(3_000))
    _ = feed(&again, word(45, reign: 60), 4_000)
    #expect(again.site(at: 4_000) ?? 0 <= Self.start + 31 * Self.day)
    #expect(isRead(again, at: reading(4_000)))
  }

  @Test func `is moved by an admin as far as that one says`() {
    var clock = founded(isKept: false)
    _ = clock.receive(.trusted([liar]), at: reading(0, isKept: false))
    #expect(feed(&clock, word(500), 1_000) == [.changed])
    #expect(clock.site(at: 1_000) == Self.start + 500 * Self.day)
    _ = clock.receive(.trusted([]), at: reading(0, isKept: false))
    #expect(feed(&clock, word(540, reign: 2), 2_000) == [.refused(liar, 40 * Self.day - 1_000)])
  }

  @Test func `can be set again, however many words of persons it claims`() {
    var clock = founded()
    for reign in [Founding.most, Founding.most / 2, 65, 1_000] {
      #expect(feed(&clock, word(1, reign: reign), 1_000) == [.refused(liar, nil)])
    }
    #expect(feed(&clock, word(1, reign: 64), 1_000) == [.changed])
    _ = clock.receive(.set(Self.start), at: reading(2_000))
    #expect(clock.site(at: 2_000) == Self.start && clock.founding?.reign == 65)
    #expect(feed(&clock, word(1, reign: 65, generation: 9), 3_000).isEmpty)
  }

  @Test(arguments: [(Founding.most, 0), (1, Limits.clock - 25_000)] as [(UInt64, Int64)])
  func `comes back after a restart though a file has kept what cannot be`(
    reign: UInt64, offset: Int64
  ) {
    // As a version did that took over everything.
    var clock = SiteClock(node: Identity(high: 1, low: 0))
    let founding = Founding(reign: reign, source: .person, generation: 1, id: 3)
    clock.state = .known(SiteClock.Course(founding: founding, since: 0, offset: offset))
    (clock.last, clock.lastFounding) = (offset, founding)
    let bytes = clock.bytes(boot: Self.boot, at: reading(1_000))
    var again = SiteClock(node: clock.node, bytes, boot: Self.boot, at: reading(2_000))
    #expect(again.course == nil && again.last == nil && again.founding == nil)
    #expect(again.receive(.counted(isAlone: true), at: reading(3_000)) == [.changed])
    #expect(again.site(at: 3_000) == Self.start + 3_000)
  }

  @Test func `is founded in its time though who has lost it tells of a later one`() {
    var clock = SiteClock(node: Identity(high: 1, low: 0))
    let before = founded().bytes(boot: Self.boot, at: reading(1_000))
    clock = SiteClock(
      node: clock.node, before, boot: Identity(high: 7, low: 2), at: reading(2_000))
    let late = Self.start + 500 * Self.day
    let view = ClockView(wall: 0, isGood: true, last: late, estimate: late + 1)
    _ = clock.receive(.heard(liar, view), at: reading(3_000))
    _ = clock.receive(.looked, at: reading(3_000 + SiteClock.grace))
    #expect(clock.site(at: 9_000) == Self.start + 9_000)
  }

  @Test func `waits for nobody who tells a time that cannot be`() {
    var clock = SiteClock(node: Identity(high: 1, low: 0))
    #expect(feed(&clock, word(104_249_991), 1_000) == [.refused(liar, nil)])
    #expect(clock.course == nil && clock.deadline == 1_000 + SiteClock.grace)
    _ = clock.receive(.looked, at: reading(1_000 + SiteClock.grace))
    #expect(clock.site(at: 7_000) == Self.start + 7_000)
  }

  /// The same machine, started anew.
  private func restarted(
    _ clock: SiteClock, after uptime: Int64, boot number: UInt64 = 2
  ) -> SiteClock {
    let bytes = clock.bytes(boot: Self.boot, at: reading(uptime))
    return SiteClock(
      node: clock.node, bytes, boot: Identity(high: 7, low: number), at: reading(uptime))
  }

  private func hear(_ clock: inout SiteClock, _ view: ClockView, at now: ClockReading)
    -> [SiteClock.Directive]
  {
    clock.receive(.measured(liar, view, roundTrip: 0, at: now.uptime), at: now)
  }

  @Test func `is not moved far ahead after a restart where a clock tells what has passed`() {
    var clock = restarted(founded(), after: 1_000)
    let wrong = hear(&clock, word(399), at: reading(2_000))
    #expect(wrong.contains(.refused(liar, nil)) && clock.course == nil)
    #expect(hear(&clock, word(20), at: reading(3_000)) == [.changed])
    #expect(clock.instant(reading(4_000)).ageing == Self.start + 4_000)
    // Nor farther by one start after another.
    for boot in 3...6 as ClosedRange<UInt64> {
      let start = Int64(boot) * 100_000
      clock = restarted(clock, after: start, boot: boot)
      for days in 1...30 as ClosedRange<Int64> {
        let ahead = Int64(boot - 2) * 20 + days
        _ = hear(&clock, word(ahead, reign: boot * 10), at: reading(start + 1_000 + days))
      }
      let now = reading(start + 20_000)
      _ = clock.receive(.looked, at: now)
      #expect(clock.site(at: now.uptime).map { $0 <= Self.start + 32 * Self.day } == true)
      #expect(clock.instant(now).ageing == now.wall)
    }
  }

  @Test func `lets nothing grow old after a restart where no clock tells what has passed`() {
    var clock = founded(isKept: false)
    let known = Self.start
    for boot in 2...4 as ClosedRange<UInt64> {
      clock = restarted(clock, after: 1_000, boot: boot)
      let word = word(Int64(boot - 1) * 390, reign: boot)
      #expect(hear(&clock, word, at: reading(2_000, isKept: false)) == [.changed])
      _ = hear(&clock, word, at: reading(3_000, isKept: false))
      #expect(clock.site(at: 3_000) ?? 0 > Self.start + Int64(boot - 1) * 390 * Self.day)
      let ageing: Int64? = clock.instant(reading(3_000, isKept: false)).ageing
      #expect(ageing.map { known...(known + 20_000) ~= $0 } == true)
      // Nor after a restart of the node alone.
      let bytes = clock.bytes(boot: Self.boot, at: reading(3_000, isKept: false))
      let again = SiteClock(
        node: clock.node, bytes, boot: Self.boot, at: reading(4_000, isKept: false))
      #expect(again.instant(reading(4_000, isKept: false)).ageing == ageing.map { $0 + 1_000 })
    }
    // An admin's word counts, and what a clock here says as well.
    var other = clock
    _ = other.receive(.trusted([liar]), at: reading(4_000, isKept: false))
    _ = hear(&other, word(0, reign: 9), at: reading(4_000, isKept: false))
    #expect(other.instant(reading(5_000)).ageing == Self.start + 1_000)
    let late = ClockReading(uptime: 5_000, wall: Self.start + 300 * Self.day)
    _ = clock.receive(.looked, at: late)
    #expect(clock.instant(late).ageing == late.wall)
  }

  @Test func `counts once an admin says the same, whomever this node follows`() {
    var clock = restarted(founded(isKept: false), after: 1_000)
    var view = word(100, reign: 2)
    view.held = 1_000_000
    #expect(hear(&clock, view, at: reading(2_000, isKept: false)) == [.changed])
    let now = reading(3_000, isKept: false)
    #expect(clock.instant(now).ageing.map { $0 < Self.start + Self.day } == true)
    let admin = Identity(high: 8, low: 0)
    _ = clock.receive(.trusted([admin]), at: now)
    (view.held, view.site) = (10, clock.site(at: now.uptime))
    view.vouched = view.site
    _ = clock.receive(.measured(admin, view, roundTrip: 0, at: now.uptime), at: now)
    #expect(clock.instant(now).ageing == clock.site(at: now.uptime))
  }

  /// What one node hears from another, with the time that it tells now.
  private func exchange(_ hearer: inout SiteClock, _ teller: SiteClock, at now: ClockReading) {
    let view = teller.standing(at: now).view(at: teller.instant(now))
    _ = hearer.receive(.measured(teller.node, view, roundTrip: 0, at: now.uptime), at: now)
  }

  @Test func `is trusted no more because an admin passes it on`() {
    let before = founded(isKept: false)
    var (admin, other) = (restarted(before, after: 1_000), before)
    let id = Identity(high: 2, low: 0)
    admin = SiteClock(
      node: id, admin.bytes(boot: Self.boot, at: reading(1_000)),
      boot: Identity(high: 7, low: 3), at: reading(1_000))
    let now = reading(2_000, isKept: false)
    var lie = word(390, reign: 0)
    (lie.founding, lie.held) = (before.founding, SiteClock.longestHeld)
    #expect(hear(&admin, lie, at: now) == [.changed])
    _ = hear(&admin, lie, at: now)
    _ = other.receive(.trusted([id]), at: now)
    exchange(&other, admin, at: now)
    #expect(other.site(at: 2_000) == Self.start + 2_000)
    #expect(other.instant(now).ageing == Self.start + 2_000)
    // Another admin knows the time: it counts, whoever has known it for longer.
    _ = admin.receive(.trusted([other.node]), at: now)
    exchange(&admin, other, at: now)
    #expect(admin.site(at: 2_000) == Self.start + 2_000)
    #expect(admin.instant(now).ageing == Self.start + 2_000)
  }

  @Test func `moves two admins by no more than a month, who trust each other`() {
    var both = [founded(isKept: false), SiteClock(node: Identity(high: 2, low: 0))]
    for index in both.indices {
      _ = both[index].receive(
        .trusted(Set(both.map(\.node))), at: reading(1_000, isKept: false))
    }
    let first = both[0]
    exchange(&both[1], first, at: reading(1_000, isKept: false))
    for round in 1...40 as ClosedRange<Int64> {
      let now = reading(2_000 + round, isKept: false)
      var lie = word(0, reign: 0)
      (lie.founding, lie.held) = (first.founding, (1 + round) * 31_536_000_000)
      let (one, two) = round % 2 == 0 ? (0, 1) : (1, 0)
      lie.site = (both[one].site(at: now.uptime) ?? 0) + 30 * Self.day
      lie.vouched = lie.site
      _ = hear(&both[one], lie, at: now)
      let told = both[one]
      exchange(&both[two], told, at: now)
    }
    let now = reading(3_000, isKept: false)
    for clock in both {
      #expect(clock.site(at: 3_000).map { $0 <= Self.start + 32 * Self.day } == true)
      #expect(clock.instant(now).ageing.map { $0 <= Self.start + 3_000 } == true)
    }
  }

  @Test func `of two foundings far apart has the earlier one on both sides`() {
    var (early, late) = (founded(), SiteClock(node: Identity(high: 2, low: 0)))
    let far = ClockReading(uptime: 0, wall: Self.start + 400 * Self.day)
    _ = late.receive(.counted(isAlone: true), at: far)
    let (one, other) = (view(early), view(late))
    _ = early.receive(
      .measured(late.node, other, roundTrip: 0, at: 1_000), at: reading(1_000, isKept: false))
    _ = late.receive(
      .measured(early.node, one, roundTrip: 0, at: 1_000),
      at: ClockReading(uptime: 1_000, wall: far.wall + 1_000))
    #expect(early.founding == late.founding && early.founding?.id == one.founding?.id)
    #expect(late.site(at: 1_000) == Self.start)
  }

  private func view(_ clock: SiteClock) -> ClockView {
    clock.standing(at: reading(0)).view(at: clock.instant(reading(0)))
  }
}
