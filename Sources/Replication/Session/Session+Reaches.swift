/// What owners have signed goes with the rows for which it is needed, in the same exchange.
extension Session {
  /// Whether something is held for which this replica has no signature, and is to have one.
  var lacksReaches: Bool {
    guard let surety = configuration.surety else { return false }
    let exempt = surety.exempt() ?? []
    return position.frontier.list.contains {
      $0.origin != position.own && position.reaches[$0.origin] == nil
        && !exempt.contains($0.origin)
    }
  }

  /// Notes origins of which there was no signature until now: what was told of them went without,
  /// so it follows alone.
  mutating func noteFirstReaches(before: ReachBook) {
    let book = position.reaches
    guard configuration.surety != nil, book.furthest.count != before.furthest.count else { return }
    for reach in book.furthest.values
    where before.furthest[reach.origin] == nil && reach.origin != position.own
      && (reach.seq <= outgoing.peerFrontier[reach.origin] || outgoing.phase != .idle)
    {
      outgoing.unshown.insert(reach.origin)
      outgoing.isAsked = true
    }
  }

  /// Shows what the peer may not have seen: all at first, then what it may lack edits of.
  mutating func showReaches(isFull: Bool, _ directives: inout [Directive], _ now: Instant) {
    let isFirst = isFull && !outgoing.hasShownReaches
    var reaches = position.reaches.values.filter {
      isFirst || $0.seq > outgoing.peerFrontier[$0.origin]
        || outgoing.unshown.contains($0.origin)
    }
    if isFirst { outgoing.hasShownReaches = true }
    outgoing.unshown = []
    reaches.sort { $0.origin < $1.origin }
    for start in stride(from: 0, to: reaches.count, by: Limits.reachesPerFrame) {
      let frame = reaches[start...].prefix(Limits.reachesPerFrame)
      send(.reaches(number: order.sent, Array(frame)), &directives, now)
    }
  }

  /// Takes what is signed. Nodes pass on what they have checked, so one forged signature is enough
  /// to end the connection.
  mutating func receiveReaches(
    _ reaches: [Reach], _ directives: inout [Directive], _ now: Instant
  ) {
    switch incoming.phase {
    case .idle: fail(Bye(.badMessage, "Reaches outside an exchange"), &directives)
    case .skipping: break
    case .receiving:
      guard zip(reaches, reaches.dropFirst()).allSatisfy({ $0.origin < $1.origin }) else {
        return fail(Bye(.badMessage, "Reaches out of order"), &directives)
      }
      guard let surety = configuration.surety else { return }
      for reach in reaches where state == .open && isNews(reach) {
        switch check(reach, by: surety, &directives, now) {
        case true? where isOwn(reach): directives.append(.doubted(reach))
        case true?: incoming.keep(reach, isNew: position.reaches[reach.origin] == nil)
        case false?:
          return fail(Bye(.badMessage, "a reach that its owner has not signed"), &directives)
        case nil: leftOut.note(stranger: reach)
        }
      }
    }
  }

  /// Whether a reach tells anything: to check a signature takes time.
  private func isNews(_ reach: Reach) -> Bool {
    if isOwn(reach) { return contradicts(reach) }
    if let known = incoming.reaches[reach.origin] { return reach.seq > known.seq }
    return reach.origin != position.own
      && position.reaches.isNews(reach, beside: incoming.lives[reach.node, default: 0])
  }

  func isOwn(_ reach: Reach) -> Bool {
    reach.node == configuration.hello.node && reach.origin == position.own
  }

  /// Whether this replica has signed for edits that it has not.
  func contradicts(_ reach: Reach) -> Bool {
    configuration.runs.contradicts(reach.testimony, origin: position.own, last: knownLast)
  }

  /// The last own edit that this session knows of.
  var knownLast: UInt64 { max(position.frontier[position.own], outgoing.told[position.own]) }

  /// Which edits of the exchange under way count.
  var sealed: Sealed? {
    guard let surety = configuration.surety else { return nil }
    let (own, held) = (position.own, position.frontier.joined(merged))
    // The peer may hold what it was pushed before this session hears that it was folded.
    var sealed = Sealed(
      position.reaches.furthest, incoming.reaches, own: own, last: max(held[own], knownLast),
      held: held, exempt: surety.exempt())
    (sealed.node, sealed.appointees) = (configuration.hello.node, surety.appointees())
    return sealed
  }
}
