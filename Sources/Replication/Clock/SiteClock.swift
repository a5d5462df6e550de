/// The time of the site as one node knows it: uptime plus an offset that members hand on.
///
/// A pure machine. It is founded once and carried on by whoever stays up; while anybody in reach
/// has it, nobody asks whose clock is right. `docs/clocks.md` has the policy and its reasons.
package struct SiteClock: Sendable {
  package enum State: Sendable, Equatable {
    /// Not known in this boot: nothing can be stamped. Next: known.
    case unknown
    /// Next: known by another founding; never unknown again in this boot.
    case known(Course)
  }

  /// How site time runs here.
  package struct Course: Sendable, Equatable {
    package var founding: Founding
    /// Since when this node holds to that founding, by uptime.
    package var since: Int64
    /// Site time less uptime, once nothing is left to be slewed.
    var offset: Int64
    /// What was left at `slewedFrom`; it melts away by one part in a hundred of the time.
    var rest: Int64 = 0
    var slewedFrom: Int64 = 0

    package func site(at uptime: Int64) -> Int64 { uptime + offset - left(at: uptime) }

    func left(at uptime: Int64) -> Int64 {
      let melted = max(0, uptime - slewedFrom) / SiteClock.slewing
      return rest > 0 ? max(0, rest - melted) : min(0, rest + melted)
    }
  }

  package enum Input: Sendable {
    /// The clocks were read, as at every look at the file.
    case looked
    /// A peer has told its view, in `Hello` or `Ping`; how old it is nobody knows.
    case heard(Identity, ClockView)
    /// A peer has answered at that uptime: its view is exact to half of the round trip.
    case measured(Identity, ClockView, roundTrip: Int64, at: Int64)
    /// A peer is out of reach.
    case lost(Identity)
    /// Whether this node is the only member of its site.
    case counted(isAlone: Bool)
    /// The admins of the site: their word moves its time as far as they say.
    case trusted(Set<Identity>)
    /// A person sets the time of the site, to ms since 1970.
    case set(Int64)
    /// A person says that the clock of this machine is to be believed, or is not.
    case marked(isGood: Bool)
  }

  package enum Directive: Sendable, Equatable {
    /// Compare clocks with this peer now.
    case ask(Identity)
    /// Site time is known now, or goes by another founding: remember it, and tell the peers.
    case changed
    /// Somebody has set the wall clock by so many ms.
    case stepped(Int64)
    /// A peer's word on site time cannot be, or is so many ms too far ahead.
    case refused(Identity, Int64?)
  }

  /// A difference is corrected by so many ms in one ms.
  static let slewing: Int64 = 100
  /// Greater differences are not slewed, but stepped.
  static let smallest: Int64 = 1_000
  /// So long members that meet without site time wait for one that has it.
  package static let grace: Int64 = 5_000
  /// A wall clock that differs by more from what it was has been set.
  package static let step: Int64 = 500
  /// A clock is believed to have run for so long while nobody looked.
  static let longestGap: Int64 = 400 * 86_400_000
  /// A good clock that is further off than this was set, and is not followed.
  static let goodWithin: Int64 = 600_000
  /// A stamp further ahead of site time is one from the future.
  package static let future: Int64 = 600_000

  package let node: Identity
  package internal(set) var state = State.unknown
  /// A person has said that this machine's clock is to be believed.
  package internal(set) var isGood = false
  /// The highest site time that was known, and the founding that it came from.
  package internal(set) var last: Int64?
  var lastFounding: Founding?
  /// What site time and wall clock were at one moment: what has passed since by the wall clock.
  var remembered: Remembered?
  /// Wall clock less uptime at the last look.
  var ahead: Int64?
  /// Somebody has set the wall clock since boot.
  var wasSet = false
  /// Whether it could be believed at the last look.
  var wasBelieved = false
  var isAlone = false
  var admins: Set<Identity> = []
  /// Site time less uptime before peers have moved it.
  var base: Int64 = 0
  /// By how much they had moved it ahead when site time was known last, in an earlier boot.
  var moved: Int64 = 0
  /// What peers alone say has passed while nobody here knew the time: nothing grows old by it.
  var untold: Int64 = 0
  /// Peers without site time, and what they have told, by the uptime at which they did.
  var waiting: [Identity: (view: ClockView, at: Int64)] = [:]
  /// When the first of them was met.
  var metAt: Int64?
  /// Peers in reach that have site time: as long as there are any nobody founds it.
  var holders: Set<Identity> = []

  struct Remembered: Sendable, Equatable {
    var site: Int64
    var wall: Int64
  }

  package init(node: Identity) { self.node = node }

  package var course: Course? {
    if case .known(let course) = state { course } else { nil }
  }

  /// The founding that this node holds to, or held to at last.
  package var founding: Founding? { course?.founding ?? lastFounding }

  package func site(at uptime: Int64) -> Int64? { course?.site(at: uptime) }

  package func instant(_ now: ClockReading) -> Instant {
    var instant = Instant(uptime: now.uptime, wall: now.wall, site: site(at: now.uptime))
    if course != nil { instant.unmoved = now.uptime + base - untold }
    return instant
  }

  package func standing(at now: ClockReading) -> ClockStanding {
    var standing = ClockStanding()
    standing.founding = founding
    standing.since = course?.since ?? 0
    standing.isGood = isGood
    standing.last = last
    standing.estimate = estimate(at: now).map { $0 - now.uptime }
    return standing
  }

  /// The uptime at which the machine wants to look, if nothing happens before.
  package var deadline: Int64? {
    guard course == nil, holders.isEmpty, let metAt else { return nil }
    return metAt + (isFirst ? Self.grace : 4 * Self.grace)
  }

  package mutating func receive(_ input: Input, at now: ClockReading) -> [Directive] {
    var directives: [Directive] = []
    look(at: now, &directives)
    switch input {
    case .looked: break
    case .heard(let peer, let view): _ = hear(peer, view, &directives, now)
    case .measured(let peer, let view, let roundTrip, let moment):
      guard let view = hear(peer, view, &directives, now) else { break }
      // It was measured just now.
      directives.removeAll { $0 == .ask(peer) }
      let passed = max(0, now.uptime - moment)
      measure(peer, view, roundTrip: roundTrip, passed: passed, &directives, now)
    case .lost(let peer):
      waiting[peer] = nil
      holders.remove(peer)
      if waiting.isEmpty { metAt = nil }
    case .counted(let isAlone): self.isAlone = isAlone
    case .trusted(let admins): self.admins = admins
    case .set(let site): found(site, by: .person, &directives, now)
    case .marked(let isGood): mark(isGood, &directives, now)
    }
    foundIfDue(&directives, now)
    followClock(&directives, now)
    remember(now)
    return directives
  }

  /// Notes whether somebody has set the wall clock.
  private mutating func look(at now: ClockReading, _ directives: inout [Directive]) {
    let ahead = now.wall - now.uptime
    if let before = self.ahead, abs(ahead - before) > Self.step {
      directives.append(.stepped(ahead - before))
      wasSet = true
      // What has passed is told by the clock as it was; one that told nothing was put right.
      if wasBelieved { remembered?.wall += ahead - before }
    }
    self.ahead = ahead
    wasBelieved = believes(now)
  }

  /// A clock that nothing kept is believed once somebody has set it.
  func believes(_ now: ClockReading) -> Bool {
    var reading = now
    reading.isKept = reading.isKept || wasSet
    return reading.isBelievable
  }

  private mutating func remember(_ now: ClockReading) {
    guard let course else { return }
    let site = course.site(at: now.uptime)
    // The last word of a person may be below what was believed before.
    last = lastFounding == course.founding ? max(last ?? site, site) : site
    lastFounding = course.founding
    guard believes(now) else { return }
    remembered = Remembered(site: site, wall: now.wall)
    untold = min(untold, max(0, base - (now.wall - now.uptime)))
  }

  private mutating func mark(
    _ isGood: Bool, _ directives: inout [Directive], _ now: ClockReading
  ) {
    self.isGood = isGood
    guard isGood else { return directives.append(.changed) }
    if let course, abs(now.wall - course.site(at: now.uptime)) <= Self.smallest {
      return directives.append(.changed)
    }
    found(now.wall, by: .person, &directives, now)
  }
}
