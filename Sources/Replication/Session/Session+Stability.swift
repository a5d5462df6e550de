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

  mutating func tellStability(_ directives: inout [Directive], _ now: Instant) {
    guard let news = position.stability.news else { return }
    send(.stability(news), &directives, now)
  }

  mutating func hear(
    _ news: StabilityNews, _ directives: inout [Directive], _ now: Instant
  ) {
    peerStanding = news.standing
    knowsFloors = true
    directives.append(.stability(news))
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
