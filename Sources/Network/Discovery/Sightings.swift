/// One announcement as the browser tells it: the same service once for each interface and family.
struct Sighting: Hashable, Sendable {
  let interface: Int32
  let family: Int32
  let name: String
}

/// Which services are in sight, and what to tell about a change.
///
/// Plain values, so that it can be tested without a daemon.
struct Sightings {
  /// The most announcements that are followed: anybody on the LAN can make any number.
  static let limit = 128

  /// What is in sight, with what was told about it.
  private var current: [Sighting: DiscoveredService?] = [:]
  /// Those of them that lead somewhere, the one that has done so for longest first.
  private var resolved: [Sighting] = []
  /// What waits for a place. Whoever fills the air with false services keeps nobody out: what was
  /// looked at makes room.
  private var waiting: [(sighting: Sighting, domain: String)] = []
  /// What was looked at and has made room, or waits: its end is heard of all the same.
  private var beside: Set<Sighting> = []
  /// The most announcements beside those that are followed.
  static let besideLimit = 4_096
  /// The names that were told as found and not yet as lost, over restarts of the daemon too.
  private var told: Set<String> = []
  /// Names under which this process announces itself, or has done so, the newest last.
  private var ownNames: [String] = []
  /// The most names of its own that are remembered.
  static let ownLimit = 16

  /// Notes a name under which this process announces itself from now on.
  ///
  /// It stays its own after the withdrawal: Avahi looks for the owner of a service among the groups
  /// of the client only when it tells of it. So word that comes late, when the group is emptied,
  /// lacks AVAHI_LOOKUP_RESULT_OUR_OWN (avahi-daemon, dbus-service-browser.c).
  mutating func announces(_ name: String) {
    ownNames.removeAll { $0 == name }
    ownNames.append(name)
    if ownNames.count > Self.ownLimit { ownNames.removeFirst() }
  }

  /// Notes that a name of this process turned out to be another's.
  mutating func yields(_ name: String) { ownNames.removeAll { $0 == name } }

  /// Notes a new announcement and returns whether it is to be resolved.
  mutating func appeared(_ sighting: Sighting, domain: String = "") -> Bool {
    guard !ownNames.contains(sighting.name) else { return false }
    guard current[sighting] == nil, !beside.contains(sighting) else { return false }
    guard current.count >= Self.limit else {
      current[sighting] = .some(nil)
      return true
    }
    if beside.count < Self.besideLimit {
      beside.insert(sighting)
      waiting.append((sighting, domain))
    }
    return false
  }

  /// What is looked at next in the place of an announcement that was, if anything waits. One that
  /// leads nowhere is looked at again after all others.
  mutating func next(
    after done: Sighting, in domain: String, leadsSomewhere: Bool
  ) -> (sighting: Sighting, domain: String)? {
    guard !waiting.isEmpty, drop(done) else { return nil }
    let next = takeFirst()
    beside.insert(done)
    if !leadsSomewhere { waiting.append((done, domain)) }
    return next
  }

  /// What is looked at next in a place that is free, or in that of `done`, which was resolved
  /// longest ago. Nil if nothing waits, or all places are of announcements that are looked at now.
  mutating func next() -> (sighting: Sighting, domain: String, done: Sighting?)? {
    guard !waiting.isEmpty, current.count < Self.limit || !resolved.isEmpty else { return nil }
    let done = current.count < Self.limit ? nil : resolved[0]
    if let done, drop(done) { beside.insert(done) }
    let next = takeFirst()
    return (next.sighting, next.domain, done)
  }

  private mutating func takeFirst() -> (sighting: Sighting, domain: String) {
    let next = waiting.removeFirst()
    beside.remove(next.sighting)
    current[next.sighting] = .some(nil)
    return next
  }

  /// Follows an announcement no more; false if it was not followed.
  private mutating func drop(_ sighting: Sighting) -> Bool {
    resolved.removeAll { $0 == sighting }
    return current.removeValue(forKey: sighting) != nil
  }

  /// Whether the announcement is still in sight.
  func contains(_ sighting: Sighting) -> Bool { current[sighting] != nil }

  /// Notes where an announcement leads, and tells it if that is news.
  mutating func resolved(_ sighting: Sighting, to service: DiscoveredService) -> DiscoveryEvent? {
    guard let known = current[sighting], known != service else { return nil }
    if known == nil { resolved.append(sighting) }
    current[sighting] = service
    told.insert(service.name)
    return .found(service)
  }

  /// Notes the end of an announcement, and tells the loss when it was the last of its name.
  mutating func vanished(_ sighting: Sighting) -> DiscoveryEvent? {
    let wasBeside = beside.remove(sighting) != nil
    if wasBeside { waiting.removeAll { $0.sighting == sighting } }
    guard drop(sighting) || wasBeside else { return nil }
    let isSame = { (other: Sighting) in other.name == sighting.name }
    guard !current.keys.contains(where: isSame), !beside.contains(where: isSame) else { return nil }
    return told.remove(sighting.name).map { .lost($0) }
  }

  /// Forgets all announcements, since the daemon is gone; it says nothing about the services.
  mutating func restart() { (current, resolved, waiting, beside) = ([:], [], [], []) }

  /// Tells, when the daemon has listed all that it sees, what was told before and is gone.
  mutating func settled() -> [DiscoveryEvent] {
    let gone = told.subtracting(current.keys.map(\.name)).subtracting(beside.map(\.name))
    told.subtract(gone)
    return gone.sorted().map { .lost($0) }
  }
}
