/// Cuts and renewals between two peers.
extension Session {
  /// While all is fetched anew, only who lacks nothing is asked; a leaf could not give all. And who
  /// is to fetch all anew begins with that.
  var mayAsk: Bool {
    guard licence == nil else { return position.stability.renewal == nil }
    return position.stability.mayAsk(peerStanding)
      && !position.stability.mustRenew(for: peerStanding)
  }

  /// Whether the peer may be sent rows.
  var mayGiveRows: Bool { position.stability.mayGive(peerStanding) }

  /// Tells what is known, if it is its turn or an exchange begins or ends.
  mutating func tellStability(
    atOnce: Bool = false, _ directives: inout [Directive], _ now: Instant
  ) {
    guard let news = position.stability.news else { return }
    guard pace.telling.take(at: now) || atOnce else {
      return pace.tellDue = now.uptime + pace.telling.rest
    }
    pace.tellDue = nil
    send(.stability(news), &directives, now)
  }

  /// Hands on what the peer has told last, likewise.
  mutating func takeStability(
    atOnce: Bool = false, _ directives: inout [Directive], _ now: Instant
  ) {
    guard let news = pace.waiting else { return }
    guard pace.taking.take(at: now) || atOnce else {
      return pace.takeDue = now.uptime + pace.taking.rest
    }
    (pace.takeDue, pace.waiting) = (nil, nil)
    directives.append(.stability(news))
  }

  mutating func hear(
    _ news: StabilityNews, _ directives: inout [Directive], _ now: Instant
  ) {
    let known = position.stability.acknowledgements
    let isSigned = configuration.surety?.holdsCut ?? { _ in true }
    guard let signed = news.signed(beside: known, isSigned: isSigned) else {
      return fail(Bye(.badMessage, "a cut is said to be held without a signature"), &directives)
    }
    if let cut = news.cut, cut != position.stability.cut,
      configuration.surety?.isNamed(cut) == false
    {
      return fail(Bye(.badMessage, "a cut has the mark of another one"), &directives)
    }
    peerStanding = news.standing
    knowsFloors = true
    pace.waiting = signed
    takeStability(&directives, now)
    considerRenewal(&directives)
    goOn(&directives, now)
  }

  /// The peer may have forgotten rows as deleted that stand here.
  func considerRenewal(_ directives: inout [Directive]) {
    guard licence == nil, position.stability.mustRenew(for: peerStanding) else { return }
    directives.append(.fellBehind(peerStanding))
  }

  /// What this replica knows has changed: the peer hears of it before it gets more rows.
  ///
  /// To fetch everything begins with the first word about what is held. What was told before, and
  /// the exchange that answers it, is void: the peer would leave out what was held then.
  mutating func followStability(
    since before: Stability, _ directives: inout [Directive], _ now: Instant
  ) {
    if let mark = position.stability.fetching, mark != before.fetching {
      if outgoing.hasTold {
        return fail(Bye(.other, "this node fetches everything anew"), &directives)
      }
      if outgoing.pullWaits != nil { outgoing.pullWaits = Frontier() }
    }
    tellStability(&directives, now)
    goOn(&directives, now)
  }

  /// Does what may be possible by now.
  private mutating func goOn(_ directives: inout [Directive], _ now: Instant) {
    if let resume = outgoing.pullWaits, mayAsk {
      outgoing.pullWaits = nil
      pull(resume: resume, &directives, now)
    }
    considerExport(&directives, now)
  }
}
