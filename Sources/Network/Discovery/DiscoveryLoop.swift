import CAvahi
import Glibc

/// The thread of a search: looks at the wishes, keeps a session with the daemon, tells events.
///
/// Callbacks only leave notices; everything is done here, between two rounds of the poll.
final class DiscoveryLoop {
  /// The pause before the next attempt at a session or an announcement.
  private static let pause: Duration = .seconds(3)
  /// The pause before an announcement that leads nowhere is looked at again.
  private static let longPause: Duration = .seconds(10)

  private let serviceType: String
  private let poll: OpaquePointer
  private let mailbox: DiscoveryMailbox
  private let events: AsyncStream<DiscoveryEvent>.Continuation

  private var session: AvahiSession?
  private var nextAttempt = ContinuousClock.now
  private var sightings = Sightings()
  private var isAvailable: Bool?
  /// The wish for an announcement as last seen, and the form in which it is announced.
  private var wish: Advertisement?
  private var announced: Advertisement?

  /// Makes the poll and puts the mailbox among its watches; nil if no descriptor is left.
  init?(
    serviceType: String, mailbox: DiscoveryMailbox,
    events: AsyncStream<DiscoveryEvent>.Continuation
  ) {
    guard let wakeup = mailbox.wakeup, let poll = avahi_simple_poll_new() else { return nil }
    self.poll = poll
    self.serviceType = serviceType
    self.mailbox = mailbox
    self.events = events
    guard let api = avahi_simple_poll_get(poll),
      api.pointee.watch_new(
        api, wakeup.raw, AVAHI_WATCH_IN, { _, raw, _, _ in Wakeup.clear(raw) }, nil) != nil
    else { return nil }
  }

  deinit {
    session = nil
    avahi_simple_poll_free(poll)
  }

  /// Runs until the owner asks to stop; the announcement ends with the session.
  func run() {
    while true {
      let (advertisement, isStopping) = mailbox.wishes
      if isStopping { break }
      if advertisement != wish {
        // A new text must not bring back a name that was given up.
        let keepsName = advertisement?.name == wish?.name
        let name = announced?.name
        announced = advertisement
        if keepsName, let name { announced?.name = name }
        if let announced { sightings.announces(announced.name) }
        wish = advertisement
      }
      work(at: .now)
      guard avahi_simple_poll_iterate(poll, Int32(patience)) == 0 else {
        end(reason: "the poll of the search failed")
        sleep(1)
        continue
      }
    }
    session = nil
  }

  /// Milliseconds until something is due, -1 if only others can cause it.
  private var patience: Int {
    guard let session else {
      return ContinuousClock.now.duration(to: nextAttempt).wholeMilliseconds
    }
    if session.hasNotices { return 0 }
    return session.nextDue.map { ContinuousClock.now.duration(to: $0).wholeMilliseconds } ?? -1
  }

  private func work(at now: ContinuousClock.Instant) {
    if session == nil, now >= nextAttempt {
      do throws(NetworkError) {
        session = try AvahiSession(serviceType: serviceType, poll: poll)
      } catch {
        end(reason: error.message)
      }
    }
    guard let session else { return }
    for notice in session.takeNotices() {
      receive(notice, session, at: now)
      if self.session == nil { return }
    }
    session.retryResolvers(at: now)
    session.publish(announced, at: now)
  }

  private func receive(
    _ notice: AvahiNotice, _ session: AvahiSession, at now: ContinuousClock.Instant
  ) {
    switch notice {
    case .connecting: tell(unavailable: "the Avahi daemon does not run")
    case .running:
      if session.startBrowsing() {
        tellAvailable()
      } else {
        end(reason: "the Avahi daemon takes no request")
      }
    case .hostNameUnsettled: session.withdraw()
    case .failed(let reason): end(reason: reason)
    case .nameTaken:
      session.withdraw()
      if let announced { sightings.yields(announced.name) }
      announced = announced?.renamed()
      if let announced { sightings.announces(announced.name) }
    case .publishingFailed: session.withdraw(until: now + Self.pause)
    case .appeared(let sighting, let domain, let isOurs):
      // Another process on this machine is a peer; our own record is not, also when an earlier
      // session has announced it.
      guard !isOurs else { return }
      guard sightings.appeared(sighting, domain: domain) else { return lookAtNext(session) }
      session.resolve(sighting, domain: domain)
    case .vanished(let sighting):
      session.stopResolving(sighting)
      tell(sightings.vanished(sighting))
      lookAtNext(session)
    case .resolved(let sighting, let service):
      tell(sightings.resolved(sighting, to: service))
      _ = giveWay(sighting, leadsSomewhere: true, session)
    case .unresolved(let sighting):
      if giveWay(sighting, leadsSomewhere: false, session) { return }
      session.resolveAgain(sighting, at: now + Self.longPause)
    case .settled: for event in sightings.settled() { tell(event) }
    }
  }

  /// Looks at an announcement that waits, if there is a place for it.
  private func lookAtNext(_ session: AvahiSession) {
    guard let next = sightings.next() else { return }
    if let done = next.done { session.stopResolving(done) }
    session.resolve(next.sighting, domain: next.domain)
  }

  /// Looks at an announcement that waits in the place of this one, if there is any.
  private func giveWay(
    _ sighting: Sighting, leadsSomewhere: Bool, _ session: AvahiSession
  ) -> Bool {
    guard let domain = session.resolvers[sighting]?.domain,
      let next = sightings.next(after: sighting, in: domain, leadsSomewhere: leadsSomewhere)
    else { return false }
    session.stopResolving(sighting)
    session.resolve(next.sighting, domain: next.domain)
    return true
  }

  /// Gives up the session, from outside its callbacks, and makes the next one later.
  private func end(reason: String) {
    session = nil
    sightings.restart()
    nextAttempt = .now + Self.pause
    tell(unavailable: reason)
  }

  private func tellAvailable() {
    if isAvailable != true { events.yield(.available) }
    isAvailable = true
  }

  private func tell(unavailable reason: String) {
    if isAvailable != false { events.yield(.unavailable(reason: reason)) }
    isAvailable = false
  }

  private func tell(_ event: DiscoveryEvent?) {
    if let event { events.yield(event) }
  }
}
